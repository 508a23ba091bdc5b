package import Cluster
internal import Cyclers
package import Feeds
package import Storage
import Synchronization

/// Sends actions of parts to parents that this node does not have.
///
/// All methods are called on the loop of the parent's id.
package protocol PartLinks: AnyObject {
    /// Finds the node that has the action's parent, which may be this one, and lets it receive the action. The action
    /// is ended once.
    func send(_ action: PartAction)
}

/// The beginning of an action of a part in a session's machine.
enum PartStart {
    /// The machine is none of a parent. Nothing was changed.
    case notParent
    /// Nothing was changed.
    case refused(any Error)
    case begun
}

/// A machine that receives actions of parts at other nodes.
protocol ParentMachine: AnyObject {
    /// - Parameter action: JSON, as the other node's program encodes it.
    func beginPart(encoded action: [UInt8]) -> PartStart
}

/// The end of an action that a part has sent to its parent.
package enum PartOutcome {
    /// The parent has committed the first part of the action.
    case applied
    /// There is no parent: no session has its id, it has ended, or is one of another reactor.
    case missing
    /// The parent's error. Nothing was changed.
    case failed(any Error)
    /// Nothing was changed. Clients may see the reason: it has no address of a machine.
    case unavailable(String)
    /// Another node decides on the parent; nil: it is not known which. Nothing was changed.
    case moved(Member?)
    /// Applied once or not at all.
    case unknown

    /// - Parameter failure: Of the commit.
    package init(_ failure: JournalFailure?) {
        switch failure?.reason {
        case nil: self = .applied
        case .moved: self = .moved(nil)
        case .outcomeUnknown: self = .unknown
        case .full, .unavailable, .refused: self = .unavailable(failure?.publicDetail ?? "")
        }
    }

    fileprivate var result: Result<Void, any Error> {
        switch self {
        case .applied: .success(())
        case .missing: .failure(CyclerParentMissing())
        case .failed(let error): .failure(error)
        case .unavailable(let reason): .failure(CyclerParentUnavailable(reason))
        case .moved: .failure(CyclerParentUnavailable("another node decides on its session"))
        case .unknown: .failure(CyclerParentOutcomeUnknown())
        }
    }
}

/// An action of a part on its way to its parent. It is ended once.
///
/// Not Sendable: it is used on the loop of the parent's id.
package final class PartAction {
    package let parent: SessionID
    /// The client for which the part acts.
    package let subject: String?
    /// The names of the reactors that the parent may have.
    package let reactors: [String]
    private unowned let table: SessionTable
    private let waiter: PartWaiter
    private let begin: (any Machine) -> PartStart
    private let encodeAction: () throws -> [UInt8]

    init(
        to parent: SessionID, by subject: String?, _ reactors: [String], in table: SessionTable,
        _ waiter: PartWaiter, begin: @escaping (any Machine) -> PartStart,
        encode: @escaping () throws -> [UInt8]
    ) {
        self.parent = parent
        self.subject = subject
        self.reactors = reactors
        self.table = table
        self.waiter = waiter
        self.begin = begin
        encodeAction = encode
    }

    /// Whether the parent is in memory here.
    package var isHere: Bool { table.present(parent) != nil }

    func send() {
        guard let links = table.cluster?.parts else {
            return find { [self] in deliver(to: $0) { [self] in end(.moved($0)) } }
        }
        links.send(self)
    }

    /// Finds the parent, and claims it if no other node owns it. Calls `act` once, now or later on this loop.
    ///
    /// - Parameter deposed: An owner that is gone or silent; nil: none is deposed.
    package func find(
        deposing deposed: Node? = nil, then act: @escaping (SessionLookup) -> Void
    ) {
        if let found = table.present(parent) { return act(found) }
        table.wake(parent, deposing: deposed, then: act)
    }

    /// Lets a session of this loop receive the action, which ends then.
    ///
    /// - Parameter moved: Called later in place of the end, if another node decides on the parent.
    package func deliver(
        to found: SessionLookup, orMoved moved: @escaping (Member?) -> Void
    ) {
        table.receivePart(found, by: subject, begin) { [self] outcome in
            guard case .moved(let member) = outcome else { return end(outcome) }
            moved(member)
        }
    }

    /// The action as JSON.
    package func encode() throws -> [UInt8] { try encodeAction() }

    /// Says what the part gets if the action is released before its end: nothing was changed, or it is unknown.
    package func setSent(_ isSent: Bool) { waiter.setSent(isSent) }

    package func end(_ outcome: PartOutcome) { waiter.end(outcome.result) }
}

/// The waiter for the end of an action. If it is released before (a loop has stopped, a link is closed with the server),
/// the action ends with an error.
final class PartWaiter: Sendable {
    typealias Ended = @Sendable (Result<Void, any Error>) -> Void

    private struct State {
        var ended: Ended?
        var isSent = false
    }

    // Why a lock: the waiter may be released on any thread.
    private let state: Mutex<State>

    /// - Parameter ended: Called once, on any thread.
    init(_ ended: @escaping Ended) { state = Mutex(State(ended: ended)) }

    func setSent(_ isSent: Bool) { state.withLock { $0.isSent = isSent } }

    func end(_ result: Result<Void, any Error>) {
        let ended = state.withLock { $0.ended.take() }
        ended?(result)
    }

    deinit {
        let isSent = state.withLock { $0.isSent }
        end((isSent ? PartOutcome.unknown : .unavailable("the server ends")).result)
    }
}

// The side of the parent.
extension SessionTable {
    /// Receives an action of a part at another node. Calls `act` once, now or later on this loop.
    ///
    /// - Parameters:
    ///   - parent: A session of this loop.
    ///   - reactors: The names of the reactors that it may have; empty: any.
    ///   - action: JSON, which nobody has checked.
    package func receivePart(
        to parent: SessionID, by subject: String?, _ reactors: [String], _ action: [UInt8],
        then act: @escaping (PartOutcome) -> Void
    ) {
        fetch(parent) { [unowned self] found in
            if case .session(let session) = found {
                guard reactors.isEmpty || reactors.contains(session.registration.name) else {
                    return act(.missing)
                }
                guard commits.hasRoom else {
                    return act(.unavailable("too much waits for the journal"))
                }
            }
            receivePart(found, by: subject) { machine in
                (machine as? any ParentMachine)?.beginPart(encoded: action) ?? .notParent
            } then: {
                act($0)
            }
        }
    }

    fileprivate func receivePart(
        _ found: SessionLookup, by subject: String?, _ begin: (any Machine) -> PartStart,
        then act: @escaping (PartOutcome) -> Void
    ) {
        let later = { [hop = services.hop] (outcome: PartOutcome) in
            guard case .moved = outcome else { return act(outcome) }
            // The session's steps may still be being undone.
            let bound = LoopBound { act(outcome) }
            _ = hop { bound.open(on: $0)() }
        }
        switch found {
        case .session(let session): session.receivePart(by: subject, begin, then: later)
        case .elsewhere(let member, _): act(.moved(member))
        case .copy, .notInMemory: later(.moved(nil))
        case .nothing, .ended: act(.missing)
        case .quarantined: act(.unavailable("its session cannot be rebuilt"))
        case .unreadable(let failure): act(.unavailable(failure.publicDetail))
        case .noNode: act(.unavailable("no node of the cluster can read its session"))
        case .noRoom: act(.unavailable("memory holds the maximal number of sessions"))
        case .overBudget: act(.unavailable("memory has no room for the session"))
        }
    }
}
