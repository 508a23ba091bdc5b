internal import Cluster
internal import Feeds
internal import Sessions
internal import Sockets
internal import Wire

/// The socket of a link that this loop has dialled, and the requests on it.
final class OutgoingConnection {
    let far: OutgoingLinks.FarEnd
    /// Distinguishes it from an earlier link to the same end.
    let number: UInt64
    var machine: OutgoingLink
    var pulse: LinkPulse
    /// Nil until the system has begun the connection.
    var socket: ConnectionID?
    /// Requests that wait until the other node has proved itself.
    var waiting: [ForwardedRequest] = []
    var underWay: [UInt32: ForwardedRequest] = [:]
    var followed = FollowedStreams()
    /// Counts the answer that has partly arrived; nil if it is small.
    var partialCharge: WorkCharge?
    /// The database that the other node believes; nil before its first ping.
    var database: DatabaseMark?
    /// Whether the other node knows what this one accepts.
    var isIntroduced = false

    /// - Parameter silence: The time without bytes after which the other node is silent.
    init(
        to far: OutgoingLinks.FarEnd, _ number: UInt64, _ machine: OutgoingLink, at now: Int64,
        silence: Duration
    ) {
        self.far = far
        self.number = number
        self.machine = machine
        pulse = LinkPulse(resolvingAt: now, silence: silence)
    }
}

/// The socket of a link that another node has dialled.
final class IncomingConnection {
    let socket: ConnectionID
    let peer: LinkHandshake.Peer
    var machine: IncomingLink
    var pulse: LinkPulse
    /// When the other node has last sent something or, while it is not read, accepted something.
    private var heardAt: LoopInstant
    /// The bytes of a request that has arrived in part, as they are counted in the
    /// budget of bodies.
    var chargedBytes = 0
    /// The sessions of which the other node wants hints, by their streams.
    var followed: [UInt32: SessionID] = [:]
    /// The other node reads too slowly: no further request of it is read.
    var isPaused = false

    /// Whether nothing is to be sent any more.
    var hasSentLast: Bool { machine.hasFinished && machine.output.unsent.isEmpty }

    init(
        _ socket: ConnectionID, _ machine: IncomingLink, from peer: LinkHandshake.Peer,
        at now: LoopInstant
    ) {
        self.socket = socket
        self.machine = machine
        self.peer = peer
        pulse = LinkPulse(openAt: now.nanoseconds)
        heardAt = now
    }

    func isSilent(for duration: Duration, at now: LoopInstant) -> Bool { now - heardAt >= duration }

    func received(at now: LoopInstant) {
        pulse.received(at: now.nanoseconds)
        heardAt = now
    }

    /// The kernel has accepted bytes.
    func sent(_ count: Int, at now: LoopInstant) {
        pulse.sent(at: now.nanoseconds)
        // Its buffer was full: the other node has read.
        if isPaused, count > 0 { heardAt = now }
    }
}

/// The sessions that are followed at the far end of a link, or will be.
struct FollowedStreams {
    private var bySession: [SessionID: UInt32] = [:]
    private var byStream: [UInt32: SessionID] = [:]
    /// Sessions that wait until the other node has said that it sends hints.
    private(set) var waiting: Set<SessionID> = []

    /// In no order.
    var all: [SessionID] { Array(bySession.keys) + waiting }

    subscript(stream: UInt32) -> SessionID? { byStream[stream] }

    func stream(of session: SessionID) -> UInt32? { bySession[session] }

    /// - Returns: False if as many wait as may be followed.
    mutating func wait(for session: SessionID) -> Bool {
        guard waiting.count < OutgoingLink.followLimit else { return false }
        waiting.insert(session)
        return true
    }

    mutating func takeWaiting() -> Set<SessionID> {
        defer { waiting = [] }
        return waiting
    }

    mutating func add(_ session: SessionID, as stream: UInt32) {
        bySession[session] = stream
        byStream[stream] = session
    }

    /// - Returns: The stream of the session; nil if it has none.
    mutating func remove(_ session: SessionID) -> UInt32? {
        waiting.remove(session)
        guard let stream = bySession.removeValue(forKey: session) else { return nil }
        byStream[stream] = nil
        return stream
    }

    /// - Returns: The session; nil if there is none on that stream.
    mutating func remove(stream: UInt32) -> SessionID? {
        guard let session = byStream.removeValue(forKey: stream) else { return nil }
        bySession[session] = nil
        return session
    }
}

extension ConnectionTable {
    /// Sends the bytes of a link.
    ///
    /// - Returns: The number of bytes that the kernel has accepted; nil if there are none to send.
    func send(_ output: LinkOutput, on link: ConnectionID) -> Int? {
        let bytes = output.unsent
        return bytes.isEmpty ? nil : send(link, bytes.span)
    }
}

extension LinkHandshake {
    /// Random bytes for one handshake.
    static func newNonce() -> [UInt8] {
        var randomness = SystemRandomNumberGenerator()
        return (0..<nonceBytes).map { _ in UInt8.random(in: .min ... .max, using: &randomness) }
    }
}
