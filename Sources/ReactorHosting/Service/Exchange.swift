internal import Sessions
internal import Sockets
internal import Wire

/// One connection's side of the conversation: where Wire's machine meets a socket.
///
/// Design: one for each slot of the loop's connection table, used again by each connection that
/// gets the slot. While a connection is idle these words are all there is; what is incomplete or
/// unsent lives in ``Work`` only as long as it is.
///
/// Why an object and not a value in an array: changing an array's element is an access to the
/// whole array, which the runtime watches for as long as it lasts. Measured: a tenth of a POST.
final class Exchange {
    enum Phase {
        /// Nobody is connected in this slot.
        case vacant
        /// A request may come, or is coming.
        case reading
        /// A request is whole, and its answer is due later. What comes meanwhile waits.
        case answering(Asked, Wishes?)
        /// Events go out until the connection ends. What comes in means nothing.
        case streaming(Streaming)
        /// The last bytes are on their way out.
        case closing
    }

    /// What every answer has to respect of its request.
    struct Asked: Sendable {
        /// nil for a path or method that there is not, and for what is no request.
        var operation: Operation?
        var isHead: Bool
        /// The connection ends with this answer.
        var closes: Bool
        var minorVersion: Int
        var since: LoopInstant
    }

    /// What few requests ask for besides; made for those.
    final class Wishes {
        /// `?wait=settled`: until when, and in which session.
        var patience: LoopInstant?
        var session: SessionID?
        /// `If-None-Match`: what the client has.
        var known: EntityTags?
        /// `?ping=events`.
        var heartbeatIsEvent = false
        /// The answer is a stream of events, if there is one.
        var isStream = false
        var traceparent: String?
    }

    /// A stream of events under way.
    final class Streaming {
        /// nil while the session has not answered yet.
        var subscriber: Subscriber?
        let heartbeatIsEvent: Bool
        let endsAt: LoopInstant
        let since: LoopInstant

        init(heartbeatIsEvent: Bool, endsAt: LoopInstant, since: LoopInstant) {
            self.heartbeatIsEvent = heartbeatIsEvent
            self.endsAt = endsAt
            self.since = since
        }
    }

    /// Memory that exists only while something is incomplete.
    final class Work {
        /// A request of which a part has come.
        var head = RequestHead()
        var body: [UInt8] = []
        /// Bytes behind a request that is not answered yet, or behind answers that use up the
        /// connection's output budget. One read buffer at the most: reading is paused.
        var pending: ArraySlice<UInt8> = []
        /// What the kernel did not take. Invariant: nothing is written past it.
        var unsent = UnsentBytes()
        /// What `body` was counted as in the budget of all bodies; it is given back with the body.
        var chargedBytes = 0
        /// A part of a request is in `head` and `body`.
        var hasPartialRequest = false
        /// The whole request is in `head` and `body`, and waits for its session.
        var isParked = false
        /// The loop that the connection moves to, with the parked request, when nothing is unsent.
        var destination: Int?

        var isIdle: Bool {
            pending.isEmpty && unsent.isEmpty && !hasPartialRequest && !isParked
        }
    }

    var connection = ConnectionID(slot: 0, generation: 0)
    var reader: RequestReader
    var phase = Phase.vacant
    var work: Work?
    /// When the peer last did what it is waited for: it sent bytes of a request, or took bytes of
    /// answers and events. What it sends while it takes nothing is no progress.
    var lastProgress: LoopInstant
    /// When the first byte of the present request came.
    var requestBegan: LoopInstant?
    /// The peer sends no more; after what is due the connection ends.
    var peerIsFinished = false

    init(vacantAt now: LoopInstant, limits: RequestLimits) {
        reader = RequestReader(limits: limits)
        lastProgress = now
    }

    /// A connection has come to the slot.
    func begin(_ connection: ConnectionID, at now: LoopInstant) {
        self.connection = connection
        phase = .reading
        lastProgress = now
    }

    /// Nothing of the connection stays.
    func end(limits: RequestLimits) {
        connection = ConnectionID(slot: 0, generation: 0)
        reader = RequestReader(limits: limits)
        phase = .vacant
        work = nil
        requestBegan = nil
        peerIsFinished = false
    }

    var isReading: Bool {
        if case .reading = phase { true } else { false }
    }

    /// The kernel has not taken all of the answers that were made.
    var hasUnsent: Bool { !(work?.unsent.isEmpty ?? true) }
}
