import Dispatch
import EngineSuite
import Storage
import Synchronization
import Testing

/// The simulations are worth as much as the journal that they run on.
@Suite("The scripted journal keeps what every journal promises", .timeLimit(.minutes(60)))
struct ScriptedEngineTests {
    /// Ends each batch by itself, later and in order.
    private final class SelfEnding: Journal {
        let scripted: ScriptedJournal
        private let isClosed = Mutex(false)
        private let queue = DispatchQueue(label: "scripted.engine")

        init(_ scripted: ScriptedJournal) { self.scripted = scripted }

        let name = "scripted"
        var archive: (any Archive)? { scripted.archive }
        var failure: JournalFailure? { nil }

        func commit(_ batch: Batch, ended: @escaping @Sendable (Verdict) -> Void) -> Commit {
            guard !isClosed.withLock({ $0 }) else {
                queue.async { ended(.failed(.unavailable)) }
                return .pending
            }
            let result = scripted.commit(batch, ended: ended)
            if case .pending = result { queue.async { [scripted] in scripted.endNext() } }
            return result
        }

        func close() async { isClosed.withLock { $0 = true } }
    }

    private final class OpenScripted: OpenEngine {
        private var present: SelfEnding

        init(_ rules: ScriptedEnds.Rules) {
            present = SelfEnding(ScriptedJournal(isImmediate: false, answers: true, rules: rules))
        }
        var journal: any Journal { present }

        func reopen() async {
            await present.close()
            present.scripted.crash(writing: 0)
            present = SelfEnding(present.scripted)
        }
    }

    private static func engine(_ rules: ScriptedEnds.Rules) -> Engine {
        Engine("scripted", hasOtherWriters: true) { OpenScripted(rules) }
    }

    @Test(arguments: EngineCase.all)
    func `a scripted journal`(keeps promise: EngineCase) async throws {
        try await promise.check(Self.engine(.all))
    }

    @Test(arguments: ScriptedEnds.Rules.each)
    func `the suite finds a journal that breaks a rule`(_ rule: ScriptedEnds.Rules) async {
        var faults: [String] = []
        for promise in EngineCase.all {
            do {
                try await promise.check(Self.engine(.all.subtracting(rule)))
            } catch {
                faults.append("\(promise): \(error)")
            }
        }
        #expect(!faults.isEmpty)
    }
}
