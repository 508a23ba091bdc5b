import Cyclers
import Reactors

/// A small model of a server's host: one action after the other, and a journal that can fail.
///
/// Belongs to a loop. It is not isolated itself: the caller is on the loop.
final class CyclerSession<C: ActionCycler> where C.State: Equatable {
    enum Answer: Equatable {
        /// The synchronous part reached this version.
        case applied(version: UInt64)
        /// The synchronous part threw: the state is unchanged.
        case refused
    }

    let cycler: C
    /// The notifications so far, in order.
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

    /// Runs an action; its part before the first suspension is done on return.
    func receive(_ action: C.Action, on loop: isolated any Actor) -> Answer {
        lastAction += 1
        let number = lastAction
        // Not `withValue` around the call in the task: its asynchronous form hops, and a hop ends
        // the synchronous part (seen on 6.3.1). A task inherits the values of its creator.
        let task = PresentAction.$number.withValue(number) {
            Task.immediate {
                // Capturing the parameter isolates this closure to the loop.
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
        rollBack()
        return .refused
    }

    private func ended(_ number: Int, _ outcome: Result<Void, any Error>) {
        if running.removeValue(forKey: number) == nil {
            outcomes[number] = outcome
        } else if case .failure(let error) = outcome {
            record("failed \(error)", number)
        }
    }

    /// The journal has saved the commits so far.
    func save() { saved = (cycler.state.value, cycler.version) }

    /// The journal could not save the commits since `save()`.
    func rollBack() { cycler.restore(saved.state, version: saved.version) }

    func end() {
        cycler.end()
        for task in running.values { task.cancel() }
    }

    private func record(_ line: String, _ number: Int? = nil) {
        log.append(line + ((number ?? PresentAction.number).map { " of \($0)" } ?? ""))
    }
}

extension CyclerSession: CyclerObserver {
    typealias State = C.State
    typealias Activity = C.Activity

    func committed(_ state: C.State, version: UInt64, by call: CyclerCall?) {
        record("committed v\(version)")
    }

    func emitted(_ activity: C.Activity, by call: CyclerCall) { record("emitted \(activity)") }
    func willDispatch(_ call: CyclerCall) { record("willDispatch \(call.name)") }

    func didDispatch(_ call: CyclerCall, error: (any Error)?) {
        record("didDispatch \(call.name)" + (error.map { " \($0)" } ?? ""))
    }

    func didMutate(_ call: CyclerCall, outcome: CommitOutcome) {
        if case .failed(let error) = outcome { record("failing commit \(error)") }
    }

    func didChange<Root, Value>(
        _ value: Value, for path: WritableKeyPath<Root, Value>, root: Root
    ) {
        record("changed \(value)")
    }
}

/// The action to which a notification belongs. Commits are synchronous in the task that runs the
/// action, so the task knows it.
private enum PresentAction {
    @TaskLocal static var number: Int?
}
