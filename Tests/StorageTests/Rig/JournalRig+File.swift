import GRDB
import GRDBSQLite

@testable import Storage

extension JournalRig {
    /// A number read from the file itself, over another connection.
    func count(_ sql: String) throws -> Int {
        var configuration = Configuration()
        configuration.readonly = true
        let file = try DatabaseQueue(path: path, configuration: configuration)
        return try file.read { try Int.fetchOne($0, sql: sql) ?? 0 }
    }

    func pragma(_ name: String) throws -> String? {
        let file = try DatabaseQueue(path: path)
        return try file.read { try String.fetchOne($0, sql: "PRAGMA \(name)") }
    }

    /// Changes the file without the journal's knowledge.
    func tamper(_ sql: String) throws {
        let file = try DatabaseQueue(path: path)
        try file.write { database in
            try database.execute(sql: sql)
            guard database.changesCount > 0 else { throw NothingChanged() }
        }
    }

    struct NothingChanged: Error {}
}

extension JournalRig {
    func run(_ sql: String) throws { try Self.run(sql, in: path) }

    /// The mark as readers of the file see it.
    static func mark(of path: String) throws -> FileMark? {
        try DatabaseQueue(path: path).read { try FileMark.present($0) }
    }

    static func queue(_ path: String) throws -> DatabaseQueue { try DatabaseQueue(path: path) }

    static func run(_ sql: String, in path: String) throws {
        let file = try DatabaseQueue(path: path)
        try file.writeWithoutTransaction { try $0.execute(sql: sql) }
        try file.close()
    }
}

/// Another reader of the file, in a transaction that stays open.
final class ForeignReader {
    private let file: DatabaseQueue

    init(_ path: String) throws {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.allowsUnsafeTransactions = true
        file = try DatabaseQueue(path: path, configuration: configuration)
        try file.unsafeRead { database in
            try database.execute(sql: "BEGIN")
            _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM sessions")
        }
    }

    func count(_ sql: String) throws -> Int {
        try file.unsafeRead { try Int.fetchOne($0, sql: sql) ?? 0 }
    }

    func end() throws { try file.unsafeRead { try $0.execute(sql: "COMMIT") } }
}

extension JournalRig {
    /// SQLite's query plan for each statement that `act` has prepared.
    func plans(_ act: (Database) throws -> Void) throws -> [(query: String, steps: [String])] {
        let file = try DatabaseQueue(path: path)
        return try file.inDatabase { database in
            try act(database)
            var queries: Set<String> = []
            var statement = unsafe sqlite3_next_stmt(database.sqliteConnection, nil)
            while let found = unsafe statement {
                queries.insert(unsafe String(cString: sqlite3_sql(found)))
                unsafe statement = sqlite3_next_stmt(database.sqliteConnection, found)
            }
            return try queries.sorted().filter { !$0.hasPrefix("PRAGMA") }.map { query in
                var steps: [String] = []
                try database.cachedStatement(sql: "EXPLAIN QUERY PLAN " + query).each { row in
                    steps.append(row.string(3))
                    return true
                }
                return (query, steps)
            }
        }
    }
}
