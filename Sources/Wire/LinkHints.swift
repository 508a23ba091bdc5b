/// The parts of a link that not every program has.
///
/// Each ping names those of its sender, which is sent nothing of the others: two nodes may be of
/// different releases, and an unknown kind of frame ends a link. A program without any sends 0.
package struct LinkFeatures: OptionSet, Hashable, Sendable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The node accepts ``LinkFrame/Kind/follow`` for sessions that it owns, and sends hints.
    package static let hints = LinkFeatures(rawValue: 1)
    /// The node accepts ``LinkFrame/Kind/records`` of sessions that it follows.
    package static let records = LinkFeatures(rawValue: 2)
    /// The node accepts ``LinkFrame/Kind/presence`` of sessions that it owns or follows.
    package static let presence = LinkFeatures(rawValue: 4)
}

/// Asks the owner of a session to say when the session has new records.
package struct LinkFollow: Equatable, Sendable {
    /// An id has 128 bytes at most.
    static let sessionLimitBytes = 128

    package var session: String

    package init(session: String) { self.session = session }

    /// - Throws: ``LinkFault``: the payload is no text, or too long or too short for an id.
    package init(_ frame: LinkFrame) throws(LinkFault) {
        var payload = try LinkPayload(frame, is: .follow)
        let bytes = payload.rest()
        guard (1...Self.sessionLimitBytes).contains(bytes.count),
            let text = String(validating: bytes, as: UTF8.self)
        else { throw .malformed(.follow) }
        session = text
    }

    package func append(stream: UInt32, to out: inout [UInt8]) {
        LinkFrame.append(.follow, stream: stream, to: &out) { $0.append(rest: session.utf8) }
    }
}

/// The newest committed position of a session, as its owner has it.
///
/// It is a reason to ask the journal and nothing more: the owner may have been deposed, and the
/// session may be another one by now.
package struct LinkHint: Equatable, Sendable {
    /// A generation has eight characters.
    static let generationBytes = 8

    package var generation: String
    package var number: UInt64
    /// Of a note before the record of that number; 0 for a record.
    package var part: UInt32

    /// - Precondition: The generation has eight bytes.
    package init(generation: String, number: UInt64, part: UInt32) {
        self.generation = generation
        self.number = number
        self.part = part
    }

    package init(_ frame: LinkFrame) throws(LinkFault) {
        var payload = try LinkPayload(frame, is: .hint)
        try self.init(&payload, of: .hint)
        try payload.finish()
    }

    init(_ payload: inout LinkPayload, of kind: LinkFrame.Kind) throws(LinkFault) {
        number = try payload.number()
        part = try payload.number()
        let bytes = try payload.bytes(count: Self.generationBytes)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .malformed(kind) }
        generation = text
    }

    package func append(stream: UInt32, to out: inout [UInt8]) {
        LinkFrame.append(.hint, stream: stream, to: &out) { append(to: &$0) }
    }

    func append(to payload: inout LinkPayloadWriter) {
        payload.append(number)
        payload.append(part)
        payload.append(rest: generation.utf8)
    }
}
