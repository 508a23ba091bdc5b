internal import Cluster
internal import Storage

/// Changes the owners of sessions, many in one statement.
///
/// Design: the owner is a column of the session's row, and a claim updates it without a change of
/// any index. Nothing waits for a row that another transaction holds: it is claimed again a moment
/// later. The node that loses a session by force finds that in `depositions`.
struct Claims {
    let node: Node
    let members: Members
    let rules: Rules
    /// How long a session that was taken by force is left to the node that has it.
    let respite: Duration

    struct Request: Sendable {
        var session: String
        /// An owner that may be deposed although it is a member.
        var deposed: Node?
        /// Whether it is claimed even if this node cannot read it.
        var isDeletion = false
        /// Loaded before the claim: without ``Rules/loadsAfterClaim``, so only in its test.
        var loaded: SavedSession?
    }

    enum Result: Equatable {
        case won(generation: String, epoch: Int64)
        case elsewhere(Node, SessionTraits)
        case nothing
        case ended
        /// Somebody holds the row.
        case locked
        /// This node does not host the reactor, or only with an older version of its state.
        case unreadable(SessionTraits, stateVersion: Int)
        /// No member owns it, and it was not claimed: this node leaves.
        case left(SessionTraits, stateVersion: Int)
    }

    private static let limit = Duration.seconds(5)

    func claim(
        _ requests: [Request], _ connection: Connection
    ) throws(PostgresFault) -> [Result] {
        let reactors = members.own.reactors.sorted { $0.key < $1.key }
        let parameters: Parameters = [
            node.number, requests.map(\.session), requests.map { $0.deposed?.number },
            requests.map { $0.isDeletion ? 1 : 0 }, reactors.map(\.key), reactors.map(\.value),
            Int64(respite / .milliseconds(1)),
        ]
        let won = try connection.run(Self.claim, parameters, within: Self.limit)
        if rules.contains(.heedsWarnings) { try connection.refuseWarnings() }
        connection.noteCommit(CommitPoint(won, 3))
        var results: [String: Result] = [:]
        for row in 0..<won.count {
            results[won.text(row, 0)] = .won(
                generation: won.text(row, 1), epoch: won.integer(row, 2))
        }
        let rest = requests.filter { results[$0.session] == nil }
        if !rest.isEmpty { try look(at: rest, connection, &results) }
        return requests.map { results[$0.session] ?? .nothing }
    }

    private func look(
        at requests: [Request], _ connection: Connection, _ results: inout [String: Result],
        isLeaving: Bool = false
    ) throws(PostgresFault) {
        let parameters: Parameters = [
            requests.map(\.session), requests.map { $0.deposed?.number },
            Int64(respite / .milliseconds(1)),
        ]
        let found = try connection.run(Self.looking, parameters, within: Self.limit)
        for row in 0..<found.count {
            let traits = SessionTraits(
                reactor: found.text(row, 3), owner: found.optionalText(row, 6).map { ExactText($0) }
            )
            let stateVersion = Int(found.integer(row, 4))
            let result: Result
            if found.bool(row, 1) {
                result = .ended
            } else if let owner = found.node(row, 2, except: node), found.bool(row, 5) {
                result = .elsewhere(owner, traits)
            } else if isLeaving {
                result = .left(traits, stateVersion: stateVersion)
            } else if !members.own.canRead(traits.reactor, stateVersion) {
                result = .unreadable(traits, stateVersion: stateVersion)
            } else {
                result = .locked
            }
            results[found.text(row, 0)] = result
        }
    }

    /// Whether the row `s` is owned by a member. The database's clock decides.
    static let isKept = """
        EXISTS (SELECT 1 FROM nodes n
            WHERE n.node = s.node AND \(Membership.isMember))
        """

    private static let stateVersion = """
        coalesce((SELECT n.state_version FROM snapshots n WHERE n.session = s.session
            ORDER BY n.version DESC, n.number DESC LIMIT 1), 0)
        """

