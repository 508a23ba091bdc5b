/// The readers of a followed session that the receiver does not know. A node that follows sends its
/// own readers; the owner sends its own and those of the other nodes.
///
/// Sent only to nodes that have declared ``LinkFeatures/presence``. A newer frame replaces it.
package struct LinkPresence: Equatable, Sendable {
    /// The maximum number of ``names``.
    package static let listLimit = 100
    /// The maximum number of bytes of a name.
    package static let nameLimitBytes = 64

    /// Nil if there are more than ``listLimit``.
    package var names: [String]?
    /// The number of names.
    package var count: UInt32
    /// The number of streams without a name.
    package var others: UInt32

    package init(names: [String]?, count: UInt32, others: UInt32) {
        (self.names, self.count, self.others) = (names, count, others)
    }

    /// - Throws: ``LinkFault``: the payload is malformed, or has too many or too long names.
    package init(_ frame: LinkFrame) throws(LinkFault) {
        var payload = try LinkPayload(frame, is: .presence)
        count = try payload.number()
        others = try payload.number()
        names = try payload.optionalTexts()
        try payload.finish()
        guard let names else { return }
        guard names.count <= Self.listLimit, names.count == count,
            names.allSatisfy({ (1...Self.nameLimitBytes).contains($0.utf8.count) })
        else { throw .malformed(.presence) }
    }

    package func append(stream: UInt32, to out: inout [UInt8]) {
        LinkFrame.append(.presence, stream: stream, to: &out) { payload in
            payload.append(count)
            payload.append(others)
            payload.append(optional: names)
        }
    }
}
