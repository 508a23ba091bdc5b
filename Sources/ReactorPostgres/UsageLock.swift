/// Keeps two servers, or a server and a cluster, from using one journal at the same time.
///
/// Design: nodes of a cluster have one number, and each server without links its own. Each
/// connection holds an advisory lock on its process's number until it ends, however that happens,
/// and is closed if it sees a lock on another number. A start that is tried again keeps its number:
/// the earlier attempt may still wait for a commit, with the lock.
///
/// Invariant: a connection takes its lock before it looks for others, so one of two sees the other.
struct UsageLock: Sendable {
    private let schema: String
    /// 0 for the nodes of a cluster.
    private let number: Int64

    /// For `isTemporary`: the other process may be about to end.
    static let occupiedState = "reactor-occupied"

    /// - Parameter server: The number of a server without links; nil for a node of a cluster.
    init(schema: String, server: Int64?) {
        self.schema = schema
        number = server ?? 0
    }

    static func newNumber() -> Int64 { Int64.random(in: 1...Int64(Int32.max)) }

    /// - Throws: ``PostgresFault``: another process, or a cluster, uses the journal.
    func acquire(_ connection: Connection) throws(PostgresFault) {
        let parameters: Parameters = ["reactor \(schema) use", number]
        _ = try connection.run(
            "SELECT pg_try_advisory_lock_shared(hashtext($1), $2::bigint::int)", parameters,
            within: Connector.limit)
        let others = try connection.run(Self.others, parameters, within: Connector.limit)
        guard others.count > 0 else { return }
        let isCluster = others.integer(0, 0) == 0
        throw PostgresFault(
            state: Self.occupiedState,
            message: isCluster
                ? "the nodes of a cluster use this journal: stop them, or join them with --link"
                : "another server without a link uses this journal: stop it, or give both --link",
            isBroken: false)
    }

    static let others = """
        SELECT objid::bigint FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 2 AND classid = hashtext($1)::oid
            AND objid <> $2::bigint::int::oid
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        ORDER BY objid LIMIT 1
        """
}
