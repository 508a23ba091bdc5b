internal import Cyclers
internal import Reactors
import Synchronization

// A part of another Cycler, each in a session of its own.
//
// Design: a session's id says whose part it is: `<parent>--<part>`. So the tie needs no record, is
// there again after a restart, and leads to whatever session has that id then.
extension SessionID {
    /// The session that this one is a part of; nil if its id names none.
    var parent: SessionID? {
        guard let mark = text.range(ofLast: "--") else { return nil }
        return SessionID(String(text[..<mark]))
    }
}

extension String {
    /// Where the last occurrence of two characters begins.
    fileprivate func range(ofLast pair: String) -> String.Index? {
        var at = endIndex
        while at > startIndex {
            at = index(before: at)
            if self[at...].hasPrefix(pair) { return at }
        }
        return nil
    }
}

/// The parent's commit failed: nothing of the action happened.
struct ParentCommitFailed: Error {}

/// A task that waits for one answer. Let go of without one, wherever on its way (a loop that has
/// stopped, a journal that is closed), it resumes the task with false.
private final class Waiter: Sendable {
    private let continuation: Mutex<CheckedContinuation<Bool, Never>?>

    init(_ continuation: CheckedContinuation<Bool, Never>) {
        self.continuation = Mutex(continuation)
    }

    /// The code that dequeues it resumes it.
    func claim() -> CheckedContinuation<Bool, Never>? {
        continuation.withLock { $0.take() }
    }

    deinit { claim()?.resume(returning: false) }
}

extension CyclerMachine {
    /// The way to this Cycler in the session that `session` is a part of, on whatever loop it is.
    static func mailbox(from session: Session) -> ParentDoor<C.Action>? where C: SendableMetatype {
        guard let id = session.id.parent else { return nil }
        let reach = session.table.services.reach
        return ParentDoor { action in
            // The other loop may answer before this one has begun to wait: whether the action has
            // waited, and so how a failure is reported, must not depend on that.
            await Task.yield()
            let fault = Mutex<(any Error)?>(nil)
            let isApplied = await withCheckedContinuation { continuation in
                let waiter = Waiter(continuation)
                _ = reach(id) { table in
                    table.fetch(id) { found in
                        guard case .session(let session) = found, session.isRunning,
                            let machine = session.machine as? CyclerMachine<C>
                        else {
                            fault.withLock { $0 = CyclerParentMissing() }
                            return
                        }
                        var receipt = Receipt()
                        let error = machine.begin(action, &receipt)
                        session.endWork()
                        if let error { return fault.withLock { $0 = error } }
                        waiter.claim().map { session.answer(.applied($0)) }
                    }
                }
            }
            if let error = fault.withLock({ $0 }) { throw error }
            guard isApplied else { throw ParentCommitFailed() }
        }
    }
}
