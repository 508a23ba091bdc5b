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

    /// Ends the connections to a schema, in the middle of their statements.
    func cutConnections(to schema: String) throws {
        _ = try query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                + "WHERE application_name LIKE '\(schema)/%'")
    }
}

extension PostgresAddress {
    init(_ server: PostgresServer, _ schema: String, by folder: String? = nil) throws {
        try self.init(server.address(schema, by: folder))
    }
}
