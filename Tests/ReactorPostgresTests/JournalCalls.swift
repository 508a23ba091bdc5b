import EngineSuite
import PostgresRig
import Storage
import Synchronization

@testable import ReactorPostgres

extension PostgresJournal {
    /// Submits a batch and waits for its verdict.
    func verdict(on batch: Batch) async -> Verdict {
        await withCheckedContinuation { continuation in
            _ = commit(batch) { continuation.resume(returning: $0) }
        }
    }

    func verdict(on records: HistoryEntry...) async -> Verdict {
        await verdict(on: Batch(records: records))
    }

    /// Creates a session. On a slow machine, a short limit of a commit may be over before the
    /// database has answered: then it tries again.
    func create(_ session: String) async {
        while true {
            let verdict = await verdict(on: .created(session))
            if verdict == .committed || verdict == .partial([.of(session): .exists]) { return }
            await look()
        }
    }

    func records(_ session: String, _ generation: String = "g1") async throws -> [HistoryEntry] {
        try await ask {
            $0.records(
                of: .of(session, generation), after: HistoryPosition(0), through: .max,
                limitBytes: 1 << 30, $1)
        }
    }

    func head(_ session: String) async throws -> SavedHead? {
        try await ask { $0.head(of: session, $1) }
    }

    func load(_ session: String) async throws -> SavedSession? {
        try await ask { $0.load(session, $1) }
    }

    func answer(_ session: String, _ key: String) async throws -> StoredAnswer? {
        try await ask { $0.storedAnswer(of: .of(session), key: key, $1) }
    }

    private func ask<Value: Sendable>(
        _ question: (any Archive, @escaping ArchiveAnswer<Value>) -> Void
    ) async throws -> Value {
        guard let archive else { throw PostgresServer.Failure(description: "no archive") }
        return try await withCheckedContinuation { continuation in
            question(archive) { continuation.resume(returning: $0) }
        }.get()
    }
}

/// A verdict that comes later.
final class Pending: Sendable {
    private let verdict = Mutex<Verdict?>(nil)

    init(_ batch: Batch, in committer: any BatchCommitter) {
        _ = committer.commit(batch) { [self] verdict in
            self.verdict.withLock { $0 = verdict }
        }
    }

    var present: Verdict? { verdict.withLock { $0 } }

    var value: Verdict {
        get async {
            while true {
                if let present { return present }
                await Task.yield()
            }
        }
    }
}
