internal import GRDB

/// The contents of a journal in numbers. Safe while a server uses the file; reads all of it.
package struct JournalStatistics: Sendable, Equatable {
    package struct Reactor: Sendable, Equatable {
        package var name: String
        package var sessions = 0
        package var records = 0
        package var notes = 0
        package var snapshots = 0
        /// The bytes of contents and events.
        package var bytes = 0
    }

    package var reactors: [Reactor] = []
    package var tombstones = 0
    package var answers = 0
    package var running = 0
    /// Records that have not been moved from the tail yet.
    package var tail = 0
    /// Milliseconds since 1970 (UTC); nil if there is no record.
    package var oldest: Int64?
    package var newest: Int64?
    /// The size of the file, without the write-ahead log beside it.
    package var fileBytes = 0
    /// The bytes in the file that can be used again.
    package var freeBytes = 0

    /// - Throws: ``JournalFileFault``.
    package init(of path: String) throws(JournalFileFault) {
        self = try JournalFile(path).read { try Self($0) }
    }

    private init(_ database: Database) throws {
        func count(_ sql: String) throws -> Int { Int(try database.integer(sql) ?? 0) }
        tombstones = try count("SELECT count(*) FROM tombstones")
        answers = try count("SELECT count(*) FROM answers")
        running = try count("SELECT count(*) FROM running")
        tail = try count("SELECT sum(count) FROM tail")
        let page = try count("PRAGMA page_size")
        fileBytes = try page * count("PRAGMA page_count")
        freeBytes = try page * count("PRAGMA freelist_count")
        try readReactors(database)
    }

    private mutating func readReactors(_ database: Database) throws {
        var found: [String: Reactor] = [:]
        let sessions = try database.cachedStatement(
            sql: """
                SELECT reactor, count(*), (SELECT count(*) FROM snapshots JOIN sessions AS owners
                    ON owners.row = snapshots.session
                    WHERE owners.reactor = sessions.reactor AND owners.id IS NOT NULL)
                FROM sessions WHERE id IS NOT NULL GROUP BY reactor
                """)
        try sessions.each { row in
            var reactor = Reactor(name: row.string(0))
            reactor.sessions = Int(row.integer(1))
            reactor.snapshots = Int(row.integer(2))
            found[reactor.name] = reactor
            return true
        }
        let walk = try JournalWalk(database)
        try walk.eachSession(.silent) { session in
            try walk.eachRecord(of: session) { record in
                found[session.life.reactor]?.count(record)
                oldest = min(oldest ?? record.time, record.time)
                newest = max(newest ?? record.time, record.time)
            }
        }
        reactors = found.values.sorted { $0.name < $1.name }
    }
}

extension JournalStatistics.Reactor {
    fileprivate mutating func count(_ record: HistoryEntry) {
        if record.part == 0 { records += 1 } else { notes += 1 }
        bytes += record.events.reduce(record.content.count) {
            $0 + $1.name.utf8.count + $1.data.count
        }
    }
}
