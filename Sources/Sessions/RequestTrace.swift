internal import Feeds
internal import Reactors

/// The trace of a request that posts actions: its commit and the steps of its effects
/// are parts of it.
///
/// No function waits: all but ``TracedWork/end(_:)`` are called on the session's loop.
package protocol RequestTrace: AnyObject, Sendable {
    /// The decisions of the request wait for the journal.
    func beginCommit() -> any TracedWork

    /// A step of an effect begins, or a Cycler's action.
    func begin(_ effect: TracedEffect) -> any TracedWork
}

/// A part of a trace, from its beginning to its end.
package protocol TracedWork: Sendable {
    /// Calls `start`, whose task becomes the parent of what it traces itself.
    func start(_ start: () -> Task<Void, Never>) -> Task<Void, Never>

    /// Ends the part. Called once, from any thread.
    ///
    /// - Parameter failure: nil: it has succeeded.
    func end(_ failure: (any Error)?)
}

/// A step of an effect, or a Cycler's action, as it is traced.
package struct TracedEffect: Sendable {
    /// The name under which the reactor is hosted.
    package let reactor: String
    package let session: String
    /// The number of the action whose effect it is, as in the session's log.
    package let action: UInt64
    /// The effect's id, if it has one.
    package let id: String?
}

/// Why a traced commit has failed.
struct CommitFailure: Error, CustomStringConvertible {
    let description: String
}

/// The traces of actions whose effects have begun and not ended: a later step of an effect begins
/// when its request is long over.
///
/// Invariant: only actions that run are in it, whose number is bounded.
struct ActionTraces {
    private var traces: [UInt64: any RequestTrace] = [:]

    var isEmpty: Bool { traces.isEmpty }

    /// The trace of an action.
    ///
    /// - Parameter arrival: the request that is being received, if any.
    mutating func trace(of action: UInt64, in arrival: Arrival) -> (any RequestTrace)? {
        if let trace = traces[action] { return trace }
        // An action that arrives may begin the next step of an earlier one's effect.
        guard let trace = arrival.trace, let first = arrival.posted?.first, action >= first else {
            return nil
        }
        traces[action] = trace
        return trace
    }

    mutating func remove(_ action: UInt64) {
        guard !traces.isEmpty else { return }
        traces[action] = nil
    }

    /// Removes the traces of actions that are rolled back: other actions will get their numbers.
    mutating func remove(after action: UInt64) {
        guard !traces.isEmpty else { return }
        traces = traces.filter { $0.key <= action }
    }

    mutating func removeAll() {
        guard !traces.isEmpty else { return }
        traces = [:]
    }
}

extension Session {
    /// A step of an action's effect that is about to begin, if its request is traced.
    func traced(
        _ action: ActionTag, id: EffectID? = nil
    ) -> (trace: any RequestTrace, effect: TracedEffect)? {
        // Most sessions are not traced.
        guard arrival.trace != nil || !traces.isEmpty else { return nil }
        return traces.trace(of: action.number, in: arrival).map { trace in
            (
                trace,
                TracedEffect(
                    reactor: registration.name, session: self.id.text, action: action.number,
                    id: id.map { "\($0)" })
            )
        }
    }
}
