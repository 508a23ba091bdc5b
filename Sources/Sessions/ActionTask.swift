internal import Cyclers
internal import Reactors
internal import Storage
import Synchronization

/// One action of a Cycler at work, from its call to its end.
///
/// Design: a Cycler's `receive` is an asynchronous function that runs in the isolation of its
/// caller, and what it does before it first waits has to be done when the call returns. So each
/// action has an actor of its own, on a seat that runs its jobs on the session's loop: the first
/// one at once, inside the call, the others when they have come in through the loop's inbox, as
/// everything does that comes from elsewhere. Several actions of one Cycler may wait at once; they
/// are never carried out at once, since there is one loop.
actor ActionTask {
    private nonisolated let seat: LoopExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe seat.asUnownedSerialExecutor()
    }

    init(_ seat: LoopExecutor) {
        self.seat = seat
    }

    /// Begins, and returns when the action waits for the first time, or is over.
    ///
    /// - Parameter ended: called once, on the loop, perhaps before this returns.
    nonisolated func begin<C: ActionCycler>(
        _ action: C.Action, on cycler: C, ended: @escaping ((any Error)?) -> Void
    ) -> Task<Void, Never> {
        let cycler = LoopBound(cycler)
        let ended = LoopBound(ended)
        let task = assumeIsolated { run in run.launch(action, cycler, ended) }
        seat.runFirst()
        return task
    }

    private func launch<C: ActionCycler>(
        _ action: C.Action, _ cycler: LoopBound<C>, _ ended: LoopBound<((any Error)?) -> Void>
    ) -> Task<Void, Never> {
        Task {
            do {
                try await cycler.open(in: self).receive(action)
                ended.open(in: self)(nil)
            } catch {
                ended.open(in: self)(error)
            }
        }
    }
}

extension LoopBound {
    /// The run's jobs are carried out on the loop: that is the proof.
    func open(in run: isolated ActionTask) -> Value { open() }
}

/// Carries out the jobs of one action on its session's loop.
final class LoopExecutor: SerialExecutor {
    private enum First {
        case awaited
        case here(UnownedJob)
        case taken
    }

    private let id: SessionID
    private let incarnation: UInt64
    private let hop: LoopServices.Hop
    private let isolation: LoopIsolation
    private let tag: ActionTag
    // Why a lock: what wakes the action up comes from any thread, and may come while the loop is
    // still in the first job.
    private let first = Mutex(First.awaited)

    init(_ tag: ActionTag, of session: Session) {
        id = session.id
        incarnation = session.incarnation
        hop = session.table.services.hop
        isolation = session.table.services.isolation
        self.tag = tag
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isFirst = first.withLock { first in
            guard case .awaited = first else { return false }
            first = .here(job)
            return true
        }
        guard !isFirst, !hop({ [self] table in carryOn(job, table) }) else { return }
        isolation.runAfterStop { [self] in run(job) }
    }

    /// Carries out the first job, which has come in while the task was made.
    func runFirst() {
        let job = first.withLock { first in
            defer { first = .taken }
            guard case .here(let job) = first else {
                preconditionFailure("a task that is isolated to an actor begins on its executor")
            }
            return job
        }
        run(job)
    }

    private func run(_ job: UnownedJob) {
        unsafe job.runSynchronously(on: asUnownedSerialExecutor())
    }

    /// Whether the session is still there or not: a task that is never carried on never ends.
    private func carryOn(_ job: UnownedJob, _ table: SessionTable) {
        let act: @Sendable () -> Void = { [self] in run(job) }
        guard let session = table.session(id, incarnation) else { return act() }
        session.carryOnWhenCommitted(tag, act)
    }

    /// Called by the runtime where it cannot determine by itself that this is the loop.
    func checkIsolated() { isolation.check() }
}

extension Session {
    /// An action of a Cycler continues as soon as its beginning and what it has decided are in the
    /// journal: what it does in the world outside follows from that, and a restart knows of it.
    func carryOnWhenCommitted(_ tag: ActionTag, _ act: @escaping @Sendable () -> Void) {
        guard let machine = machine as? any ActionRunner else { return act() }
        guard let step = machine.step(of: tag), uncommitted.contains(step) else {
            return carryOn(tag, act)
        }
        step.effects.append(.carryOn { session in session.carryOn(tag, act) })
    }

    private func carryOn(_ tag: ActionTag, _ act: () -> Void) {
        guard let machine = machine as? any ActionRunner else { return act() }
        beginWork(.effect, tag.number)
        machine.carryOn(tag, act)
        endWork()
        if attempt.hasSettled { answerSettled() }
    }
}

/// A machine whose actions continue by themselves.
protocol ActionRunner: AnyObject {
    /// The last step that the action has decided anything in.
    func step(of tag: ActionTag) -> Step?

    /// Runs `act`; what it decides belongs to this action.
    func carryOn(_ tag: ActionTag, _ act: () -> Void)
}
