package import Cluster
internal import Cyclers
internal import Reactors
import Synchronization

// A Cycler that is a part of another one. Each has a session of its own.
//
// Design: a part's session id names the parent: `<parent>--<part>`. So the relation needs no record,
// exists again after a restart, and refers to the session that has the parent's id at that time.
extension SessionID {
    /// The id of the session that this one is a part of; nil if the id names none.
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

extension SessionTable {
    /// Loads a session that a request needs, as ``wake(_:deposing:then:)`` does. A part of a session that another node
    /// has awake is left to that node, which claims it when it is asked: the part's actions reach their parent
    /// on one node alone.
    ///
    /// Only for requests, which are sent on: what is woken without one would stay asleep.
    package func wakeForRequest(
        _ id: SessionID, deposing deposed: Node? = nil, then act: @escaping (SessionLookup) -> Void
    ) {
        guard let claims, !claims.members.isAlone, absent.hostsParents, let parent = id.parent
        else {
            return wake(id, deposing: deposed, then: act)
        }
        claims.look(for: parent, deposing: deposed, in: self) { [unowned self] sight in
            guard !commits.isStopped else { return }
            // Another request may have loaded or created it meanwhile: it is not claimed a second time.
            if let found = present(id) { return act(found) }
            if case .success(.elsewhere(let owner, _)) = sight {
                let member = claims.member(owner)
                // A node that leaves claims nothing: it would refer the part to its home.
                if !member.isLeaving { return act(.elsewhere(member, nil)) }
            }
            wake(id, deposing: deposed, then: act)
        }
    }
}

/// The parent's commit failed: the action has changed nothing.
struct ParentCommitFailed: Error {}

/// Another node decides on the parent's session: the action has changed nothing.
struct ParentElsewhere: Error {}

/// A task that waits for one answer. If the waiter is released without an answer (a loop has
/// stopped, a journal is closed), it resumes the task with false.
private final class Waiter: Sendable {
    private let continuation: Mutex<CheckedContinuation<Bool, Never>?>

    init(_ continuation: CheckedContinuation<Bool, Never>) {
        self.continuation = Mutex(continuation)
    }

    /// Removes the continuation. The caller resumes it.
    func claim() -> CheckedContinuation<Bool, Never>? {
        continuation.withLock { $0.take() }
    }

    deinit { claim()?.resume(returning: false) }
}

extension CyclerMachine {
    /// Reaches this Cycler in the session that `session` is a part of, on any loop; nil if the id of
    /// `session` names no parent.
    static func mailbox(from session: Session) -> ParentMailbox<C.Action>?
    where C: SendableMetatype {
        guard let id = session.id.parent else { return nil }
        let reach = session.table.services.reach
        return ParentMailbox { action, subject in
            // The other loop may answer before this action waits. Whether the action has waited
            // decides how a failure is reported, and must not depend on the other loop's speed.
            await Task.yield()
            let fault = Mutex<(any Error)?>(nil)
            let isApplied = await withCheckedContinuation { continuation in
                let waiter = Waiter(continuation)
                _ = reach(id) { table in
                    table.fetch(id) { found in
                        guard case .session(let session) = found, session.isRunning,
                            let machine = session.machine as? CyclerMachine<C>
                        else {
                            var absence: any Error = CyclerParentMissing()
                            if case .elsewhere = found { absence = ParentElsewhere() }
                            return fault.withLock { [absence] in $0 = absence }
                        }
                        var receipt = Receipt()
                        let error = session.receive(by: subject) {
                            machine.begin(action, &receipt)
                        }
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
