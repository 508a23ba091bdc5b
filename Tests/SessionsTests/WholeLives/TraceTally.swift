import Sessions
import Synchronization

/// The parts of the traces of a life: each ends once, whatever happens to its session.
final class TraceTally: Sendable {
    struct Part {
        let name: String
        /// The number that marks the traced post.
        let mark: Int
        /// Whether the process in which it began has lived until the end.
        var isOfLastProcess = true
        var ends = 0
        var hasFailed = false
    }

    private let all = Mutex<[Part]>([])

    var parts: [Part] { all.withLock { $0 } }

    func trace(_ mark: Int) -> any RequestTrace { Trace(tally: self, mark: mark) }

    /// The process has ended, and with it its parts.
    func crash() {
        all.withLock { parts in
            for index in parts.indices { parts[index].isOfLastProcess = false }
        }
    }

    private func begin(_ name: String, _ mark: Int) -> any TracedWork {
        all.withLock { parts in
            parts.append(Part(name: name, mark: mark))
            return Work(tally: self, index: parts.count - 1)
        }
    }

    private func end(_ index: Int, _ failure: (any Error)?) {
        all.withLock { parts in
            parts[index].ends += 1
            parts[index].hasFailed = failure != nil
        }
    }

    private final class Trace: RequestTrace {
        let tally: TraceTally
        let mark: Int

        init(tally: TraceTally, mark: Int) {
            self.tally = tally
            self.mark = mark
        }

        func beginCommit() -> any TracedWork { tally.begin("commit", mark) }

        func begin(_ effect: TracedEffect) -> any TracedWork {
            tally.begin("an effect of \(effect.session)'s action \(effect.action)", mark)
        }
    }

    private struct Work: TracedWork {
        let tally: TraceTally
        let index: Int

        func start(_ start: () -> Task<Void, Never>) -> Task<Void, Never> { start() }

        func end(_ failure: (any Error)?) { tally.end(index, failure) }
    }
}