    static let claim = """
        WITH c AS MATERIALIZED (
            SELECT DISTINCT ON (t.id) t.id, t.deposed, t.is_deletion
            FROM unnest($2::text[], $3::bigint[], $4::bigint[]) t(id, deposed, is_deletion)
            ORDER BY t.id, t.deposed NULLS LAST),
        l AS MATERIALIZED (
            SELECT s.session, s.node, s.epoch FROM c JOIN sessions s ON s.id = c.id
            WHERE s.deleted IS NULL
                AND (s.node IS NULL OR s.node = $1 OR NOT \(isKept)
                    OR \(mayDepose(respite: 7)))
                AND (c.is_deletion = 1 OR EXISTS (
                    SELECT 1 FROM unnest($5::text[], $6::bigint[]) r(name, version)
                    WHERE r.name = s.reactor AND r.version >= \(stateVersion)))
            ORDER BY s.session FOR UPDATE OF s SKIP LOCKED),
        won AS (
            UPDATE sessions s SET node = $1, epoch = s.epoch + 1,
                taken = CASE WHEN l.node <> $1 THEN clock_timestamp() ELSE s.taken END
            FROM l WHERE s.session = l.session
            RETURNING s.id, s.generation, s.epoch, l.node AS deposed, l.epoch AS deposed_epoch),
        notified AS (
            INSERT INTO depositions(node, id, generation, epoch)
            SELECT w.deposed, w.id, w.generation, w.deposed_epoch FROM won w
            WHERE w.deposed <> $1 AND EXISTS (SELECT 1 FROM nodes n WHERE n.node = w.deposed))
        SELECT id, generation, epoch, \(CommitPoint.columns) FROM won
        """

    /// Whether the row `s` may be taken by force from the owner that `c` names: not within the
    /// respite after it was last taken by force. A time further in the future than the respite does
    /// not count. It comes from a former primary, or the clock was set back.
    ///
    /// - Parameter respite: The number of the parameter with the respite, in milliseconds.
    private static func mayDepose(respite: Int) -> String {
        """
        (s.node = c.deposed AND (s.taken IS NULL OR s.taken NOT BETWEEN
            clock_timestamp() - $\(respite)::bigint * interval '1 ms'
            AND clock_timestamp() + $\(respite)::bigint * interval '1 ms'))
        """
    }

    static let looking = """
        SELECT s.id, s.deleted IS NOT NULL, s.node, s.reactor, \(stateVersion),
            \(isKept) AND NOT coalesce(\(mayDepose(respite: 3)), false), s.owner
        FROM unnest($1::text[], $2::bigint[]) c(id, deposed) JOIN sessions s ON s.id = c.id
        """

    func release(_ sessions: [OwnedSession], _ connection: Connection) throws(PostgresFault) {
        let parameters: Parameters = [
            node.number, sessions.map(\.key.session), sessions.map(\.key.generation),
            sessions.map(\.epoch),
        ]
        _ = try connection.run(Self.release, parameters, within: Self.limit)
    }

    static let release = """
        WITH l AS MATERIALIZED (
            SELECT s.session
            FROM unnest($2::text[], $3::text[], $4::bigint[]) t(id, generation, epoch)
            JOIN sessions s ON s.id = t.id AND s.generation = t.generation AND s.epoch = t.epoch
                AND s.node = $1
            ORDER BY s.session FOR UPDATE OF s)
        UPDATE sessions s SET node = NULL, epoch = s.epoch + 1 FROM l
        WHERE s.session = l.session
        """

    /// Gives up those of the sessions whose rows name this node, in any epoch.
    ///
    /// - Returns: What they are, as of a moment after it.
    func leave(
        _ sessions: [String], _ connection: Connection
    ) throws(PostgresFault) -> [Result] {
        _ = try connection.run(Self.leaving, [node.number, sessions], within: Self.limit)
        var results: [String: Result] = [:]
        try look(at: sessions.map { Request(session: $0) }, connection, &results, isLeaving: true)
        return sessions.map { results[$0] ?? .nothing }
    }

    static let leaving = """
        WITH l AS MATERIALIZED (
            SELECT s.session FROM unnest($2::text[]) t(id)
            JOIN sessions s ON s.id = t.id AND s.node = $1
            ORDER BY s.session FOR UPDATE OF s)
        UPDATE sessions s SET node = NULL, epoch = s.epoch + 1 FROM l
        WHERE s.session = l.session
        """
}
