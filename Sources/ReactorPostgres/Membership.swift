internal import Cluster
internal import Dispatch
internal import Storage
internal import Synchronization

/// Keeps this node among the members of its cluster.
///
/// Design: each node writes a row once a second, and reads the others'. Only the database's clock
/// decides which node is late. A node that cannot reach the database judges itself by its own clock
/// (see `Lease`). Beats wait for no flush, so no node loses its membership because a standby hangs.
final class Membership: @unchecked Sendable {
    fileprivate struct State {
        var own: Member
        var others: [Member] = []
        /// Nodes that are not members but may have links; see ``Ownership/acquaintances``.
        var acquaintances: [Member] = []
        var lease: Lease
        var watcher: (@Sendable (OwnershipChange) -> Void)?
        /// The last members of which the watcher was notified.
        var reported: Members?
        var isClosed = false
    }

    private let queue: ConnectionQueue
    private let watching = DispatchQueue(label: "journal.postgres.members")
    private let state: Mutex<State>
    /// The database whose nodes were read for ``State/acquaintances``. On the connection's queue.
    private var known: DatabaseMark?
    /// Reported depositions, which the next beat removes. On the connection's queue.
    private var read: [Int64] = []
    /// On the connection's queue.
    private var beats = 0

    /// A beat that is not answered in time is given up: its connection may be half open.
    private static let limit = Duration.seconds(2)
    private static let anotherEra = PostgresFault(
        message: "another node has begun a new era", isBroken: true)
    private static let depositionLimit = 1_000
    /// More than any machine has processors.
    private static let loopLimit: Int64 = 65_536

    init(_ connector: Connector, _ own: Member, lease: Duration) {
        queue = ConnectionQueue(
            connector, "beat", for: .members, settings: "SET synchronous_commit = off")
        state = Mutex(State(own: own, lease: Lease(lease)))
        connector.watchDatabase(changed: { [weak self] in self?.databaseChanged() })
    }

    var members: Members {
        let (mark, isInDoubt) = (queue.connector.mark, queue.connector.doubt != nil)
        return state.withLock { state in
            var members = state.members(at: ContinuousClock.now)
            if let mark { members.database = mark }
            if isInDoubt { members.isHeard = false }
            return members
        }
    }

    var acquaintances: [Member] { state.withLock { $0.acquaintances } }

    /// The reason that there is no connection.
    var connectionFailure: JournalFailure? { queue.failure }

    /// Reports at once that this node trusts no database. The next beat reports the members of the
    /// newest one.
    private func databaseChanged() {
        report()
        queue.async { [weak self] in
            guard let self, !state.withLock({ $0.isClosed }) else { return }
            try? beatNow()
        }
    }

    /// Becomes a member. Processes that had this address before have ended.
    func join() throws(PostgresFault) {
        try queue.sync { [self] () throws(PostgresFault) in
            let own = state.withLock { $0.own }
            try queue.run { connection throws(PostgresFault) in
                _ = try connection.run(
                    "DELETE FROM nodes WHERE address = $2 AND address <> '' AND node <> $1",
                    [own.node.number, own.address], within: Self.limit)
            }
            try beatNow()
            // If two nodes join at once, neither may see the other in its first beat. In its second
            // beat, the node that wrote its row later sees the other's.
            try beatNow()
        }
    }

    func begin(every pause: Duration) {
        queue.async(after: pause) { [weak self] in
            guard let self, !state.withLock({ $0.isClosed }) else { return }
            try? beatNow()
            begin(every: pause)
        }
    }

