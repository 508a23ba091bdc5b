internal import Cluster
internal import Storage
internal import Synchronization

/// Reads a journal in PostgreSQL, over connections of its own. Each read sees the database at one
/// moment.
final class PostgresArchive: Archive, PostgresHistory {
    private let readers: [ConnectionQueue]
    private let proofs: Proofs
    private let next = Atomic<Int>(0)

    /// More connections would compete with the loops for the processors.
    private static let connections = 2

    init(_ connector: Connector, _ proofs: Proofs) {
        self.proofs = proofs
        readers = (0..<Self.connections).map { _ in ConnectionQueue(connector, "reader") }
    }

    var archive: PostgresArchive { self }
    var isOfEnded: Bool { false }

    func open() throws(PostgresFault) {
        for reader in readers { try reader.open() }
    }

    var failure: JournalFailure? { readers.compactMap(\.failure).first }

    /// Tries to make the connections that are missing.
    func look() {
        for reader in readers { reader.look() }
    }

    func close() async {
        for reader in readers { await reader.close() }
    }

    /// - Parameter isNews: Whether a result says where a session ends, or what it has there, and so
    ///   needs a proof. Default: it does not, like records up to a known end.
    func read<Value: Sendable>(
        _ answer: @escaping Answer<Value>,
        proves isNews: @escaping @Sendable (Value) -> Bool = { _ in false },
        _ act: @escaping @Sendable (Connection) throws -> Value
    ) {
        let deadline = ContinuousClock.now + SessionRow.limit
        read(Proving(proofs, isNews), until: deadline, answer, act)
    }

    private func read<Value: Sendable>(
        _ proving: Proving<Value>, until deadline: ContinuousClock.Instant,
        _ answer: @escaping Answer<Value>,
        _ act: @escaping @Sendable (Connection) throws -> Value
    ) {
        let index = next.wrappingAdd(1, ordering: .relaxed).newValue
        readers[Int(UInt(bitPattern: index) % UInt(readers.count))].read(until: deadline, act) {
            [self] result in
            switch result {
            case .failure(let failure): answer(.failure(failure))
            case .success(let (value, reading)):
                proving.answer(value, reading, answer) { [self] answer in
                    read(proving, until: deadline, answer, act)
                }
            }
        }
    }

    // MARK: Reads

    func head(of session: String, _ answer: @escaping Answer<SavedHead?>) {
        read(answer, proves: { $0 != nil }) { connection in
            try SessionRow.find(session, connection)?.head
        }
    }

    func load(_ session: String, _ answer: @escaping Answer<SavedSession?>) {
        load(session, to: nil, answer)
    }

    /// A large state must not wait in memory for a proof, which may take seconds. So the session's
    /// end is proved first, and then the session is loaded again.
    private func load(
        _ session: String, to proved: SavedEnd?, _ answer: @escaping Answer<SavedSession?>
    ) {
        let proofs = proofs
        let loaded: Answer<Loaded> = { [self] result in
            switch result {
            case .failure(let failure): answer(.failure(failure))
            case .success(.whole(let saved, _)): answer(.success(saved))
            case .success(.end(let end)): load(session, to: end, answer)
            }
        }
        read(loaded, proves: \.isNews) { connection in
            let saved = try connection.atOneMoment {
                try SessionRow.find(session, connection)?.load(connection)
            }
            let end = saved.map { SavedEnd($0, connection.mark) }
            if let saved, let end, proved == nil, proofs.areNeeded,
                saved.stateBytes > Self.waitingBytes
            {
                return .end(end)
            }
            return .whole(saved, isNews: end != nil && end != proved)
        }
    }

    /// The most bytes of a state that waits in memory for its proof.
    private static let waitingBytes = 65_536

    private struct SavedEnd: Equatable {
        let key: SessionKey
        let isDeleted: Bool
        let end: HistoryEnd
        let database: DatabaseMark?

        init(_ saved: SavedSession, _ database: DatabaseMark?) {
            (key, isDeleted, end) = (saved.key, saved.isDeleted, saved.end)
            self.database = database
        }
    }

    private enum Loaded {
        case whole(SavedSession?, isNews: Bool)
        /// The session has to be loaded again once this end is proved.
        case end(SavedEnd)

        var isNews: Bool {
            switch self {
            case .whole(_, let isNews): isNews
            case .end: true
            }
        }
    }

    func countSessions(of owner: String, upTo limit: Int, _ answer: @escaping Answer<Int>) {
        read(answer) { connection in
            let found = try connection.run(Self.count, [owner, limit], within: SessionRow.limit)
            guard found.count > 0, !found.bool(0, 1) else { throw PostgresFault.standby }
            return Int(found.integer(0, 0))
        }
    }

    static let count = """
        SELECT count(*), pg_is_in_recovery() FROM (
            SELECT 1 FROM sessions WHERE owner = $1 AND deleted IS NULL LIMIT $2) s
        """

    func storedAnswer(
        of session: SessionKey, key: String, _ answer: @escaping Answer<StoredAnswer?>
    ) {
        read(answer, proves: { $0 != nil }) {
            try Self.findAnswer(of: session, key: key, $0)
        }
    }

    static func findAnswer(
        of session: SessionKey, key: String, _ connection: Connection
    ) throws(PostgresFault) -> StoredAnswer? {
        let found = try connection.run(
            Self.answer, [session.session, session.generation, key], within: SessionRow.limit)
        guard found.count > 0, !found.bool(0, 4) else { throw .standby }
        guard !found.isNull(0, 0) else { return nil }
        return StoredAnswer(
            session: session.session, generation: session.generation, key: key,
            bodyDigest: found.bytes(0, 0), status: found.status(0, 1), body: found.bytes(0, 3),
            time: found.integer(0, 2))
    }

