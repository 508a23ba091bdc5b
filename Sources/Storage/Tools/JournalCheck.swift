internal import GRDB
internal import JSONCoding

/// Looks whether a journal is whole: SQLite's own check, and the laws of what is in it. Safe while
/// a server uses the file.
package struct JournalCheck: Sendable {
    package struct Report: Sendable, Equatable {
        package var sessions: UInt64 = 0
        package var records: UInt64 = 0
        /// A sentence for each of the first ``problemLimit``.
        package var problems: [String] = []
        package var problemCount = 0

        fileprivate mutating func add(_ problem: String) {
            problemCount += 1
            if problems.count < JournalCheck.problemLimit { problems.append(problem) }
        }
    }

    package static let problemLimit = 100

    private let path: String

    package init(_ path: String) { self.path = path }

    /// - Throws: ``JournalFileFault``: it can't be read at all.
    package func run(_ progress: ToolProgress = .silent) throws(JournalFileFault) -> Report {
        try JournalFile(path).read { database in
            var report = Report()
            try checkFile(database, &report)
            // What is broken itself can't be believed about sessions.
            guard report.problemCount == 0 else { return report }
            let walk = try JournalWalk(database)
            report.sessions = walk.sessionCount
            try walk.eachSession(progress) { try check($0, walk, &report) }
            try checkOwners(database, &report)
            return report
        }
    }

    private func checkFile(_ database: Database, _ report: inout Report) throws {
        let statement = try database.cachedStatement(sql: "PRAGMA integrity_check")
        var words: [String] = []
        try statement.each { row in
            words.append(row.string(0))
            return true
        }
        for word in words where word != "ok" { report.add("the file: \(word)") }
    }

    // MARK: One session

    private func check(
        _ session: JournalWalk.Session, _ walk: JournalWalk, _ report: inout Report
    ) throws {
        let life = session.life
        var expected = Expected(life)
        var problems: [String] = []
        var versions: [UInt64: UInt64] = [:]
        var count: UInt64 = 0
        do {
            try walk.eachRecord(of: session) { record in
                count += 1
                if let problem = expected.problem(with: record) { problems.append(problem) }
                if record.part == 0 { versions[record.number] = record.version }
            }
        } catch let damage as RecordText.Damage {
            problems.append("\(damage)")
        }
        if problems.isEmpty, let problem = expected.problem(withEnd: session.newest) {
            problems.append(problem)
        }
        let rows = try walk.rowProblems(of: session)
        problems += rows
        try walk.eachSnapshot(of: life) { snapshot in
            let version =
                snapshot.number == life.keptAfter ? life.keptVersion : versions[snapshot.number]
            if snapshot.number > session.newest.number {
                problems.append("a snapshot of record \(snapshot.number), which is not there")
            } else if let version, version != snapshot.version {
                problems.append(
                    "the snapshot of record \(snapshot.number) has version \(snapshot.version), "
                        + "the record \(version)")
            }
            if !JSON.isLine(snapshot.state) {
                problems.append("the snapshot of record \(snapshot.number) is no line of JSON")
            }
        }
        if life.keptAfter > 0,
            try Snapshot.read(of: life, at: life.keptVersion, from: walk.database) == nil
        {
            problems.append(
                "no snapshot to begin from: records up to \(life.keptAfter) are trimmed")
        }
        report.records += count
        for problem in problems {
            report.add("session \(life.key.session) \(life.key.generation): \(problem)")
        }
    }

    /// What the next record of a session has to be.
    private struct Expected {
        private var number: UInt64
        private var notes: UInt32 = 0
        private var version: UInt64
        private let keptAfter: UInt64

        init(_ life: Life) {
            keptAfter = life.keptAfter
            number = life.keptAfter > 0 ? life.keptAfter + 1 : 0
            version = life.keptVersion
        }

        mutating func problem(with record: Record) -> String? {
            // The newest one, which stays when all are trimmed.
            if record.number <= keptAfter, keptAfter > 0 { return nil }
            let place = "record \(record.number)" + (record.part > 0 ? " note \(record.part)" : "")
            let wanted = (number, record.part > 0 ? notes + 1 : 0)
            defer { moveOn(record) }
            guard (record.number, record.part) == wanted else {
                return "\(place) where record \(number) should be"
            }
            guard record.kind != .deleted else {
                return "\(place) is the end of a session that lives"
            }
            guard (record.kind == .created) == (record.number == 0),
                (record.part > 0) == (record.kind == .note)
            else {
                return "\(place) is of the kind \(record.kind.word)"
            }
            let step = record.version &- version
            guard step == 0 || (step == 1 && record.part == 0),
                record.kind != .mutation || step == 1
            else { return "\(place) has version \(record.version) after \(version)" }
            guard record.content.isEmpty || JSON.isLine(record.content) else {
                return "\(place): what it holds is no line of JSON"
            }
            for event in record.events where !JSON.isLine(event.data) {
                return "\(place): the event \(event.name) is no line of JSON"
            }
            return nil
        }

        /// Where the rows say that the session stands, its records have to end.
        func problem(withEnd newest: NewestPlace) -> String? {
            guard number > 0 else { return "it has no record, not even its creation" }
            guard (newest.number, newest.version, newest.notes) != (number - 1, version, notes)
            else { return nil }
            return "its records end at \(number - 1) of version \(version), and it stands at "
                + "\(newest.number) of version \(newest.version)"
        }

        private mutating func moveOn(_ record: Record) {
            version = record.version
            notes = record.part
            number = record.part == 0 ? record.number + 1 : record.number
        }
    }

    // MARK: All together

    /// Everything belongs to a session that is there.
    private func checkOwners(_ database: Database, _ report: inout Report) throws {
        for table in ["records", "tail", "snapshots", "answers", "running"] {
            let lost =
                try database.integer(
                    """
                    SELECT count(*) FROM \(table)
                    WHERE session NOT IN (SELECT row FROM sessions)
                    """) ?? 0
            if lost > 0 { report.add("\(table): \(lost) rows belong to no session") }
        }
        let twice =
            try database.integer(
                "SELECT count(*) FROM tombstones WHERE id IN (SELECT id FROM sessions)") ?? 0
        if twice > 0 { report.add("\(twice) sessions are deleted and alive at once") }
    }
}
