/// The members that a node may depose, because it has evidence that they no longer decide.
///
/// Design: a session is taken from its owner by force only if the owner's host has refused a
/// connection (the process is gone), or the owner has been silent on its link for ``silence``.
/// Evidence may be wrong: a paused node continues later. The epoch keeps that node from doing harm.
/// Two nodes that reach the database but not each other would take a session from each other in
/// turn. So a session that was taken by force is not taken by force again within a second.
///
/// Time is an argument, of the clock of ``Lease``.
package struct Suspicion: Sendable {
    package typealias Time = Lease.Time

    private enum Doubt {
        /// Something was sent then, and nothing has come since.
        case unanswered(since: Time)
        case refused
    }

    private var doubts: [Node: Doubt] = [:]
    private var observed: Time?
    /// Sessions that were taken by force, and when.
    private var taken: [String: Time] = [:]

    /// A node whose pings are unanswered for this long is silent. A quarter of the lease.
    package let silence: Duration
    /// That of the usual lease.
    package static let silence = Duration.seconds(1)
    package static let pingInterval = Duration.milliseconds(250)
    /// How long a session that was taken by force is left to the node that has it.
    package static let respite = Duration.seconds(1)
    /// The sessions that are remembered as taken. Beyond it the rule is left to the database, which
    /// keeps it as well.
    static let takenLimit = 10_000

    package init(silence: Duration = Suspicion.silence) { self.silence = silence }

    // MARK: Evidence

    /// Something was sent to a node that responds at once.
    package mutating func sent(to node: Node, at now: Time) {
        if doubts[node] == nil { doubts[node] = .unanswered(since: now) }
    }

    /// A link to a node is begun. The evidence of earlier ones is of an earlier time, and the
    /// request that waits for this link gets its own.
    package mutating func asked(_ node: Node) { doubts[node] = nil }

    /// Anything came from a node.
    package mutating func heard(from node: Node) { doubts[node] = nil }

    /// The node's link was silent for ``silence``.
    package mutating func fellSilent(_ node: Node, at now: Time) {
        doubts[node] = .unanswered(since: now - silence)
    }

    /// The host of a node has refused a connection to the node's address.
    package mutating func refused(by node: Node) { doubts[node] = .refused }

    /// Forgets nodes that are no members any more.
    package mutating func keep(_ members: Members) {
        doubts = doubts.filter { members[$0.key] != nil }
    }

    /// Called about each ``pingInterval``. A process that was itself paused has heard nobody
    /// meanwhile: silence counts from the end of the pause.
    package mutating func observe(at now: Time) {
        defer { observed = now }
        guard let observed, now - observed > Self.pingInterval * 3 else { return }
        for (node, doubt) in doubts {
            if case .unanswered = doubt { doubts[node] = .unanswered(since: now) }
        }
    }

    /// Whether a node seems to be gone.
    package func isGone(_ node: Node, at now: Time) -> Bool {
        switch doubts[node] {
        case nil: false
        case .refused: true
        case .unanswered(let since): now - since >= silence
        }
    }

    /// Whether a node was found silent within the last ``respite``. A request for it does not wait
    /// for another silence; a later one does, because nobody asks the node meanwhile.
    package func isFreshlySilent(_ node: Node, at now: Time) -> Bool {
        guard case .unanswered(let since) = doubts[node] else { return false }
        return (silence..<silence + Self.respite).contains(now - since)
    }

    // MARK: Taking by force

    /// A session was taken by force, by this node or from it.
    package mutating func took(_ session: String, at now: Time) {
        if taken.count >= Self.takenLimit {
            taken = taken.filter { now - $0.value < Self.respite }
            guard taken.count < Self.takenLimit else { return }
        }
        taken[session] = now
    }

    /// Whether this node may take a session from its owner now.
    package func mayDepose(_ owner: Node, of session: String, at now: Time) -> Bool {
        guard isGone(owner, at: now) else { return false }
        return taken[session].map { now - $0 >= Self.respite } ?? true
    }
}
