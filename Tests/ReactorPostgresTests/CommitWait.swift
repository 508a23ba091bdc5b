import EngineSuite
import PostgresRig
import Storage

@testable import ReactorPostgres

/// A commit that waits at a server for a standby that there is not.
struct CommitWait {
    private let server: PostgresServer
    private let waiting: String
    /// The record that it commits. Those before it are committed.
    let number: UInt64
    let pending: Pending
    /// The process of the server.
    let process: Int64

    /// - Parameter journal: it has the session `s`, without a mutation.
    init(of journal: PostgresJournal, in schema: String, at server: PostgresServer) async throws {
        self.server = server
        waiting =
            "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' "
            + "AND application_name = '\(schema)/writer'"
        // The connections of this test find nothing new, and so write nothing.
        try server.execute("UPDATE \(schema).cluster SET is_synchronous = true")
        do {
            try server.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
            try server.execute("SELECT pg_reload_conf()")
            // The server applies a setting later: commits before that do not wait.
            var number: UInt64 = 1
            var pending = Pending(Batch(records: [.mutation("s", number)]), in: journal)
            var found = try server.query(waiting)
            while found.count == 0 {
                if pending.present != nil {
                    number += 1
                    pending = Pending(Batch(records: [.mutation("s", number)]), in: journal)
                }
                found = try server.query(waiting)
            }
            (self.number, self.pending, process) = (number, pending, found.integer(0, 0))
        } catch {
            Self.end(at: server)
            throw error
        }
    }

    /// Whether another process waits as well.
    func hasAnother() throws -> Bool {
        let found = try server.query(waiting)
        return (0..<found.count).contains { found.integer($0, 0) != process }
    }

    /// No commit waits any more.
    func end() { Self.end(at: server) }

    private static func end(at server: PostgresServer) {
        try? server.execute("ALTER SYSTEM RESET synchronous_standby_names")
        try? server.execute("SELECT pg_reload_conf()")
    }
}
