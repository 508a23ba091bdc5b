internal import Clustering
internal import Feeds
internal import Sessions
internal import Sockets

/// Shared state of the connections of one loop.
///
/// Design: separate from ``ServerLoop``, which owns the connections: each connection refers to this
/// object, so the object does not refer to a connection.
final class LoopResources {
    let index: Int
    let service: Service
    let peers: Peers
    /// The sockets.
    let table: ConnectionTable
    let sessions: SessionTable
    private(set) var heads: ResponseHeads
    private(set) var settings: LoopSettings
    /// Nil if the server has no authenticator.
    let gate: AccessGate?
    let pool = BufferPool()
    let schedule = WorkSchedule()
    let largeBodies = LargeBodies()
    let heap: HeapTrimmer
    let joints = JointConnections()
    private(set) lazy var lists = FollowedLists(self)
    /// Nil if the server is no node of a cluster.
    var links: LinkTable?
    let socketless = SocketlessSlots()
    var counters = Counters()
    /// The number of open connections.
    var openCount = 0
    /// Invariant: becomes true once, when every accepted connection has arrived on its loop.
    private(set) var isDraining = false
    private var randomness = SystemRandomNumberGenerator()

    init(
        index: Int, service: Service, peers: Peers, table: ConnectionTable, sessions: SessionTable
    ) {
        self.index = index
        self.service = service
        self.peers = peers
        self.table = table
        self.sessions = sessions
        settings = LoopSettings(service.configuration, for: service)
        heads = ResponseHeads(settings.origins, journalName: service.journalName)
        gate = service.authenticator.map(AccessGate.init)
        heap = HeapTrimmer(table)
    }

    var now: LoopInstant { table.now }

    /// The loop of the operations address has no session, and its index is the last.
    var role: ListenerRole { index < peers.count ? .main : .operations }

    var configuration: Configuration { settings.configuration }

    /// Replaces the settings.
    func adopt(_ configuration: Configuration) {
        settings = LoopSettings(configuration, for: service)
        heads = ResponseHeads(settings.origins, journalName: service.journalName)
    }

    /// From now on the loop reports when it has no connection. Not earlier: the listener may have
    /// accepted a connection that has not arrived on the loop.
    func beginDraining() {
        isDraining = true
        reportIfDrained()
    }

    func reportIfDrained() {
        guard openCount == 0, isDraining else { return }
        (role == .main ? service.drain : service.operationsDrain).report(index)
    }

    var date: [UInt8] { heads.date(at: table.wallClockMilliseconds) }

    /// A new session id, which this loop owns.
    ///
    /// - Precondition: The loop has sessions; the routes of the operations address create none.
    func newSessionID() -> SessionID {
        precondition(role == .main, "the loop of the operations address owns no session")
        var id = SessionID.random(using: &randomness)
        // On a command line, a hyphen would begin an option.
        while id.owner(of: peers.count) != index || id.text.hasPrefix("-") {
            id = SessionID.random(using: &randomness)
        }
        return id
    }

    /// The id of a request that has none: 16 hexadecimal digits.
    func newRequestID() -> String {
        let digits = String(UInt64.random(in: .min ... .max, using: &randomness), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    func random(in range: ClosedRange<Double>) -> Double {
        Double.random(in: range, using: &randomness)
    }

    /// Milliseconds until a client reconnects: the setting ± 25 %, so that clients that lost their
    /// connections together do not reconnect together.
    ///
    /// - Parameter problem: The reason for the end of a stream. If its `Retry-After` is longer than
    ///   the setting, that counts: EventSource reads no fields.
    func jitteredRetry(after problem: Problem? = nil) -> Int {
        let asked = problem?.fields.first { $0.name == "Retry-After" }.flatMap { Int64($0.value) }
        let milliseconds = max(configuration.retry.milliseconds, (asked ?? 0) * 1_000)
        return Int(Double(milliseconds) * random(in: 0.75...1.25))
    }

    /// The counters with the current gauges.
    var presentCounters: Counters {
        var counters = counters
        counters.present = PresentCounts(
            connections: table.count, postponed: schedule.postponedCount + largeBodies.waitingCount,
            inbox: peers.waitingJobs(on: index),
            sessions: sessions.counts, cluster: clusterCounts, links: links?.count ?? 0,
            traffic: links?.way.counts ?? LinkCounts())
        return counters
    }

    private var clusterCounts: ClusterCounts {
        sessions.sharesJournal ? sessions.clusterCounts : ClusterCounts()
    }

    /// Counts a response: at the time at which it is due, which may be before it is sent.
    func countResponse(to request: RequestContext, status: Int) {
        counters.responses.record(
            request.route, status,
            nanoseconds: now.nanoseconds &- request.since.nanoseconds)
    }
}

extension Duration {
    /// Whole nanoseconds; as many as fit for a longer time.
    var nanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }

    /// Whole milliseconds, rounded down.
    var milliseconds: Int64 {
        components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }
}
