/// One message on a link between two nodes: `[length u32][kind u8][stream u32][payload]`, numbers
/// in network byte order, the length that of the payload.
///
/// A link belongs to the node that has dialled it: it sends requests, each on a stream of its own,
/// and the other node answers on the same stream. Followed sessions have streams of their own: a
/// request and a session may have the same number. Frames that concern the link as a whole have
/// the stream 0.
package struct LinkFrame: Equatable, Sendable {
    /// The kinds from 16 on are sent only to a node whose pings say that it has them
    /// (``LinkFeatures``).
    package enum Kind: UInt8, Sendable, CaseIterable {
        case hello = 1
        case challenge = 2
        case proof = 3
        /// ``LinkRequest``, to the node that may own its session.
        case request = 4
        /// ``LinkAnswer``: the response to the request.
        case answer = 5
        /// ``LinkMoved``: the request was not served, and has had no effect.
        case moved = 6
        /// The client has gone: nobody waits for the answer. A request that has begun takes effect.
        case gone = 7
        /// ``LinkPing``, in both directions: the node is there.
        case ping = 8
        /// From the node that answers, at its end: no request without an answer has had an effect,
        /// or will have one. Nothing follows.
        case last = 9
        /// To the node that answers: the client's node ends, so the answer is due without
        /// waiting for effects.
        case hurry = 10
        /// ``LinkFollow``, to the node that owns the session: hints are wanted.
        case follow = 16
        /// ``LinkHint``, from the owner: the session's newest position.
        case hint = 17
        /// ``LinkRecords``, from the owner: the same, with the records up to it.
        case records = 18
        /// In both directions: no hints are wanted, or none will be sent.
        case unfollow = 19
        /// ``LinkPresence``, in both directions: the readers of the session.
        case presence = 20
    }

    static let headBytes = 9

    package var kind: Kind
    package var stream: UInt32
    package var payload: [UInt8]

    package init(_ kind: Kind, stream: UInt32 = 0, payload: [UInt8] = []) {
        self.kind = kind
        self.stream = stream
        self.payload = payload
    }

    package func append(to out: inout [UInt8]) {
        Self.append(kind, stream: stream, to: &out) { $0.append(rest: payload) }
    }

    /// Appends a frame; the payload is written in place, without a copy.
    static func append(
        _ kind: Kind, stream: UInt32, to out: inout [UInt8],
        _ writePayload: (inout LinkPayloadWriter) -> Void
    ) {
        let start = out.count
        var writer = LinkPayloadWriter(out)
        // The writer has the only copy while it appends.
        out = []
        writer.append(UInt32(0))
        writer.append(kind.rawValue)
        writer.append(stream)
        writePayload(&writer)
        out = writer.bytes
        let length = UInt32(out.count - start - headBytes)
        for index in 0..<4 {
            out[start + index] = UInt8(truncatingIfNeeded: length &>> UInt32(24 - 8 * index))
        }
    }
}
