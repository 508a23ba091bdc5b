internal import GRDB

/// Makes a new journal from the text of ``JournalExport``.
///
/// The file is written under another name and renamed when it is complete and flushed, so that a
/// failure never leaves half a journal.
package final class JournalImport {
    private let partial: PartialFile
    private let queue: DatabaseQueue
    /// The session whose lines are being read.
    private var session: Session?
    /// The session's records that are not written yet.
    private var run = RecordPage(of: 0)
    private var lastPosition: HistoryPosition?
    private var rows: Int64 = 0
    private var lineNumber = 0
    private var counts = LineCounts()
    private var isEnded = false

    private struct Session {
        var row: Int64
        var key: SessionKey
        var keptAfter: UInt64
        var keptVersion: UInt64
        var sequence: RecordSequence
        var hasFirstSnapshot = false
        var reactor: String
        var timers = 0
        var hasTags = false
    }

    /// - Throws: ``JournalFileFault``: the file exists, or can't be created.
    package init(into path: String) throws(JournalFileFault) {
        partial = try PartialFile(of: path, suffix: ".import")
        do {
            var configuration = Configuration()
            // The transaction lasts from the first line to the last.
            configuration.allowsUnsafeTransactions = true
            queue = try DatabaseQueue(path: partial.path, configuration: configuration)
            try queue.inDatabase { database in
                try database.execute(sql: "PRAGMA synchronous = FULL")
                try JournalSchema.prepare(database)
                // A single transaction, so that the import is complete or absent.
                try database.beginTransaction(.immediate)
            }
        } catch {
            partial.abandon()
            throw JournalFileFault(error)
        }
    }

    package func add(_ line: [UInt8]) throws {
        lineNumber += 1
        guard let fields = JournalFields(line) else { throw fault("it is not a JSON object") }
        guard !isEnded else { throw fault("it comes after the end") }
        do {
            try queue.inDatabase { try add(fields, $0) }
        } catch let missing as JournalFields.Missing {
            throw fault("\"\(missing.name)\" is missing or invalid")
        } catch let error as DatabaseError {
            throw fault(error.message ?? "\(error)")
        }
    }

    /// Ends the text and makes the file the journal. Throws ``JournalTextFault``: the text is
    /// incomplete; ``JournalFileFault``.
    package func finish() throws {
        guard lineNumber > 0 else { throw fault("there are no lines") }
        guard isEnded else { throw fault("the text is cut off after this line") }
        do {
            try queue.inDatabase { database in
                try endSession(database)
                try database.commit()
            }
            try queue.close()
        } catch let fault as JournalTextFault {
            throw fault
        } catch {
            throw JournalFileFault(error)
        }
        try partial.finish()
    }

    /// Discards the file.
    package func abandon() {
        // The file is removed in any case.
        try? queue.close()
        partial.abandon()
    }

    private func fault(_ reason: String) -> JournalTextFault {
        JournalTextFault(line: lineNumber, reason: reason)
    }

    // MARK: Lines

    private func add(_ fields: JournalFields, _ database: Database) throws {
        guard lineNumber > 1 else { return try begin(fields) }
        if fields.has("session") { return try addSession(fields, database) }
        if fields.has("tombstone") { return try addTombstone(fields, database) }
        if fields.has("end") { return try addEnd(fields, database) }
        guard session != nil else { throw JournalFields.Missing(name: "session") }
        if fields.has("record") { return try addRecord(fields, database) }
        try endRun(database)
        if fields.has("snapshot") {
            try addSnapshot(fields, database)
        } else if fields.has("answer") {
            try addAnswer(fields, database)
        } else if fields.has("running") {
            try addRunning(fields, database)
        } else if fields.has("timer") {
            try addTimer(fields, database)
        } else if fields.has("tags") {
            try addTags(fields, database)
        } else {
            throw JournalFields.Missing(name: "record")
        }
    }

    private func begin(_ fields: JournalFields) throws {
        let version = try fields.number("journal")
        guard version <= JournalLine.version else { throw JournalFileFault.newer(Int(version)) }
        guard version == JournalLine.version else {
            throw fault("text of version \(version) has no end, so it may have been cut off")
        }
    }

    private func addEnd(_ fields: JournalFields, _ database: Database) throws {
        try endSession(database)
        let expected = try fields.counts()
        guard expected == counts, try fields.number("end") == counts.lines else {
            throw fault("its counts do not match the lines: some are missing, repeated or changed")
        }
        isEnded = true
    }

    /// Checks that the session whose lines were read is complete.
    private func endSession(_ database: Database) throws {
        try endRun(database)
        guard let session else { return }
        self.session = nil
        let name = "the session \(session.key.session) before it"
        guard session.sequence.hasRecords, lastPosition != nil else {
            throw fault("\(name): \(RecordSequence.noRecords)")
        }
        guard session.keptAfter == 0 || session.hasFirstSnapshot else {
            throw fault("\(name): there is no snapshot of record \(session.keptAfter)")
        }
    }

    private func addSession(_ fields: JournalFields, _ database: Database) throws {
        try endSession(database)
        counts.sessions += 1
        let key = SessionKey(
            session: try fields.string("session"), generation: try fields.string("generation"))
        rows += 1
        let (keptAfter, keptVersion) = (
            try fields.number("keptAfter"), try fields.number("keptVersion")
        )
        session = Session(
            row: rows, key: key, keptAfter: keptAfter, keptVersion: keptVersion,
            sequence: RecordSequence(keptAfter: keptAfter, version: keptVersion),
            reactor: try fields.string("reactor"))
        lastPosition = nil
        let input = try fields.json("input")
        try database.run(
            """
            INSERT INTO sessions(
                row, id, reactor, generation, created, kept_after, kept_version, owner,
                input)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, .integer(rows), .string(key.session), .string(try fields.string("reactor")),
            .string(key.generation), .integer(try fields.integer("created")),
            .number(keptAfter), .number(keptVersion),
            fields.has("owner") ? .string(try fields.string("owner")) : .null,
            input.isEmpty ? .null : .text(input))
    }

    private func addTombstone(_ fields: JournalFields, _ database: Database) throws {
        try endSession(database)
        counts.tombstones += 1
        try database.run(
            "INSERT INTO tombstones(id, reactor, generation, deleted) VALUES(?, ?, ?, ?)",
            .string(try fields.string("tombstone")), .string(try fields.string("reactor")),
            .string(try fields.string("generation")), .integer(try fields.integer("deleted")))
    }

    private func addRecord(_ fields: JournalFields, _ database: Database) throws {
        guard let key = session?.key else { return }
        let record = try HistoryCodec.entry(fields, of: key)
        if let lastPosition, record.position <= lastPosition {
            throw fault(
                "record \(record.number) comes after record \(lastPosition.number)")
        }
        if let problem = session?.sequence.problem(with: record) { throw fault(problem) }
        lastPosition = record.position
        counts.records += 1
        if run.isEmpty || run.text.count >= RecordPage.fullBytes {
            try endRun(database)
            run = RecordPage(of: rows)
        }
        run.append(record)
    }

    private func endRun(_ database: Database) throws {
        guard !run.isEmpty else { return }
        try run.insertInRecords(database)
        run = RecordPage(of: 0)
    }

    private func addSnapshot(_ fields: JournalFields, _ database: Database) throws {
        guard let key = session?.key else { return }
        let snapshot = try fields.snapshot(key)
        guard snapshot.number <= lastPosition?.number ?? 0 else {
            throw fault("the record \(snapshot.number) does not exist")
        }
        if snapshot.number == session?.keptAfter { session?.hasFirstSnapshot = true }
        counts.snapshots += 1
        try database.run(
            """
            INSERT INTO snapshots(session, version, number, last_action, state_version, time,
                state, listens) VALUES(?, ?, ?, ?, ?, ?, ?, ?)
            """, .integer(rows), .number(snapshot.version), .number(snapshot.number),
            .number(snapshot.lastAction), .integer(Int64(snapshot.stateVersion)),
            .integer(snapshot.time), .text(snapshot.state), .integer(snapshot.listens ? 1 : 0))
    }

    private func addAnswer(_ fields: JournalFields, _ database: Database) throws {
        guard let key = session?.key else { return }
        let answer = try fields.answer(key)
        counts.answers += 1
        try database.run(
            "INSERT INTO answers VALUES(?, ?, ?, ?, ?, ?)", .integer(rows), .string(answer.key),
            .blob(answer.bodyDigest),
            .integer(Int64(answer.status)), .integer(answer.time), .text(answer.body))
    }

    private func addRunning(_ fields: JournalFields, _ database: Database) throws {
        counts.running += 1
        try database.run(
            """
            INSERT INTO running(session, action, content, begun, subject, attempt, due, step)
            VALUES(?, ?, ?, ?, ?, ?, \(JournalSchema.now) + ?, ?)
            """, .integer(rows),
            .number(try fields.number("running")),
            .text(try fields.json("action")),
            .integer(fields.has("begun") ? try fields.integer("begun") : 1),
            fields.has("subject") ? .string(try fields.string("subject")) : .null,
            .integer(fields.has("attempt") ? try fields.integer("attempt") : 1),
            fields.has("wait") ? .integer(try fields.integer("wait")) : .null,
            fields.has("step") ? .string(try fields.string("step")) : .null)
    }

    private func addTimer(_ fields: JournalFields, _ database: Database) throws {
        let timer = SessionTimer(
            name: ExactText(try fields.string("timer")), number: try fields.number("number"),
            due: try fields.integer("due"), content: try fields.json("action"))
        if let problem = timer.fault { throw fault("the timer \(timer.name.text): \(problem)") }
        counts.timers += 1
        session?.timers += 1
        if let session, session.timers > SessionTimer.countLimit {
            throw fault("the session \(session.key.session): \(SessionTimer.tooMany)")
        }
        try database.run(
            "INSERT INTO timers(session, name, number, due, content) VALUES(?, ?, ?, ?, ?)",
            .integer(rows), .string(timer.name.text), .number(timer.number), .integer(timer.due),
            .text(timer.content))
    }

    private func addTags(_ fields: JournalFields, _ database: Database) throws {
        guard let session else { return }
        let tags = try fields.tags()
        let problem = session.hasTags ? "it has two lines of tags" : tags.fault
        if let problem { throw fault("the session \(session.key.session): \(problem)") }
        counts.tags += 1
        self.session?.hasTags = true
        try tags.replace(ofRow: rows, session.reactor, database)
    }
}

/// The reason that a line does not belong to a journal.
package struct JournalTextFault: Error, Sendable, Equatable, CustomStringConvertible {
    package var line: Int
    package var reason: String

    package var description: String { "line \(line): \(reason)" }
}
