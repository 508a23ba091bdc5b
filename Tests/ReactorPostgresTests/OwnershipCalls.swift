import Cluster
import EngineSuite
import PostgresRig
import Storage
import Synchronization

@testable import ReactorPostgres

/// A node of a cluster, with its journal.
struct ClusterNode {
    let node: Node
    let journal: PostgresJournal

    /// - Parameters:
    ///   - number: Of the node, and of its address.
    ///   - lease: Default: longer than a test.
    init(
        _ number: Int64, _ server: PostgresServer, _ schema: String, by relay: PostgresRelay? = nil,
        reactors: [String: Int] = ["alerts": 5], lease: Duration = .seconds(3_600),
        respite: Duration = Suspicion.respite, rules: Rules = .all
    ) throws {
        node = Node(number: number)
        let member = Member(
            node: node, address: "10.0.0.\(number):7080", loops: 2, reactors: reactors)
        journal = try PostgresJournal(
            PostgresAddress(server, schema, by: relay?.folder), member: member, lease: lease,
            commitLimit: .seconds(600), lockLimit: .seconds(600), respite: respite, rules: rules,
            looksEvery: nil)
    }

    var members: Members {
        get throws { try ownership.members }
    }

    var ownership: any Ownership {
        get throws {
            guard let ownership = journal.ownership else {
                throw PostgresServer.Failure(description: "no owners")
            }
            return ownership
        }
    }

    // MARK: Calls

    func claim(_ session: String, deposing deposed: ClusterNode? = nil) async throws -> Claim {
        let ownership = try ownership
        return try await withCheckedContinuation { continuation in
            ownership.claim(session, deposing: deposed?.node) { continuation.resume(returning: $0) }
        }.get()
    }

    /// Claims a session that has to be free.
    func own(_ session: String, deposing deposed: ClusterNode? = nil) async throws -> SavedSession {
        let claim = try await claim(session, deposing: deposed)
        guard case .owned(let saved) = claim else {
            throw PostgresServer.Failure(description: "\(session): \(claim)")
        }
        return saved
    }

    /// Claims a session that has to be free.
    func claimForDeletion(_ session: String) async throws -> SavedSession {
        let ownership = try ownership
        let claim = try await withCheckedContinuation { continuation in
            ownership.claimForDeletion(session) { continuation.resume(returning: $0) }
        }.get()
        guard case .owned(let saved) = claim else {
            throw PostgresServer.Failure(description: "\(session): \(claim)")
        }
        return saved
    }

    func release(_ sessions: OwnedSession...) async throws {
        let ownership = try ownership
        try await withCheckedContinuation { continuation in
            ownership.release(sessions) { continuation.resume(returning: $0) }
        }.get()
    }

    func confirm(_ expected: Storage.Confirmation...) async throws -> [String: Change] {
        let ownership = try ownership
        return try await withCheckedContinuation { continuation in
            ownership.confirm(expected) { continuation.resume(returning: $0) }
        }.get()
    }

    func changes(of followed: Storage.Confirmation...) async throws -> [String: Change] {
        let ownership = try ownership
        return try await withCheckedContinuation { continuation in
            ownership.changes(of: followed) { continuation.resume(returning: $0) }
        }.get()
    }

    /// The records of a generation that has ended.
    func endedRecords(
        of session: SessionKey, after number: UInt64, limitBytes: Int = 1 << 20
    ) async throws -> [HistoryEntry] {
        let ended = try ownership.endedSessions
        return try await withCheckedContinuation { continuation in
            ended.records(
                of: session, after: HistoryPosition(number), through: .max, limitBytes: limitBytes
            ) { continuation.resume(returning: $0) }
        }.get()
    }

    func endedSnapshot(of session: SessionKey, at version: UInt64) async throws -> Snapshot? {
        let ended = try ownership.endedSessions
        return try await withCheckedContinuation { continuation in
            ended.snapshot(of: session, at: version) { continuation.resume(returning: $0) }
        }.get()
    }

    func stateVersion(
        of session: SessionKey, at version: UInt64, isEnded: Bool = false
    ) async throws -> Int? {
        guard let archive = journal.archive else {
            throw PostgresServer.Failure(description: "no archive")
        }
        let history: any HistoryArchive = isEnded ? try ownership.endedSessions : archive
        return try await withCheckedContinuation { continuation in
            history.stateVersion(of: session, at: version) { continuation.resume(returning: $0) }
        }.get()
    }

    func commit(_ records: HistoryEntry..., epoch: Int64) async -> Verdict {
        await journal.verdict(on: .of(records, epoch: epoch))
    }

    /// Creates a session with some mutations.
    func create(_ session: String, _ count: UInt64 = 0) async throws {
        let records = HistoryEntry.life(session, count)
        let verdict = await journal.verdict(on: .of(records, epoch: 0))
        guard verdict == .committed else {
            throw PostgresServer.Failure(description: "\(session): \(verdict)")
        }
    }

    func close() async { await journal.close() }
}

extension SessionTraits {
    static let alerts = SessionTraits(reactor: "alerts")
}

extension Batch {
    static func of(_ records: [HistoryEntry], epoch: Int64, lineage: UInt64 = 0) -> Batch {
        var batch = Batch(records: records, lineage: lineage)
        for index in batch.runs.indices { batch.runs[index].epoch = epoch }
        return batch
    }
}

/// The changes of which a watcher was notified.
final class Changes: Sendable {
    private let all = Mutex<[OwnershipChange]>([])

    init(of node: ClusterNode) throws {
        try node.ownership.watch { [self] change in all.withLock { $0.append(change) } }
    }

    /// Waits until there are `count`.
    func first(_ count: Int) async -> [OwnershipChange] {
        while true {
            let present = all.withLock { $0 }
            if present.count >= count { return present }
            await Task.yield()
        }
    }

    var count: Int { all.withLock { $0.count } }

    var last: OwnershipChange? { all.withLock { $0.last } }
}
