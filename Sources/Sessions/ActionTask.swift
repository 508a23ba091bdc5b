internal import Cyclers
internal import Feeds
internal import Reactors
internal import Storage
import Synchronization

/// The task of one action of a Cycler, from its call to its end.
///
/// Design: a Cycler's `receive` is an asynchronous function that runs in the isolation of its
/// caller, and the part before its first wait must be complete when the call returns. So each
/// action has an actor of its own, with an executor that runs the actor's jobs on the session's
/// loop: the first job at once, inside the call; later jobs through the loop's inbox, like all work
/// from other threads. Several actions of one Cycler may wait at the same time; they never run at
/// the same time, because there is one loop.
actor ActionTask {
    private nonisolated let executor: LoopExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    init(_ executor: LoopExecutor) {
        self.executor = executor
    }

    /// Begins the action. Returns when the action waits for the first time, or has ended.
    ///
    /// - Parameter ended: called once, on the loop, possibly before this function returns.
    nonisolated func begin<C: ActionCycler>(
        _ action: C.Action, by subject: String?, on cycler: C,
        ended: @escaping ((any Error)?) -> Void
    ) -> Task<Void, Never> {
        let cycler = LoopBound(cycler)
        let ended = LoopBound(ended)
        let task = assumeIsolated { run in run.launch(action, subject, cycler, ended) }
        executor.runFirst()
        return task
    }

    private func launch<C: ActionCycler>(
        _ action: C.Action, _ subject: String?, _ cycler: LoopBound<C>,
        _ ended: LoopBound<((any Error)?) -> Void>
    ) -> Task<Void, Never> {
        Task {
            do {
                try await cycler.open(in: self).receive(action, subject: subject)
                ended.open(in: self)(nil)
            } catch {
                ended.open(in: self)(error)
            }
        }
    }
}

extension LoopBound {
    /// The value, for code that is isolated to an ``ActionTask``, whose jobs run on the loop.
    func open(in run: isolated ActionTask) -> Value { open() }
}

/// Runs the jobs of one action on its session's loop.
final class LoopExecutor: SerialExecutor {
    private enum First {
        case pending
        case enqueued(UnownedJob)
        case started
    }

    private let id: SessionID
    private let incarnation: UInt64
    private let hop: LoopServices.Hop
    private let isolation: LoopIsolation
    private let tag: ActionTag
    // Why a lock: a job may be enqueued from any thread, also while the loop still runs the first
    // job.
    private let first = Mutex(First.pending)

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
            guard case .pending = first else { return false }
            first = .enqueued(job)
            return true
        }
        guard !isFirst, !hop({ [self] table in carryOn(job, table) }) else { return }
        isolation.runAfterStop { [self] in run(job) }
    }

    /// Runs the first job, which was enqueued when the task was made.
    func runFirst() {
        let job = first.withLock { first in
            defer { first = .started }
            guard case .enqueued(let job) = first else {
                preconditionFailure("a task that is isolated to an actor begins on its executor")
            }
            return job
        }
        run(job)
    }

    private func run(_ job: UnownedJob) {
        unsafe job.runSynchronously(on: asUnownedSerialExecutor())
    }

    /// Runs the job even if the session is gone: a task whose job is never run never ends.
    private func carryOn(_ job: UnownedJob, _ table: SessionTable) {
        let act: @Sendable () -> Void = { [self] in run(job) }
        guard let session = table.session(id, incarnation) else { return act() }
        session.carryOnWhenCommitted(tag, act)
    }

    /// Called by the runtime where it cannot determine by itself that this is the loop.
    func checkIsolated() { isolation.check() }
}

extension Session {
    /// An action of a Cycler continues when its beginning and its decisions are committed: its side
    /// effects depend on them, and after a restart the journal must have them.
    func carryOnWhenCommitted(_ tag: ActionTag, _ act: @escaping @Sendable () -> Void) {
        guard let machine = machine as? any ActionRunner else { return act() }
        guard let step = machine.step(of: tag), uncommitted.contains(step) else {
            return carryOn(tag, act)
        }
        step.effects.append(.carryOn { session in session.carryOn(tag, act) })
    }

    private func carryOn(_ tag: ActionTag, _ act: () -> Void) {
        guard let machine = machine as? any ActionRunner else { return act() }
        beginTurn()
        beginWork(.effect, tag.number)
        machine.carryOn(tag, act)
        endWork()
        if attempt.hasSettled { answerSettled() }
    }
}

/// A machine whose actions are tasks.
protocol ActionRunner: AnyObject {
    /// The step of the action's last decision.
    func step(of tag: ActionTag) -> Step?

    /// Runs `act`, and attributes its decisions to this action.
    func carryOn(_ tag: ActionTag, _ act: () -> Void)
}