    /// Returns one row even without an answer, as ``SessionRow/byID`` does without a session.
    static let answer = """
        SELECT digest, status, time, body, pg_is_in_recovery()
        FROM (SELECT 1) one LEFT JOIN (answers JOIN sessions s USING (session))
            ON s.id = $1 AND s.generation = $2 AND s.deleted IS NULL AND key = $3
        """

    func page(_ range: SessionRange, _ answer: @escaping Answer<[SavedHead]>) {
        // No text in PostgreSQL contains NUL; the error would cost the connection.
        let after = String(decoding: (range.after ?? "").utf8.prefix { $0 != 0 }, as: UTF8.self)
        read(answer, proves: { !$0.isEmpty }) { connection in
            guard range.reactor?.utf8.contains(0) != true else { return [] }
            var parameters: Parameters = [
                after, range.prefix, range.prefix + "\u{10FFFF}", range.limit,
            ]
            if let reactor = range.reactor { parameters.add(reactor) }
            let found = try connection.run(
                range.reactor == nil ? Self.page : Self.pageOfReactor, parameters,
                within: SessionRow.limit)
            return (0..<found.count).map { index in
                var head = SessionRow(found, index).head
                head.tags = found.tags(index, SessionRow.afterColumns)
                return head
            }
        }
    }

    static let page = page(where: "")
    static let pageOfReactor = page(where: "AND reactor = $5")

    private static func page(where condition: String) -> String {
        """
        SELECT \(SessionRow.columns), g.tags, g.changed
        FROM (SELECT * FROM sessions
            WHERE id > $1 AND id >= $2 AND id < $3 AND deleted IS NULL \(condition)
            ORDER BY id LIMIT $4) s
        \(SessionRow.newest) \(SessionRow.tags)
        ORDER BY s.id
        """
    }
}

protocol PostgresHistory: HistoryArchive {
    var archive: PostgresArchive { get }
    /// Whether this reads generations that have ended; if false, it reads those that have not.
    var isOfEnded: Bool { get }
}

extension PostgresHistory {
    func records(
        of session: SessionKey, after start: HistoryPosition, through last: UInt64, limit: Int,
        limitBytes: Int, _ answer: @escaping Answer<[HistoryEntry]>
    ) {
        archive.read(answer) { [isOfEnded] connection in
            guard let stored = try SessionRow.find(session, isEnded: isOfEnded, connection) else {
                return []
            }
            return try stored.records(after: start, through: last, limit, limitBytes, connection)
        }
    }

    func snapshot(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Snapshot?>
    ) {
        archive.read(answer) { [isOfEnded] connection in
            try SessionRow.find(session, isEnded: isOfEnded, connection)?.snapshot(
                at: version, connection)
        }
    }

    func stateVersion(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Int?>
    ) {
        archive.read(answer) { [isOfEnded] connection in
            try SessionRow.find(session, isEnded: isOfEnded, connection)?.stateVersion(
                at: version, connection)
        }
    }
}

/// Reads generations that have ended, until the sweeper has removed their rows.
struct EndedSessions: PostgresHistory {
    let archive: PostgresArchive
    var isOfEnded: Bool { true }
}

extension SessionRow {
    fileprivate func records(
        after start: HistoryPosition, through last: UInt64, _ limit: Int, _ limitBytes: Int,
        _ connection: Connection
    ) throws -> [HistoryEntry] {
        var (found, bytes) = ([HistoryEntry](), 0)
        try each(after: start, through: last, connection) { record in
            bytes += record.storedBytes
            guard found.isEmpty || bytes <= limitBytes else { return false }
            found.append(record)
            return found.count < limit
        }
        return found
    }
}

extension ConnectionQueue {
    /// - Parameter deadline: The deadline of the read, including the reads before it. While
    ///   somebody holds a lock, each of them may wait.
    fileprivate func read<Value: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ act: @escaping @Sendable (Connection) throws -> Value,
        _ answer: @escaping ArchiveAnswer<(value: Value, reading: Reading)>
    ) {
        async { [self] in
            answer(
                Result { try attempt(act, until: deadline) }.mapError(JournalFailure.init(reading:))
            )
        }
    }

    /// Like ``read(_:)``, but may throw other errors. Any error ends the connection, because a
    /// transaction may be open.
    private func attempt<Value>(
        _ act: (Connection) throws -> Value, until deadline: ContinuousClock.Instant
    ) throws -> (value: Value, reading: Reading) {
        guard ContinuousClock.now < deadline else {
            throw PostgresFault(message: "no answer in time", isBroken: true)
        }
        let isNew = connection == nil
        do {
            let present = try connect()
            present.lastDeadline = deadline
            let value = try act(present)
            if let reading = connector.reading(over: present) { return (value, reading) }
            connection = nil
        } catch {
            connection = nil
            guard let fault = error as? PostgresFault, fault.isBroken, !isNew else { throw error }
        }
        return try attempt(act, until: deadline)
    }
}

extension Connection {
    /// Several statements that see the database at one moment.
    func atOneMoment<Value>(_ act: () throws -> Value) throws -> Value {
        try execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", within: SessionRow.limit)
        let value = try act()
        try execute("COMMIT", within: SessionRow.limit)
        return value
    }
}

extension JournalFailure {
    fileprivate init(reading error: any Error) {
        if let fault = error as? PostgresFault {
            self.init(fault)
        } else {
            self.init(reason: .unavailable, detail: "the journal's records: \(error)")
        }
    }
}
