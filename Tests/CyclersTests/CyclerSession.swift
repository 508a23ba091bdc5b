import Cyclers
import Reactors

/// A host as a server has it, in small: one action after the other, a journal that can fail.
///
/// Belongs to a loop. It is not isolated itself: whoever calls it is on the loop.
final class CyclerSession<C: ActionCycler> where C.State: Equatable {
    enum Answer: Equatable {
        /// The synchronous part reached this version.
        case applied(version: UInt64)
        /// The synchronous part threw: the state is as it was.
        case refused
    }

    let cycler: C
    /// What was told, in order.
    private(set) var log: [String] = []
    private(set) var running: [Int: Task<Void, Never>] = [:]
    private var outcomes: [Int: Result<Void, any Error>] = [:]
    private var lastAction = 0
    private var saved: (state: C.State, version: UInt64)

    init(_ cycler: C) {
        self.cycler = cycler
        saved = (cycler.state.value, cycler.version)
        cycler.observe(by: self)
    }

    /// Carries out an action; its part before the first suspension is done on return.
    func receive(_ action: C.Action, on loop: isolated any Actor) -> Answer {
        lastAction += 1
        let number = lastAction
        // Not `withValue` around the call in the task: the form that waits hops, and a hop ends the
        // synchronous part (seen on 6.3.1). A task takes over the values of where it is made.
        let task = PresentAction.$number.withValue(number) {
            Task.immediate {
                // Captured, the parameter isolates this closure to the loop.
                _ = loop
                do {
                    try await self.cycler.receive(action)
                    self.ended(number, .success(()))
                } catch {
                    self.ended(number, .failure(error))
                }
            }
        }
        guard let outcome = outcomes.removeValue(forKey: number) else {
            running[number] = task
            return .applied(version: cycler.version)
        }
        guard case .failure = outcome else { return .applied(version: cycler.version) }
        unsay()
        return .refused
    }

    private func ended(_ number: Int, _ outcome: Result<Void, any Error>) {
        if running.removeValue(forKey: number) == nil {
            outcomes[number] = outcome
        } else if case .failure(let error) = outcome {
            note("failed \(error)", number)
        }
    }

    /// The journal has what was committed.
    func save() { saved = (cycler.state.value, cycler.version) }

    /// The journal could not keep what was committed since.
    func unsay() { cycler.restore(saved.state, version: saved.version) }

    func end() {
        cycler.end()
        for task in running.values { task.cancel() }
    }

    private func note(_ line: String, _ number: Int? = nil) {
        log.append(line + ((number ?? PresentAction.number).map { " of \($0)" } ?? ""))
    }
}

extension CyclerSession: CyclerObserver {
    typealias State = C.State
    typealias Activity = C.Activity

    func committed(_ state: C.State, version: UInt64, by call: CyclerCall?) {
        note("committed v\(version)")
    }

    func emitted(_ activity: C.Activity, by call: CyclerCall) { note("emitted \(activity)") }
    func willDispatch(_ call: CyclerCall) { note("willDispatch \(call.name)") }

    func didDispatch(_ call: CyclerCall, error: (any Error)?) {
        note("didDispatch \(call.name)" + (error.map { " \($0)" } ?? ""))
    }

    func didMutate(_ call: CyclerCall, outcome: CommitOutcome) {
        if case .failed(let error) = outcome { note("failing commit \(error)") }
    }

    func didChange<Root, Value>(
        _ value: Value, for path: WritableKeyPath<Root, Value>, root: Root
    ) {
        note("changed \(value)")
    }
}

/// Which action what is told now belongs to. Commits are synchronous in the task that carries out
/// the action, so the task knows.
private enum PresentAction {
    @TaskLocal static var number: Int?
}
