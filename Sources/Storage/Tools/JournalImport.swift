internal import GRDB

/// Makes a new journal of what ``JournalExport`` wrote.
///
/// It is made beside the place where it belongs and moved there when it is whole and flushed:
/// whatever goes wrong, there is no half of a journal.
package final class JournalImport {
    private let partial: PartialFile
    private let queue: DatabaseQueue
    /// The session whose lines are being read.
    private var session: Session?
    /// Of its records those that are not written yet.
    private var run = RecordPage(of: 0)
    private var lastPlace: HistoryPosition?
    private var rows: Int64 = 0
    private var lineNumber = 0
    /// Of the text.
    private var version: UInt64 = 0
    private var counts = LineCounts()
    private var isEnded = false
    private let acceptsUnmarked: Bool

    private struct Session {
        var row: Int64
        var key: SessionKey
        var keptAfter: UInt64
        var keptVersion: UInt64
        var sequence: RecordSequence
        var hasFirstSnapshot = false
    }

    /// - Parameter acceptsUnmarked: takes text of version 1 too, of which it is unknown whether
    ///   its last lines were cut off.
    /// - Throws: ``JournalFileFault``: the file exists, or can't be made.
    package init(into path: String, acceptsUnmarked: Bool = false) throws(JournalFileFault) {
        self.acceptsUnmarked = acceptsUnmarked
        partial = try PartialFile(of: path, suffix: ".import")
        do {
            var configuration = Configuration()
            // From the first line to the last.
            configuration.allowsUnsafeTransactions = true
            queue = try DatabaseQueue(path: partial.path, configuration: configuration)
            try queue.inDatabase { database in
                try database.execute(sql: "PRAGMA synchronous = FULL")
                try JournalSchema.prepare(database)
                // One transaction: it is whole or it is not.
                try database.beginTransaction(.immediate)
            }
        } catch {
            partial.abandon()
            throw JournalFileFault(error)
        }
    }

    /// Takes the next line, without its end.
    ///
    /// - Throws: ``JournalTextFault``; ``JournalFileFault``.
    package func take(_ line: [UInt8]) throws {
        lineNumber += 1
        guard let fields = JournalFields(line) else { throw fault("it is no JSON object") }
        guard !isEnded else { throw fault("it comes behind the end") }
        do {
            try queue.inDatabase { try take(fields, $0) }
        } catch let missing as JournalFields.Missing {
            throw fault("\"\(missing.name)\" is missing or not what it should be")
        } catch let error as DatabaseError {
            throw fault(error.message ?? "\(error)")
        }
    }

    /// Everything was taken: makes it the journal.
    ///
    /// - Throws: ``JournalTextFault``: it is not whole; ``JournalFileFault``.
    package func finish() throws {
        guard lineNumber > 0 else { throw fault("there is no line at all") }
        guard isEnded || version < JournalLine.firstWithEnd else {
            throw fault("the text was cut off behind it: there is no end")
        }
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

    /// Leaves nothing behind.
    package func abandon() {
        // The file goes in any case.
        try? queue.close()
        partial.abandon()
    }

    private func fault(_ reason: String) -> JournalTextFault {
        JournalTextFault(line: lineNumber, reason: reason)
    }

    // MARK: Lines

    private func take(_ fields: JournalFields, _ database: Database) throws {
        guard lineNumber > 1 else { return try begin(fields) }
        if fields.has("session") { return try takeSession(fields, database) }
        if fields.has("tombstone") { return try takeTombstone(fields, database) }
        if fields.has("end") { return try takeEnd(fields, database) }
        guard session != nil else { throw JournalFields.Missing(name: "session") }
        if fields.has("record") { return try takeRecord(fields, database) }
        try endRun(database)
        if fields.has("snapshot") {
            try takeSnapshot(fields, database)
        } else if fields.has("answer") {
            try takeAnswer(fields, database)
        } else if fields.has("running") {
            try takeRunning(fields, database)
        } else {
            throw JournalFields.Missing(name: "record")
        }
    }

    private func begin(_ fields: JournalFields) throws {
        version = try fields.number("journal")
        guard version <= JournalLine.version else { throw JournalFileFault.newer(Int(version)) }
        guard version >= JournalLine.firstWithEnd || acceptsUnmarked else {
            throw fault(
                "text of version \(version) has no end, so nobody can tell whether it was cut off; "
                    + "--accept-unmarked takes it as it is")
        }
    }

    private func takeEnd(_ fields: JournalFields, _ database: Database) throws {
        try endSession(database)
        let told = try fields.counts()
        guard told == counts, try fields.number("end") == counts.lines else {
            throw fault("it counts other lines than came: some are missing, doubled or changed")
        }
        isEnded = true
    }

    /// Checks that the session whose lines were read is complete.
    private func endSession(_ database: Database) throws {
        try endRun(database)
        guard let session else { return }
        self.session = nil
        let name = "the session \(session.key.session) before it"
        guard session.sequence.hasRecords, lastPlace != nil else {
            throw fault("\(name): \(RecordSequence.noRecords)")
        }
        guard session.keptAfter == 0 || session.hasFirstSnapshot else {
            throw fault("\(name): there is no snapshot of record \(session.keptAfter)")
        }
    }

    private func takeSession(_ fields: JournalFields, _ database: Database) throws {
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
            sequence: RecordSequence(keptAfter: keptAfter, version: keptVersion))
        lastPlace = nil
        try database.cachedStatement(
            sql: """
                INSERT INTO sessions(row, id, reactor, generation, created, kept_after, kept_version)
                VALUES(?, ?, ?, ?, ?, ?, ?)
                """
        ).run(
            .integer(rows), .string(key.session), .string(try fields.string("reactor")),
            .string(key.generation), .integer(try fields.integer("created")),
            .number(keptAfter), .number(keptVersion))
    }

    private func takeTombstone(_ fields: JournalFields, _ database: Database) throws {
        try endSession(database)
        counts.tombstones += 1
        try database.cachedStatement(
            sql: "INSERT INTO tombstones(id, reactor, generation, deleted) VALUES(?, ?, ?, ?)"
        ).run(
            .string(try fields.string("tombstone")), .string(try fields.string("reactor")),
            .string(try fields.string("generation")), .integer(try fields.integer("deleted")))
    }

    private func takeRecord(_ fields: JournalFields, _ database: Database) throws {
        guard let key = session?.key else { return }
        let record = try HistoryCodec.entry(fields, of: key)
        if let lastPlace, record.position <= lastPlace {
            throw fault("the record \(record.number) comes behind the record \(lastPlace.number)")
        }
        if let problem = session?.sequence.problem(with: record) { throw fault(problem) }
        lastPlace = record.position
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

    private func takeSnapshot(_ fields: JournalFields, _ database: Database) throws {
        guard let key = session?.key else { return }
        let snapshot = try fields.snapshot(key)
        guard snapshot.number <= lastPlace?.number ?? 0 else {
            throw fault("the record \(snapshot.number) is not there")
        }
        if snapshot.number == session?.keptAfter { session?.hasFirstSnapshot = true }
        counts.snapshots += 1
        try database.cachedStatement(
            sql: """
                INSERT INTO snapshots(session, version, number, last_action, state_version, time,
                    state) VALUES(?, ?, ?, ?, ?, ?, ?)
                """
        ).run(
            .integer(rows), .number(snapshot.version), .number(snapshot.number),
            .number(snapshot.lastAction), .integer(Int64(snapshot.stateVersion)),
            .integer(snapshot.time), .text(snapshot.state))
    }

    private func takeAnswer(_ fields: JournalFields, _ database: Database) throws {
        guard let key = session?.key else { return }
        let answer = try fields.answer(key)
        counts.answers += 1
        try database.cachedStatement(sql: "INSERT INTO answers VALUES(?, ?, ?, ?, ?, ?)").run(
            .integer(rows), .string(answer.key), .blob(answer.bodyDigest),
            .integer(Int64(answer.status)), .integer(answer.time), .text(answer.body))
    }

    private func takeRunning(_ fields: JournalFields, _ database: Database) throws {
        counts.running += 1
        try database.cachedStatement(sql: "INSERT INTO running VALUES(?, ?, ?, ?)").run(
            .integer(rows), .number(try fields.number("running")),
            .text(try fields.json("action")),
            .integer(fields.has("begun") ? try fields.integer("begun") : 1))
    }
}

/// Why a line is none of a journal's.
package struct JournalTextFault: Error, Sendable, Equatable, CustomStringConvertible {
    package var line: Int
    package var reason: String

    package var description: String { "line \(line): \(reason)" }
}
