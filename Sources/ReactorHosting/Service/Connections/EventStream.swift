internal import Sessions
internal import Sockets
internal import Wire

/// A stream of events on a connection.
final class EventStream {
    /// Nil once the session has ended the subscription.
    var subscriber: Subscriber?
    /// `?ping=events`; else the heartbeat is a comment.
    let heartbeatIsEvent: Bool
    let endsAt: LoopInstant
    let since: LoopInstant

    init(
        _ subscriber: Subscriber, heartbeatIsEvent: Bool, endsAt: LoopInstant, since: LoopInstant
    ) {
        self.subscriber = subscriber
        self.heartbeatIsEvent = heartbeatIsEvent
        self.endsAt = endsAt
        self.since = since
    }

    /// The peer does not accept bytes; a part of an event may be sent.
    var isBlocked: Bool { subscriber?.isBlocked ?? true }

    /// Bytes of silence's end: a comment, or an event without an id.
    func heartbeat(isChunked: Bool) -> [UInt8] {
        let ping = heartbeatIsEvent ? Self.pingEvent : Self.pingComment
        return isChunked ? ping.chunk : ping.plain
    }

    // A comment is a line. A blank line behind it would end a block: clients that hand out every
    // block would hand out an empty event (httpx-sse 0.4 and sseclient 0.0 do).
    private static let pingComment = framed(": ping\n")
    private static let pingEvent = framed("event: ping\ndata: {}\n\n")

    private static func framed(_ text: String) -> (plain: [UInt8], chunk: [UInt8]) {
        let plain = Array(text.utf8)
        var chunk = plain
        ChunkEncoder.wrap(from: 0, in: &chunk)
        return (plain, chunk)
    }
}
