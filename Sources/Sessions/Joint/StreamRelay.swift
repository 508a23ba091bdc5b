package import Feeds
internal import Wire

/// The subscription of one session for a stream of several, on the loop of the session.
///
/// Design: an ordinary subscriber of the session's stream, whose bytes go to the stream's loop. It
/// may send as many bytes as it has credit, and gets new credit when the stream has written them.
/// Without credit it accepts nothing, and the subscriber waits as for a slow connection: an offset
/// in the session's stream.
final class StreamRelay {
    let key: RelayKey
    let request: RelayOpening
    /// The subscriber's id.
    let token: UInt64
    /// Nil until the session has replied.
    var subscriber: Subscriber?
    private(set) var credit: Int
    private var report: RelayReport
    /// Whether ``report`` has something for the stream.
    private(set) var isChanged = false

    init(_ key: RelayKey, _ request: RelayOpening, token: UInt64) {
        self.key = key
        self.request = request
        self.token = token
        credit = request.windowBytes
        report = RelayReport(key: key)
    }

    /// Accepts as many bytes as there is credit.
    func write(_ bytes: Span<UInt8>) -> Int {
        let count = min(credit, bytes.count)
        guard count > 0 else { return 0 }
        credit -= count
        report.bytes.append(copying: bytes.extracting(first: count))
        return count
    }

    /// The stream has written bytes.
    func returnCredit(_ bytes: Int) { credit += bytes }

    func reportPulses(_ known: [String]) { report.knownPulses = known }

    func reportEnd(_ end: RelayReport.End) { report.end = end }

    /// - Returns: whether it was unchanged.
    func change() -> Bool {
        defer { isChanged = true }
        return !isChanged
    }

    func takeReport() -> RelayReport {
        var taken = RelayReport(key: key)
        swap(&taken, &report)
        isChanged = false
        return taken
    }
}

/// A relay: its stream and the session's index in it.
package struct RelayKey: Hashable, Sendable {
    /// The loop of the stream.
    package let loop: Int
    /// The number of the stream on its loop.
    package let stream: UInt64
    package let index: Int
    /// The number of earlier relays of the session on this stream.
    let attempt: UInt64

    /// In place of the number of a loop: the reports go to the ``TopicReaders`` of the same loop.
    static let ownLoop = -1

    /// In place of the number of a loop: a ``RelayReading`` gets the reports through `receive`.
    static let noLoop = -2
}

/// A message to the loop of a session.
package enum RelayRequest: Sendable {
    case open(RelayKey, RelayOpening)
    /// The stream has written this number of bytes.
    case credit(RelayKey, bytes: Int)
    /// The stream has ended.
    case close(RelayKey)
}

/// The first message of a relay.
package struct RelayOpening: Sendable {
    let session: SessionID
    let start: SubscriptionRequest.Start
    /// The bytes that may be on their way to the stream, or wait there.
    let windowBytes: Int
    /// Of the stream.
    let client: WorkClient?
    let choose: RelayChoice.Chooser
    /// If set, gets the reports in place of a stream, on the loop of the session.
    var receive: (@Sendable (RelayReport) -> Void)?
}

/// The part of a session that a stream of several shows.
package enum RelayChoice {
    /// - Parameter knownPulses: the pulses that the request names and the session's reactor has.
    case events(
        any ReadableSession, Selection, knownPulses: [String], presence: ReaderPresence? = nil)
    case end(StreamEndReason)
    /// The session cannot be read now.
    case problem(RelayProblem)

    /// Called on the loop of the session.
    package typealias Chooser = @Sendable (SessionID, SessionLookup) -> RelayChoice
}

/// A problem of one session on a stream of several.
package struct RelayProblem: Sendable {
    let code: String
    /// One line of JSON.
    let body: [UInt8]

    package init(code: String, body: [UInt8]) {
        self.code = code
        self.body = body
    }
}

/// The reason for a session's `end` on a stream of several.
package enum StreamEndReason: String, Sendable, CaseIterable {
    case deleted
    /// There is no such session, or the client may not know of it.
    case unknown
    /// The client's token does not permit the session.
    case forbidden
}

/// A message to the loop of a stream: what has happened to a relay since the last one,
/// in this order.
package struct RelayReport: Sendable {
    package let key: RelayKey
    /// The session was found; the pulses that the request names and its reactor has.
    var knownPulses: [String]?
    /// Bytes of the session's stream.
    var bytes: [UInt8] = []
    /// The relay has ended.
    var end: End?

    init(key: RelayKey) { self.key = key }

    enum End: Sendable {
        /// All bytes of the subscriber were sent. The last event is `end`, or the stream
        /// was given up.
        case finished
        case over(StreamEndReason)
        case problem(RelayProblem)
    }
}
