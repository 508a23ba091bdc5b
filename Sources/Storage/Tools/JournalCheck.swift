internal import GRDB
internal import JSONCoding

/// SQLite's own integrity check, and the invariants of the rows. Safe while a server uses the file.
package struct JournalCheck: Sendable {
    package struct Report: Sendable, Equatable {
        package var sessions: UInt64 = 0
        package var records: UInt64 = 0
        /// A sentence for each of the first ``problemLimit`` problems.
        package var problems: [String] = []
        package var problemCount = 0

        package init() {}

        package mutating func add(_ problem: String) {
            problemCount += 1
            if problems.count < JournalCheck.problemLimit { problems.append(problem) }
        }
    }

    package static let problemLimit = 100

    private let path: String

    package init(_ path: String) { self.path = path }

    package func run() throws(JournalFileFault) -> Report {
        try JournalFile(path).read { database in
            var report = Report()
            try checkFile(database, &report)
            // With damaged tables the sessions cannot be checked.
            guard report.problemCount == 0 else { return report }
            let walk = try JournalWalk(database)
            try walk.eachSession { session in
                report.sessions += 1
                try check(session, walk, &report)
            }
            try checkOwners(database, &report)
            return report
        }
    }

    private func checkFile(_ database: Database, _ report: inout Report) throws {
        var words: [String] = []
        try database.each("PRAGMA integrity_check") { words.append($0.string(0)) }
        for word in words where word != "ok" { report.add("the file: \(word)") }
    }

    private func check(
        _ session: JournalWalk.Session, _ walk: JournalWalk, _ report: inout Report
    ) throws {
        let stored = session.stored
        var sequence = RecordSequence(keptAfter: stored.keptAfter, version: stored.keptVersion)
        var problems: [String] = []
        var versions: [UInt64: UInt64] = [:]
        var count: UInt64 = 0
        do {
            try walk.eachRecord(of: session) { record in
                count += 1
                if let problem = sequence.problem(with: record) ?? Self.problem(in: record) {
                    problems.append(problem)
                }
                if record.part == 0 { versions[record.number] = record.version }
            }
        } catch let damage as HistoryCodec.Damage {
            problems.append("\(damage)")
        }
        if problems.isEmpty, let problem = sequence.problem(withEnd: session.head.end) {
            problems.append(problem)
        }
        let rows = try walk.rowProblems(of: session)
        problems += rows
        try walk.eachSnapshot(of: stored) { snapshot in
            let version =
                snapshot.number == stored.keptAfter ? stored.keptVersion : versions[snapshot.number]
            if snapshot.number > session.head.end.number {
                problems.append("a snapshot of record \(snapshot.number), which does not exist")
            } else if let version, version != snapshot.version {
                problems.append(
                    "the snapshot of record \(snapshot.number) has version \(snapshot.version), "
                        + "but the record has \(version)")
            }
            if !JSON.isLine(snapshot.state) {
                problems.append("the snapshot of record \(snapshot.number) is not a line of JSON")
            }
        }
        for action in try RunningAction.all(of: stored, from: walk.database)
        where !JSON.isLine(action.content) {
            problems.append("the running action \(action.action) is not a line of JSON")
        }
        let timers = try SessionTimer.all(of: stored, from: walk.database)
        if timers.count > SessionTimer.countLimit { problems.append(SessionTimer.tooMany) }
        for timer in timers {
            let fault = JSON.isLine(timer.content) ? timer.fault : "it is not a line of JSON"
            if let fault { problems.append("the timer \(timer.name.text): \(fault)") }
        }
        if let fault = try SessionTags(ofRow: stored.row, walk.database)?.fault {
            problems.append(fault)
        }
        try walk.eachAnswer(of: stored) { answer in
            if !StoredAnswer.statuses.contains(answer.status) {
                problems.append(
                    "the answer of the key \(answer.key) has the status \(answer.status)")
            }
        }
        if stored.keptAfter > 0,
            try Snapshot.read(of: stored, at: stored.keptVersion, from: walk.database) == nil
        {
            problems.append(
                "no snapshot to begin from: records up to \(stored.keptAfter) are trimmed")
        }
        report.records += count
        for problem in problems {
            report.add("session \(stored.key.session) \(stored.key.generation): \(problem)")
        }
    }

    private static func problem(in record: HistoryEntry) -> String? {
        // A note has an action or a mutation as `{"kind":…,"content":{"received":…}}`.
        let outer = record.kind == .note ? 2 : 0
        guard record.content.isEmpty || JSON.isLine(record.content, around: outer) else {
            return "\(record.words): its content is not a line of JSON"
        }
        for event in record.events where !JSON.isLine(event.data) {
            return "\(record.words): the event \(event.name) is not a line of JSON"
        }
        return nil
    }

    /// Checks that every row belongs to an existing session.
    private func checkOwners(_ database: Database, _ report: inout Report) throws {
        for table in ["records", "tail", "snapshots", "answers", "running", "timers", "tags"] {
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
        if twice > 0 { report.add("\(twice) sessions are both deleted and alive") }
    }
}
