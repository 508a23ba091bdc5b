import EngineSuite
import Foundation
import Synchronization

@testable import Storage

/// A journal in its own directory. Invariant: a test uses it from one task; the journal and the
/// disk are used from any.
final class JournalRig: @unchecked Sendable {
    let directory: String
    let path: String
    let disk: FaultyDisk
    /// The time that the journal sees.
    let clock = Clock()
    private(set) var journal: FileJournal

    final class Clock: Sendable {
        private let value = Mutex<Int64>(1_000_000)
        var now: Int64 { value.withLock { $0 } }
        func advance(by milliseconds: Int64) { value.withLock { $0 += milliseconds } }
    }

    convenience init(_ retention: JournalRetention = JournalRetention()) throws {
        try self.init(in: Self.makeDirectory(), retention)
    }

    init(in directory: String, _ retention: JournalRetention = JournalRetention()) throws {
        self.directory = directory
        path = directory + "/journal.sqlite"
        disk = FaultyDisk(under: path)
        journal = try FileJournal(
            path: path, retention: retention, now: { [clock] in clock.now },
            looksEvery: nil)
    }

    deinit {
        // Left-overs of a failed test are no failure of this one.
        try? FileManager.default.removeItem(atPath: directory)
    }

    static func makeDirectory() -> String {
        let directory =
            FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("journal-" + UUID().uuidString).path
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true)
        } catch {
            preconditionFailure("no temporary directory: \(error)")
        }
        return directory
    }

    /// Closes the file and opens it again.
    func reopen(_ retention: JournalRetention = JournalRetention()) async throws {
        await journal.close()
        journal = try FileJournal(
            path: path, retention: retention, now: { [clock] in clock.now },
            looksEvery: nil)
    }

    /// The content after a crash now: a copy of the files, opened.
    func crashed(_ retention: JournalRetention = JournalRetention()) throws -> JournalRig {
        let copy = Self.makeDirectory()
        for name in ["journal.sqlite", "journal.sqlite-wal"] {
            try FileManager.default.copyItem(
                atPath: directory + "/" + name, toPath: copy + "/" + name)
        }
        return try JournalRig(in: copy, retention)
    }

    func removeFiles() throws {
        for suffix in ["", "-wal", "-shm"] {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    // MARK: Writing

    /// Submits a batch and waits for its end.
    @discardableResult
    func commit(_ batch: Batch) async -> JournalFailure? {
        await withCheckedContinuation { continuation in
            _ = journal.commit(batch) { continuation.resume(returning: $0.failure) }
        }
    }

    @discardableResult
    func commit(_ records: [HistoryEntry]) async -> JournalFailure? {
        await commit(Batch(records: records))
    }

    /// Submits each batch when the one before has ended. Returns the first failure.
    ///
    /// The test waits only once. On a busy machine, each wait would take its turn with all other
    /// tests.
    func commit(inTurn batches: [Batch]) async -> JournalFailure? {
        await withCheckedContinuation { continuation in
            @Sendable func submit(_ rest: ArraySlice<Batch>) {
                guard let batch = rest.first else { return continuation.resume(returning: nil) }
                _ = journal.commit(batch) { verdict in
                    if let failure = verdict.failure {
                        continuation.resume(returning: failure)
                    } else {
                        submit(rest.dropFirst())
                    }
                }
            }
            submit(batches[...])
        }
    }

    // MARK: Reading

    func head(_ session: String) async throws -> SavedHead? {
        try await ask { $0.head(of: session, $1) }
    }

    func load(_ session: String) async throws -> SavedSession? {
        try await ask { $0.load(session, $1) }
    }

    func records(
        _ session: String, generation: String = "g1",
        after start: HistoryPosition = HistoryPosition(0),
        through last: UInt64 = .max, limit: Int = .max, limitBytes: Int = 1 << 30
    ) async throws -> [HistoryEntry] {
        try await ask {
            $0.records(
                of: .of(session, generation), after: start, through: last, limit: limit,
                limitBytes: limitBytes, $1)
        }
    }

    func snapshot(_ session: String, at version: UInt64) async throws -> Snapshot? {
        try await ask { $0.snapshot(of: .of(session), at: version, $1) }
    }

    func answer(_ session: String, key: String) async throws -> StoredAnswer? {
        try await ask { $0.storedAnswer(of: .of(session), key: key, $1) }
    }

    func page(_ range: SessionRange = SessionRange(limit: 100)) async throws -> [SavedHead] {
        try await ask { $0.page(range, $1) }
    }

    private func ask<Value: Sendable>(
        _ question: (any Archive, @escaping ArchiveAnswer<Value>) -> Void
    ) async throws -> Value {
        guard let archive = journal.archive else { preconditionFailure("no archive") }
        return try await withCheckedContinuation { continuation in
            question(archive) { continuation.resume(returning: $0) }
        }.get()
    }
}

extension Verdict {
    /// The failure of the batch or of one of its parts.
    var failure: JournalFailure? {
        switch self {
        case .committed: nil
        case .partial(let refused): refused.keys.first.flatMap { failure(of: $0) }
        case .failed(let failure): failure
        }
    }
}
