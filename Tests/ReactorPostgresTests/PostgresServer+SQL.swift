import PostgresRig

@testable import ReactorPostgres

extension PostgresServer {
    /// Executes SQL over a connection of its own.
    func execute(_ sql: String) throws {
        try connection().execute(sql, within: .seconds(600))
    }

    func query(_ sql: String) throws -> Rows {
        try connection().run(sql, within: .seconds(600))
    }

    func connection() throws -> Connection {
        try Connection([("dbname", "postgres://postgres@/postgres?host=\(folder)")])
    }

    /// Ends the connections to a schema, in the middle of their statements. They are over
    /// afterwards: a process that is slow to end would still answer.
    ///
    /// - Parameter name: What the connections are for. Default: all of them.
    func cutConnections(to schema: String, for name: String = "%") throws {
        _ = try query(
            "SELECT pg_terminate_backend(pid, 600000) FROM pg_stat_activity "
                + "WHERE application_name LIKE '\(schema)/\(name)'")
    }

    /// Waits until nobody uses a journal any more. A server process ends a moment after its
    /// connection, and holds its lock until then: another server would be refused.
    func waitForEnd(of schema: String) throws {
        let users = """
            SELECT 1 FROM pg_stat_activity WHERE application_name LIKE '\(schema)/%' UNION ALL
            SELECT 1 FROM pg_locks WHERE locktype = 'advisory'
                AND classid = hashtext('reactor \(schema) use')::oid
            """
        while try query(users).count > 0 {}
    }
}

extension PostgresAddress {
    init(_ server: PostgresServer, _ schema: String, by folder: String? = nil) throws {
        try self.init(server.address(schema, by: folder))
    }
}
