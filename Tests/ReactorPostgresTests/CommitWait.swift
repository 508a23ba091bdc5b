import EngineSuite
import PostgresRig
import Storage

@testable import ReactorPostgres

/// A commit that waits at a server for a standby that there is not.
struct CommitWait {
    private let server: PostgresServer
    private let schema: String
    /// The standbys that commits wait for at other times.
    private let standbys: String
    /// The record that it commits. Those before it are committed.
    let number: UInt64
    let pending: Pending
    /// The process of the server.
    let process: Int64

    /// - Parameters:
    ///   - journal: it has the session `s`, without a mutation.
    ///   - epoch: Of the session's owner; 0 without owners.
    ///   - server: No other test may change its settings at the same time.
    ///   - standbys: That commits wait for at other times; empty: for none.
    init(
        of journal: PostgresJournal, _ epoch: Int64 = 0, in schema: String,
        at server: PostgresServer, with standbys: String = ""
    ) async throws {
        (self.server, self.schema, self.standbys) = (server, schema, standbys)
        // The connections of this test find nothing new, and so write nothing.
        try server.execute("UPDATE \(schema).cluster SET is_synchronous = true")
        do {
            try server.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
            try server.execute("SELECT pg_reload_conf()")
            // The server applies a setting later: commits before that do not wait.
            var number: UInt64 = 1
            var pending = Pending(.of([.mutation("s", number)], epoch: epoch), in: journal)
            var found = try Self.waiting("writer", schema, at: server)
            while found.isEmpty {
                if pending.present != nil {
                    number += 1
                    pending = Pending(.of([.mutation("s", number)], epoch: epoch), in: journal)
                }
                found = try Self.waiting("writer", schema, at: server)
            }
            (self.number, self.pending, process) = (number, pending, found[0])
        } catch {
            Self.end(at: server, standbys)
            throw error
        }
    }

    /// Whether another process waits as well.
    ///
    /// - Parameter name: Of its connection.
    func hasAnother(_ name: String = "writer") throws -> Bool {
        try Self.waiting(name, schema, at: server).contains { $0 != process }
    }

    private static func waiting(
        _ name: String, _ schema: String, at server: PostgresServer
    ) throws -> [Int64] {
        let found = try server.query(
            "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' "
                + "AND application_name = '\(schema)/\(name)'")
        return (0..<found.count).map { found.integer($0, 0) }
    }

    /// Ends the wait of the commit: its row is visible, and no standby has it.
    func cancel() throws {
        _ = try server.query("SELECT pg_cancel_backend(\(process))")
        let visible = "SELECT 1 FROM \(schema).runs WHERE number = \(number)"
        while try server.query(visible).count == 0 {}
    }

    /// No commit waits any more, or only for the standbys of before.
    func end() { Self.end(at: server, standbys) }

    private static func end(at server: PostgresServer, _ standbys: String) {
        try? server.execute("ALTER SYSTEM SET synchronous_standby_names = '\(standbys)'")
        try? server.execute("SELECT pg_reload_conf()")
    }
}
