import GRDB

extension JournalRig {
    /// A number from the file itself, read by somebody else.
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

    /// Changes the file behind the journal's back.
    func tamper(_ sql: String) throws {
        let file = try DatabaseQueue(path: path)
        try file.write { database in
            try database.execute(sql: sql)
            guard database.changesCount > 0 else { throw NothingChanged() }
        }
    }

    struct NothingChanged: Error {}
}