    func beat() async throws {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in continuation.resume(with: Result { try beatNow() }) }
        }
    }

    /// Beats at once if no beat has shown a node that owns a session. Calls `act` in any case.
    func meet(_ node: Node, then act: @escaping @Sendable () -> Void) {
        guard members[node] == nil else { return act() }
        queue.async { [self] in
            if members[node] == nil { try? beatNow() }
            act()
        }
    }

    /// Announces with a beat that this node is about to end.
    func leave() {
        state.withLock { $0.own.isLeaving = true }
        queue.async { [self] in try? beatNow() }
    }

    func watch(_ changed: @escaping @Sendable (OwnershipChange) -> Void) {
        let present = members
        state.withLock { state in
            state.watcher = changed
            state.reported = present
        }
        // Changes since `present` was read were not reported.
        report()
    }

    /// Ends the membership: others may claim this node's sessions at once.
    func close() async {
        let node = state.withLock { state in
            state.isClosed = true
            state.watcher = nil
            return state.own.node
        }
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                // Otherwise it ends with the lease.
                try? queue.run { connection throws(PostgresFault) in
                    _ = try connection.run(
                        "DELETE FROM nodes WHERE node = $1", [node.number], within: Self.limit)
                }
                continuation.resume()
            }
        }
        await queue.close()
    }

    // MARK: A beat, on the connection's queue

    private func beatNow() throws(PostgresFault) {
        let own = state.withLock { $0.own }
        // Only the last attempt counts: the one before may have reached a former primary.
        let (found, taken, sent) = try queue.run {
            [self] connection throws(PostgresFault) -> (Rows, Rows, Lease.Time) in
            let sent = ContinuousClock.now
            let found = try connection.run(Self.beat, beat(of: own), within: Self.limit)
            // The next connection finds it out like any other, and all loops are notified.
            let isPresent =
                !queue.connector.rules.contains(.comparesDatabases)
                || found.integer(0, 0, in: Era.range) == connection.mark?.era
            guard isPresent else { throw Self.anotherEra }
            try lookForAcquaintances(of: own.node, connection)
            let taken = try connection.run(
                Self.depositions, [own.node.number], within: Self.limit)
            return (found, taken, sent)
        }
        state.withLock { state in
            state.lease.renew(sentAt: sent)
            state.others = Self.members(found)
        }
        report(Self.deposed(taken))
        read = (0..<taken.count).map { taken.integer($0, 0) }
        reportEndOfLease()
        forgetOld()
    }

    /// Reads, once for each database, which nodes have used it. Nodes of other databases are not
    /// members.
    private func lookForAcquaintances(
        of node: Node, _ connection: Connection
    ) throws(PostgresFault) {
        guard known == nil || known != connection.mark else { return }
        let found = try connection.run(Self.acquaintances, [node.number], within: Self.limit)
        let members = (0..<found.count).compactMap { row in
            found.node(row, 0).map { node in
                Member(
                    node: node, address: found.text(row, 1),
                    loops: Int(found.integer(row, 2, in: 0...Self.loopLimit)))
            }
        }
        known = connection.mark
        state.withLock { $0.acquaintances = members }
    }

    /// Removes old rows, once in 60 beats. If that fails, another node removes them, or this one
    /// does later.
    private func forgetOld() {
        beats += 1
        guard beats % 60 == 1 else { return }
        try? queue.run { connection throws(PostgresFault) in
            try connection.execute(Self.forgetting, within: Self.limit)
        }
    }

    private func beat(of own: Member) -> Parameters {
        let reactors = own.reactors.sorted { $0.key < $1.key }
        return [
            own.node.number, own.address, own.loops, reactors.map(\.key), reactors.map(\.value),
            Int64(state.withLock { $0.lease.duration } / .milliseconds(1)), own.isLeaving ? 1 : 0,
            read,
        ]
    }

    /// One row for each reactor of a member, or one without. A number that no node has is skipped.
    private static func members(_ found: Rows) -> [Member] {
        var members: [Member] = []
        for row in 0..<found.count {
            guard let node = found.node(row, 1) else { continue }
            if members.last?.node != node {
                members.append(
                    Member(
                        node: node, address: found.text(row, 2),
                        loops: Int(found.integer(row, 3, in: 0...loopLimit)),
                        isLeaving: found.bool(row, 4)))
            }
            guard let reactor = found.optionalText(row, 5) else { continue }
            members[members.count - 1].reactors[reactor] = Int(clamping: found.integer(row, 6))
        }
        return members
    }

    private static func deposed(_ found: Rows) -> [OwnedSession] {
        (0..<found.count).map { row in
            OwnedSession(
                SessionKey(session: found.text(row, 1), generation: found.text(row, 2)),
                epoch: found.integer(row, 3))
        }
    }

    /// Whether the node of the row `n` is a member. A lease counts for at most a day. A beat that
    /// is more than a lease in the future does not count: it is from before a change of the clock.
    static let isMember = """
        (n.seen BETWEEN clock_timestamp() - \(lease) AND clock_timestamp() + \(lease))
        """
    private static let lease = "greatest(0, least(n.lease, 86400000)) * interval '1 ms'"

    static let beat = """
        WITH own AS (
            INSERT INTO nodes(node, address, loops, reactors, state_versions, lease, is_leaving)
            VALUES($1, $2, $3, $4, $5, $6, $7 = 1)
            ON CONFLICT (node) DO UPDATE SET is_leaving = excluded.is_leaving,
                seen = clock_timestamp()),
        read AS (DELETE FROM depositions WHERE node = $1 AND number = ANY($8::bigint[]))
        SELECT c.era, n.node, n.address, n.loops, n.is_leaving, r.name, r.version
        FROM cluster c
        LEFT JOIN nodes n ON n.node <> $1
            AND \(isMember)
        LEFT JOIN LATERAL unnest(n.reactors, n.state_versions) r(name, version) ON true
        ORDER BY n.node
        """

    static let acquaintances = """
        SELECT node, address, loops FROM nodes
        WHERE node <> $1 AND address <> '' AND seen > clock_timestamp() - interval '1 hour'
        ORDER BY seen DESC LIMIT 64
        """

    static let depositions = """
        SELECT number, id, generation, epoch FROM depositions WHERE node = $1
        ORDER BY number LIMIT \(depositionLimit)
        """

    private static let forgetting = """
        DELETE FROM nodes WHERE seen < clock_timestamp() - interval '1 hour';
        DELETE FROM depositions WHERE taken < clock_timestamp() - interval '1 hour'
        """

    // MARK: The watcher

    private func report(_ deposed: [OwnedSession] = []) {
        watching.async { [self] in
            let members = members
            let call = state.withLock { state -> (@Sendable (OwnershipChange) -> Void, Members)? in
                guard let watcher = state.watcher, !deposed.isEmpty || members != state.reported
                else { return nil }
                state.reported = members
                return (watcher, members)
            }
            if let (watcher, members) = call {
                watcher(OwnershipChange(members: members, deposed: deposed))
            }
        }
    }

    /// Sets a timer of its own, because the next beat may have to wait for the database.
    private func reportEndOfLease() {
        guard let end = state.withLock({ $0.lease.end }) else { return }
        let left = max(.zero, end - ContinuousClock.now) + .milliseconds(1)
        watching.asyncAfter(deadline: .now() + left / .seconds(1)) { [weak self] in
            guard let self, !members.isHeard else { return }
            report()
        }
    }
}

extension Membership.State {
    fileprivate func members(at now: Lease.Time) -> Members {
        Members(own: own, others: others, isHeard: lease.isHeld(at: now))
    }
}
