package import Storage

/// A kind of journal, for the suite that holds for each of them.
///
/// A new one is tested by an `Engine` of its own and one test: `@Test(arguments: EngineCase.all)`.
package struct Engine: Sendable {
    package let name: String
    /// Whether several processes may write to it, and so the order of lineages is not
    /// that of batches.
    package let hasOtherWriters: Bool
    package let keepsRecords: Bool
    /// Opens an empty journal.
    package let open: @Sendable () async throws -> any OpenEngine

    package init(
        _ name: String, hasOtherWriters: Bool = false, keepsRecords: Bool = true,
        open: @escaping @Sendable () async throws -> any OpenEngine
    ) {
        self.name = name
        self.hasOtherWriters = hasOtherWriters
        self.keepsRecords = keepsRecords
        self.open = open
    }
}

/// An engine whose journal is open.
package protocol OpenEngine: AnyObject {
    var journal: any Journal { get }

    /// Closes the journal and opens it again, as another process does.
    func reopen() async throws
}

/// A promise of every journal, and how it is tried.
package struct EngineCase: Sendable, CustomStringConvertible {
    /// The promise.
    package let description: String
    /// Whether it is about several processes that write.
    package let isAboutOtherWriters: Bool
    /// Whether it is about what can be read again.
    package let isAboutRecords: Bool
    private let run: @Sendable (EngineTrial) async throws -> Void

    init(
        _ promise: String, isAboutOtherWriters: Bool = false, isAboutRecords: Bool = true,
        _ run: @escaping @Sendable (EngineTrial) async throws -> Void
    ) {
        description = promise
        self.isAboutOtherWriters = isAboutOtherWriters
        self.isAboutRecords = isAboutRecords
        self.run = run
    }

    /// Tries an engine.
    ///
    /// - Throws: ``EngineFault``: the engine breaks the promise; what the engine throws.
    package func check(_ engine: Engine) async throws {
        guard engine.hasOtherWriters || !isAboutOtherWriters else { return }
        guard engine.keepsRecords || !isAboutRecords else { return }
        let trial = EngineTrial(try await engine.open())
        try await run(trial)
        await trial.engine.journal.close()
    }

    package static let all: [EngineCase] =
        EngineCase.commits + EngineCase.refusals + EngineCase.reads + EngineCase.histories
        + EngineCase.tags
}

/// A promise that was broken.
package struct EngineFault: Error, CustomStringConvertible {
    package let description: String
}

/// Calls of one open engine, and comparisons.
struct EngineTrial {
    let engine: any OpenEngine

    init(_ engine: any OpenEngine) { self.engine = engine }

    // MARK: Expectations

    func equal<Value: Equatable>(
        _ found: Value, _ expected: Value, _ what: String, line: Int = #line
    ) throws(EngineFault) {
        guard found != expected else { return }
        throw EngineFault(description: "line \(line): \(what) is \(found), not \(expected)")
    }

    func required<Value>(
        _ value: Value?, _ what: String, line: Int = #line
    ) throws(EngineFault) -> Value {
        guard let value else { throw EngineFault(description: "line \(line): there is no \(what)") }
        return value
    }

    // MARK: Commits

    /// Submits a batch and waits for its verdict.
    func commit(_ batch: Batch) async -> Verdict {
        await commit(all: [batch])[0]
    }

    /// Submits batches, one after the other without a wait.
    ///
    /// - Returns: their verdicts, in the order in which they ended.
    func commit(all batches: [Batch]) async -> [Verdict] {
        let journal = engine.journal
        let (verdicts, source) = AsyncStream<(Int, Verdict)>.makeStream()
        for (index, batch) in batches.enumerated() {
            let result = journal.commit(batch) { source.yield((index, $0)) }
            if case .done = result { source.yield((index, .committed)) }
        }
        var ended: [(Int, Verdict)] = []
        for await verdict in verdicts {
            ended.append(verdict)
            if ended.count == batches.count { break }
        }
        // A batch that overtakes another one has no verdict at its place.
        return ended.enumerated().map { place, end in
            end.0 == place
                ? end.1
                : .failed(
                    JournalFailure(reason: .unavailable, detail: "\(end.0) ended as \(place)"))
        }
    }

    func succeed(_ batch: Batch, line: Int = #line) async throws {
        try equal(await commit(batch), .committed, "the verdict", line: line)
    }

    func succeed(_ records: [HistoryEntry], line: Int = #line) async throws {
        try await succeed(Batch(records: records), line: line)
    }

    func refuse(
        _ batch: Batch, _ key: SessionKey, _ refusal: CommitRefusal, line: Int = #line
    ) async throws {
        try equal(
            await commit(batch), .partial([key: refusal]), "the verdict on \(key)", line: line)
    }

    // MARK: Reads

    func head(_ session: String) async throws -> SavedHead? {
        try await ask { $0.head(of: session, $1) }
    }

    func load(_ session: String) async throws -> SavedSession? {
        try await ask { $0.load(session, $1) }
    }

    func records(
        _ session: String, generation: String = "g1",
        after start: HistoryPosition = HistoryPosition(0), through last: UInt64 = .max,
        limitBytes: Int = 1 << 30
    ) async throws -> [HistoryEntry] {
        try await ask {
            $0.records(
                of: .of(session, generation), after: start, through: last, limitBytes: limitBytes,
                $1)
        }
    }

    func snapshot(_ session: String, at version: UInt64) async throws -> Snapshot? {
        try await ask { $0.snapshot(of: .of(session), at: version, $1) }
    }

    func answer(
        _ session: String, _ key: String, generation: String = "g1"
    ) async throws -> StoredAnswer? {
        try await ask { $0.storedAnswer(of: .of(session, generation), key: key, $1) }
    }

    func page(_ range: SessionRange = SessionRange(limit: 100)) async throws -> [SavedHead] {
        try await ask { $0.page(range, $1) }
    }

    func ask<Value: Sendable>(
        _ question: (any Archive, @escaping ArchiveAnswer<Value>) -> Void
    ) async throws -> Value {
        guard let archive = engine.journal.archive else {
            throw EngineFault(description: "there is no archive")
        }
        return try await withCheckedContinuation { continuation in
            question(archive) { continuation.resume(returning: $0) }
        }.get()
    }
}
