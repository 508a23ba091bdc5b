internal import GRDB

/// Makes a new journal of what ``JournalExport`` wrote.
///
/// It is made beside the place where it belongs and moved there when it is whole and flushed:
/// whatever goes wrong, there is no half of a journal.
package final class JournalImport {
    private let path: String
    private let queue: DatabaseQueue
    /// The session whose lines are being read.
    private var session: (row: Int64, key: SessionKey)?
    /// Of its records those that are not written yet.
    private var run = StoredRun(of: 0)
    private var lastPlace: RecordPlace?
    private var rows: Int64 = 0
    private var lineNumber = 0

    private var partial: String { Self.partial(path) }

    private static func partial(_ path: String) -> String { path + ".import" }

    /// - Throws: ``JournalFileFault``: the file exists, or can't be made.
    package init(into path: String) throws(JournalFileFault) {
        self.path = path
        guard FileIdentity(path) == nil else { throw .unusable("it exists already") }
        FileIdentity.remove(Self.partial(path))
        do {
            var configuration = Configuration()
            // From the first line to the last.
            configuration.allowsUnsafeTransactions = true
            queue = try DatabaseQueue(path: Self.partial(path), configuration: configuration)
            try queue.inDatabase { database in
                try database.execute(sql: "PRAGMA synchronous = FULL")
                try JournalSchema.prepare(database)
                // One transaction: it is whole or it is not.
                try database.beginTransaction(.immediate)
            }
        } catch {
            throw JournalFileFault(error)
        }
    }

    /// Takes the next line, without its end.
    ///
    /// - Throws: ``JournalTextFault``; ``JournalFileFault``.
    package func take(_ line: [UInt8]) throws {
        lineNumber += 1
        guard let fields = JournalFields(line) else { throw fault("it is no JSON object") }
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
    /// - Throws: ``JournalFileFault``.
    package func finish() throws {
        guard lineNumber > 0 else { throw fault("there is no line at all") }
        do {
            try queue.inDatabase { database in
                try endRun(database)
                try database.commit()
            }
            try queue.close()
        } catch {
            throw JournalFileFault(error)
        }
        try FileIdentity.move(partial, to: path)
    }

    /// Leaves nothing behind.
    package func abandon() {
        // The file goes in any case.
        try? queue.close()
        FileIdentity.remove(partial)
    }

    private func fault(_ reason: String) -> JournalTextFault {
        JournalTextFault(line: lineNumber, reason: reason)
    }

    // MARK: Lines

    private func take(_ fields: JournalFields, _ database: Database) throws {
        guard lineNumber > 1 else {
            let version = try fields.number("journal")
            guard version <= JournalSchema.version else {
                throw JournalFileFault.newer(Int(version))
            }
            return
        }
        if !fields.has("record") { try endRun(database) }
        if fields.has("session") { return try takeSession(fields, database) }
        if fields.has("tombstone") { return try takeTombstone(fields, database) }
        guard let session else { throw JournalFields.Missing(name: "session") }
        if fields.has("record") {
            try insert(try fields.record(session.key), database)
        } else if fields.has("snapshot") {
            try insert(try fields.snapshot(session.key), database)
        } else if fields.has("answer") {
            try insert(try fields.answer(session.key), database)
        } else if fields.has("running") {
            try database.cachedStatement(sql: "INSERT INTO running VALUES(?, ?, ?)").run(
                .integer(session.row), .number(try fields.number("running")),
                .text(try fields.json("action")))
        } else {
            throw JournalFields.Missing(name: "record")
        }
    }

    private func takeSession(_ fields: JournalFields, _ database: Database) throws {
        let key = SessionKey(
            session: try fields.string("session"), generation: try fields.string("generation"))
        rows += 1
        session = (rows, key)
        lastPlace = nil
        try database.cachedStatement(
            sql: """
                INSERT INTO sessions(row, id, reactor, generation, created, kept_after, kept_version)
                VALUES(?, ?, ?, ?, ?, ?, ?)
                """
        ).run(
            .integer(rows), .string(key.session), .string(try fields.string("reactor")),
            .string(key.generation), .integer(try fields.integer("created")),
            .number(try fields.number("keptAfter")), .number(try fields.number("keptVersion")))
    }

    private func takeTombstone(_ fields: JournalFields, _ database: Database) throws {
        session = nil
        try database.cachedStatement(
            sql: "INSERT INTO tombstones(id, reactor, generation, deleted) VALUES(?, ?, ?, ?)"
        ).run(
            .string(try fields.string("tombstone")), .string(try fields.string("reactor")),
            .string(try fields.string("generation")), .integer(try fields.integer("deleted")))
    }

    private func insert(_ record: Record, _ database: Database) throws {
        if let lastPlace, record.place <= lastPlace {
            throw fault("the record \(record.number) comes behind the record \(lastPlace.number)")
        }
        lastPlace = record.place
        if run.isEmpty || run.text.count >= StoredRun.fullBytes {
            try endRun(database)
            run = StoredRun(of: rows)
        }
        run.append(record)
    }

    private func endRun(_ database: Database) throws {
        guard !run.isEmpty else { return }
        try run.insertInRecords(database)
        run = StoredRun(of: 0)
    }

    private func insert(_ snapshot: Snapshot, _ database: Database) throws {
        try database.cachedStatement(sql: "INSERT INTO snapshots VALUES(?, ?, ?, ?, ?, ?, ?)").run(
            .integer(rows), .number(snapshot.version), .number(snapshot.number),
            .number(snapshot.lastAction), .integer(Int64(snapshot.stateVersion)),
            .integer(snapshot.time), .text(snapshot.state))
    }

    private func insert(_ answer: StoredAnswer, _ database: Database) throws {
        try database.cachedStatement(sql: "INSERT INTO answers VALUES(?, ?, ?, ?, ?, ?)").run(
            .integer(rows), .string(answer.key), .blob(answer.bodyDigest),
            .integer(Int64(answer.status)), .integer(answer.time), .text(answer.body))
    }
}

/// Why a line is none of a journal's.
package struct JournalTextFault: Error, Sendable, Equatable, CustomStringConvertible {
    package var line: Int
    package var reason: String

    package var description: String { "line \(line): \(reason)" }
}
