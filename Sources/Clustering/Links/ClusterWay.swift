package import Cluster
package import Feeds
package import Logging
internal import Sessions
internal import Sockets
package import Storage
internal import Wire

/// One loop's knowledge of the cluster, with which it finds the way of a request: the members, the
/// owners that it has heard of, and the nodes that seem to be gone.
package final class ClusterWay {
    package let node: Node
    private let ownership: any Ownership
    private let logger: Logger
    private var routes = Routes<SessionID>()
    package var suspicion: Suspicion
    package var counts = LinkCounts()
    /// Requests that wait for the next tick: a node still serves an earlier attempt, or the owner
    /// has to be looked up again.
    private var paused: [ObjectIdentifier: ForwardedRequest] = [:]
    /// Limits the log lines: a failing node fails every request that goes to it.
    private var reports = LogLimit<Int64>()

    package init(_ node: Node, _ ownership: any Ownership, _ logger: Logger) {
        self.node = node
        self.ownership = ownership
        self.logger = logger
        suspicion = Suspicion(silence: ownership.silence)
    }

    package var members: Members { ownership.members }

    var ping: LinkPing {
        let standing = ownership.standing
        let database = standing.mark
        return LinkPing(
            journal: database.journal, era: database.era, timeline: database.timeline,
            branch: database.branch, committed: standing.committed,
            features: [.hints, .records, .presence])
    }

    /// Another node has said which database it believes. If it is a newer one, this node
    /// believes none.
    func hear(_ standing: DatabaseStanding) { ownership.hear(standing) }

    /// Whether a node believes the same database as this one. If it believes an older one, its
    /// decisions do not last; if it believes a newer one, this node is in doubt and must send it
    /// nothing.
    func shares(_ database: DatabaseMark?) -> Bool { database == members.database }

    /// The member to ask for a session that this node does not have: the owner if it is known,
    /// otherwise the session's home. Nil if this node has to ask the journal.
    package func destination(of session: SessionID) -> Member? {
        let members = ownership.members
        guard !members.isAlone else { return nil }
        let known = routes[session].flatMap { members[$0] }
        let member = known ?? members.home(of: session.text).flatMap { members[$0] }
        guard let member, member.node != node, !member.address.isEmpty else { return nil }
        return member
    }

    /// The member that creates a new session of a reactor that this node does not host; nil if no
    /// member hosts it.
    package func host(of reactor: String, for session: SessionID) -> Member? {
        let members = ownership.members
        let home = members.home(of: session.text, needing: (reactor, 0))
        return home.flatMap { $0 == node ? nil : members[$0] }
    }

    package func remember(_ owner: Node, of session: SessionID) {
        guard routes[session] != owner else { return }
        routes.remember(owner, of: session)
    }

    package func forget(_ session: SessionID) { routes.forget(session) }

    /// The node that may lose the session, because it has not answered a request.
    package func deposable(_ asked: Node?, of session: SessionID) -> Node? {
        guard let asked, suspicion.mayDepose(asked, of: session.text, at: .now) else { return nil }
        return asked
    }

    // MARK: Pauses

    var hasPaused: Bool { !paused.isEmpty }

    /// Keeps a request until the next tick.
    ///
    /// - Returns: False if as many are kept as a link may have under way.
    func pause(_ forward: ForwardedRequest) -> Bool {
        guard paused.count < OutgoingLink.streamLimit else { return false }
        paused[ObjectIdentifier(forward)] = forward
        forward.place = .paused
        return true
    }

    /// The client has gone.
    func abandonPaused(_ forward: ForwardedRequest) { paused[ObjectIdentifier(forward)] = nil }

    /// Removes all requests that pause.
    func claimPaused() -> [ForwardedRequest] {
        let ended = Array(paused.values)
        paused = [:]
        for forward in ended { forward.place = .here }
        return ended
    }

    // MARK: Time

    /// - Parameter isLate: Whether this process was itself paused.
    func tick(isLate: Bool) {
        suspicion.observe(at: .now)
        suspicion.keep(members)
    }

    /// Logs a warning, once in a while for each node.
    func report(_ sentence: String, about node: Int64, at now: LoopInstant) {
        guard let omitted = reports.admit(node, at: now) else { return }
        var metadata: Logger.Metadata = ["node": "\(node)"]
        if omitted > 0 { metadata["omitted"] = .stringConvertible(omitted) }
        logger.warning("\(sentence)", metadata: metadata)
    }
}
