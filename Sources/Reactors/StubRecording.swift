/// The actions that were sent to a stubbed session.
package struct StubRecording<Action> {
    // Precedent: no test reads more; beyond it the oldest actions are dropped.
    private static var limit: Int { 10_000 }

    /// The actions in order; at least the newest 10 000.
    package private(set) var actions: [Action] = []

    package init() {}

    package mutating func append(_ action: Action) {
        // By halves: removing one action from the front of an array moves all others.
        if actions.count >= 2 * Self.limit { actions.removeFirst(Self.limit) }
        actions.append(action)
    }
}
