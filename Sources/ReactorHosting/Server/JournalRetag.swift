internal import Feeds
internal import Sessions
internal import Storage

/// Recomputes the tags of every session with the reactors of this program, and writes those that
/// differ from the journal's. No effect runs and no source is opened.
struct JournalRetag {
    private let journal: any Journal
    private let reactors: [Registration]
    private(set) var sessions = 0
    private(set) var changed = 0
    /// A message for each of the first sessions that cannot be rebuilt.
    private(set) var faults: [String] = []
    private(set) var faultCount = 0

    /// The sessions of a commit.
    private static let page = 100

    init(_ journal: any Journal, _ registrations: [Registration]) {
        self.journal = journal
        reactors = registrations.filter(\.hasTags)
    }

    mutating func run() async throws {
        for reactor in reactors {
            var after: String?
            repeat {
                let range = SessionRange(after: after, reactor: reactor.name, limit: Self.page)
                let heads = try await ask { $0.page(range, $1) }
                var batch = Batch()
                for head in heads { try await retag(head, reactor, &batch) }
                try await commit(batch)
                after = heads.count == Self.page ? heads.last?.key.session : nil
            } while after != nil
        }
    }

    private mutating func retag(
        _ head: SavedHead, _ reactor: Registration, _ batch: inout Batch
    ) async throws {
        guard let saved = try await ask({ $0.load(head.key.session, $1) }), !saved.isDeleted else {
            return
        }
        sessions += 1
        do throws(RecoveryFault) {
            guard let tags = try reactor.tags(of: saved), tags != saved.tags?.all else { return }
            changed += 1
            batch.expected.append(ExpectedEnd(saved.key, at: saved.end.position, lineage: 0))
            batch.tags.append(
                TagChange(
                    of: saved.key, reactor.name,
                    SessionTags(tags, changed: FileJournal.systemTime())))
        } catch {
            faultCount += 1
            guard faults.count < JournalRehearsal.namedLimit else { return }
            faults.append(
                "session \(head.key.session) of \(reactor.name) keeps its tags: \(error.place): "
                    + "\(error.reason)")
        }
    }

    private func commit(_ batch: Batch) async throws {
        guard !batch.isEmpty else { return }
        let verdict: Verdict = await withCheckedContinuation { continuation in
            let commit = journal.commit(batch) { continuation.resume(returning: $0) }
            if case .done = commit { continuation.resume(returning: .committed) }
        }
        switch verdict {
        case .committed: break
        case .failed(let failure): throw failure
        case .partial:
            throw JournalFailure(
                reason: .unavailable, detail: "another program changed sessions meanwhile")
        }
    }

    private func ask<Value: Sendable>(
        _ question: (any Archive, @escaping ArchiveAnswer<Value>) -> Void
    ) async throws -> Value {
        guard let archive = journal.archive else {
            throw JournalFailure(reason: .unavailable, detail: "it keeps no records")
        }
        return try await withCheckedContinuation { continuation in
            question(archive) { continuation.resume(returning: $0) }
        }.get()
    }

    var report: String {
        var lines = faults
        if faultCount > faults.count { lines.append("and \(faultCount - faults.count) more") }
        lines.append("\(sessions) sessions of reactors with tags: \(changed) have other tags now")
        if faultCount > 0 { lines.append("\(faultCount) can't be rebuilt") }
        return lines.joined(separator: "\n") + "\n"
    }
}
