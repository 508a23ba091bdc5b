package import Cluster
internal import Cyclers
package import Feeds
internal import JSONCoding
package import Storage
import Synchronization

/// A part's action, in the form in which the parent receives it.
package enum PartContent {
    /// From a part at this node: the value itself.
    case value(any Encodable)
    /// From a part at another node: JSON, which has not been checked.
    case json([UInt8])
}

/// A machine that receives actions of parts.
protocol ParentMachine: AnyObject {
    /// - Throws: The refusal. Nothing was changed.
    func beginPart(_ content: PartContent) throws
}

/// The end of an action that a part has sent to its parent.
package enum PartOutcome {
    /// The parent has committed the first part of the action.
    case applied
    /// The parent's error, or ``CyclerParentMissing``: no session has the parent's id, the session
    /// has ended, or it has another reactor. Nothing was changed.
    case failed(any Error)
    /// Nothing was changed. Clients may see the reason, so it contains no address of a machine.
    case unavailable(String)
    /// Another node decides on the parent; nil: it is not known which. Nothing was changed.
    case moved(Member?)
    /// Applied once or not at all.
    case unknown

    package static var missing: PartOutcome { .failed(CyclerParentMissing()) }

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
        case .failed(let error): .failure(error)
        case .unavailable(let reason): .failure(CyclerParentUnavailable(reason))
        case .moved: .failure(CyclerParentUnavailable("another node decides on its session"))
        case .unknown: .failure(CyclerParentOutcomeUnknown())
        }
    }
}

/// A part's action on its way to its parent. It ends once.
///
/// Not Sendable: it is used on the loop of the parent's id.
package final class PartAction {
    package let parent: SessionID
    /// The client for which the part acts.
    package let subject: String?
    /// The names of the reactors that the parent may have.
    package let reactors: [String]
    private let action: any Encodable
    private unowned let table: SessionTable
    private let waiter: PartWaiter

    init(
        _ action: any Encodable, to parent: SessionID, by subject: String?, _ reactors: [String],
        in table: SessionTable, _ waiter: PartWaiter
    ) {
        self.action = action
        self.parent = parent
        self.subject = subject
        self.reactors = reactors
        self.table = table
        self.waiter = waiter
    }

    /// Whether the parent is in memory here.
    package var isHere: Bool { table.present(parent) != nil }

    func send() {
        if let placement = table.placement, placement.send(self) { return }
        deliver { [self] in end($0) }
    }

    /// Finds the parent, claims it if no other node owns it, and delivers the action to it.
    ///
    /// - Parameter act: Called once, now or later, on this loop. It has to end the action, or send
    ///   it elsewhere.
    package func deliver(then act: @escaping (PartOutcome) -> Void) {
        table.fetch(parent) { [self] in deliver(to: $0, then: act) }
    }

    /// Delivers the action to a session of this loop. Calls `act` as above.
    package func deliver(to found: SessionLookup, then act: @escaping (PartOutcome) -> Void) {
        table.receivePart(found, by: subject, reactors, .value(action), then: act)
    }

    /// The action as JSON.
    package func encode() throws -> [UInt8] {
        var bytes: [UInt8] = []
        try JSON.encode(action, into: &bytes)
        return bytes
    }

    package func end(_ outcome: PartOutcome) { waiter.end(outcome.result) }
}

/// Waits for the end of an action. If it is released earlier (a loop has stopped, or the server has
/// closed a link), the outcome is unknown.
final class PartWaiter: Sendable {
    typealias Ended = @Sendable (Result<Void, any Error>) -> Void

    // Why a lock: the waiter may be released on any thread.
    private let ended: Mutex<Ended?>

    /// - Parameter ended: Called once, on any thread.
    init(_ ended: @escaping Ended) { self.ended = Mutex(ended) }

    func end(_ result: Result<Void, any Error>) {
        let ended = ended.withLock { $0.take() }
        ended?(result)
    }

    deinit { end(PartOutcome.unknown.result) }
}

// The side of the parent.
extension SessionTable {
    /// Delivers an action to its parent. Calls `act` once, now or later, on this loop.
    ///
    /// - Parameters:
    ///   - found: The parent, which is a session of this loop.
    ///   - reactors: The names of the reactors that the parent may have; empty for any.
    package func receivePart(
        _ found: SessionLookup, by subject: String?, _ reactors: [String], _ content: PartContent,
        then act: @escaping (PartOutcome) -> Void
    ) {
        let later = { [hop = services.hop] (outcome: PartOutcome) in
            guard case .moved = outcome else { return act(outcome) }
            // The session's steps may still be being undone.
            let bound = LoopBound { act(outcome) }
            _ = hop { bound.open(on: $0)() }
        }
        switch found {
        case .session(let session):
            guard reactors.isEmpty || reactors.contains(session.registration.name) else {
                return act(.missing)
            }
            if case .json = content, !commits.hasRoom {
                return act(.unavailable("too many replies wait for the journal"))
            }
            session.receivePart(by: subject, content, then: later)
        case .elsewhere(let member, _): act(.moved(member))
        case .copy, .notInMemory: later(.moved(nil))
        case .nothing, .ended: act(.missing)
        case .quarantined: act(.unavailable("its session cannot be rebuilt"))
        case .unreadable(let failure): act(.unavailable(failure.publicDetail))
        case .noNode: act(.unavailable("no node of the cluster can read its session"))
        case .noRoom: act(.unavailable("the maximum number of sessions is in memory"))
        case .overBudget: act(.unavailable("memory has no room for the session"))
        }
    }
}
