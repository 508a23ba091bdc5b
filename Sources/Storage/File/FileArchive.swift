internal import Foundation
internal import GRDB

/// What a journal's file keeps, read beside the writer: WAL readers see what is committed, and
/// neither side ever waits for the other.
final class FileArchive: Archive {
    private let pool: DatabasePool

    init(path: String) throws(JournalFileFault) {
        var configuration = Configuration()
        configuration.label = "journal.archive"
        configuration.readonly = true
        configuration.maximumReaderCount = 4
        configuration.busyMode = .timeout(2)
        do {
            pool = try DatabasePool(path: path, configuration: configuration)
        } catch {
            throw .unusable(String(describing: error))
        }
    }

    func close() {
        do {
            try pool.close()
        } catch {
            // A read is still under way; the file stays as it is, which any start can read.
        }
    }

    func load(_ session: String, _ answer: @escaping Answer<SavedSession?>) {
        read(answer) { try SavedSession.read(session, from: $0) }
    }

    func records(
        of session: SessionKey, after start: RecordPlace, through last: UInt64, limitBytes: Int,
        _ answer: @escaping Answer<[Record]>
    ) {
        read(answer) { database in
            guard let life = try Life(session, in: database) else { return [] }
            let rows = try Row.fetchCursor(
                database.cachedStatement(
                    sql: """
                        SELECT number, part, kind, version, action, time, content, events,
                            traceparent
                        FROM records
                        WHERE session = ? AND (number, part) > (?, ?) AND number <= ?
                        ORDER BY number, part
                        """),
                arguments: [
                    life.row, Int64(start.number),
                    start.part == 0 ? JournalSchema.recordPart : Int64(start.part),
                    Int64(clamping: last),
                ])
            var found: [Record] = []
            var bytes = 0
            while let row = try rows.next() {
                let record = Record(row, of: session, reactor: life.reactor)
                bytes += record.storedBytes
                guard found.isEmpty || bytes <= limitBytes else { break }
                found.append(record)
            }
            return found
        }
    }

    func snapshot(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Snapshot?>
    ) {
        read(answer) { database in
            guard let life = try Life(session, in: database) else { return nil }
            return try Snapshot.read(of: session, life.row, at: version, from: database)
        }
    }

    func storedAnswer(
        of session: SessionKey, key: String, _ answer: @escaping Answer<StoredAnswer?>
    ) {
        read(answer) { database in
            guard let life = try Life(session, in: database) else { return nil }
            let row = try Row.fetchOne(
                database.cachedStatement(
                    sql: """
                        SELECT digest, status, time, body FROM answers
                        WHERE session = ? AND key = ?
                        """),
                arguments: [life.row, key])
            return row.map { row in
                StoredAnswer(
                    session: session.session, generation: session.generation, key: key,
                    bodyDigest: row.bytes(0), status: row[1], body: row.bytes(3), time: row[2])
            }
        }
    }

    func page(
        after id: String?, limit: Int, reactor: String?, _ answer: @escaping Answer<[SavedLine]>
    ) {
        read(answer) { database in
            let rows = try Row.fetchAll(
                database.cachedStatement(
                    sql: """
                        SELECT id, reactor, generation, row FROM sessions
                        WHERE id > ? AND deleted IS NULL AND (? IS NULL OR reactor = ?)
                        ORDER BY id LIMIT ?
                        """),
                arguments: [id ?? "", reactor, reactor, limit])
            return try rows.map { row in
                let place = try NewestPlace(of: row[3], in: database)
                return SavedLine(
                    session: row[0], reactor: row[1], generation: row[2],
                    lastNumber: place.number, lastVersion: place.version)
            }
        }
    }

    private func read<Value: Sendable>(
        _ answer: @escaping Answer<Value>,
        _ find: @escaping @Sendable (Database) throws -> Value
    ) {
        pool.asyncRead { result in
            do {
                answer(.success(try find(try result.get())))
            } catch {
                answer(.failure(JournalFailure(error)))
            }
        }
    }
}

/// The row of a living or deleted session, if it is still the same life.
struct Life {
    let row: Int64
    let reactor: String

    init?(_ key: SessionKey, in database: Database) throws {
        let found = try Row.fetchOne(
            database.cachedStatement(
                sql: "SELECT row, reactor, generation FROM sessions WHERE id = ?"),
            arguments: [key.session])
        guard let found, found[2] == key.generation else { return nil }
        row = found[0]
        reactor = found[1]
    }
}

extension Row {
    /// A text or a blob as bytes; empty for NULL.
    func bytes(_ index: Int) -> [UInt8] {
        switch self[index] as DatabaseValue {
        case let value:
            switch value.storage {
            case .string(let text): Array(text.utf8)
            case .blob(let data): Array(data)
            default: []
            }
        }
    }
}

extension Record {
    init(_ row: Row, of key: SessionKey, reactor: String) {
        let part: Int64 = row[1]
        let number: Int64 = row[0]
        let version: Int64 = row[3]
        let action: Int64 = row[4]
        self.init(
            session: key.session, reactor: reactor, generation: key.generation,
            number: UInt64(number), version: UInt64(version),
            kind: Kind(rawValue: row[2]) ?? .note, content: row.bytes(6),
            events: EventLines.events(row.bytes(7)), traceparent: row[8])
        self.part = part == JournalSchema.recordPart ? 0 : UInt32(part)
        self.action = UInt64(bitPattern: action)
        time = row[5]
    }

    /// About what it takes in memory and on a wire.
    var storedBytes: Int {
        events.reduce(content.count + 64) { $0 + $1.data.count + $1.name.utf8.count }
    }
}
