package import Reactors

/// Reduces an action over a state as the server's session would: the reactor's own synchronous part,
/// and nothing else (R4).
///
/// Steps are not started, activities not delivered, and sources not opened: events come from the
/// server alone (R5).
package struct Predictor<R: Reactor> {
    private let reactor: R
    private let observer = Ignoring<R>()

    package init(_ reactor: R) { self.reactor = reactor }

    /// The state after the action's synchronous part.
    package func predict(_ state: R.State, _ action: R.Action) -> R.State {
        // A core for each action: a step of an earlier one that never ends must not change what an
        // effect of this one does.
        let core = ReactorCore(reactor: reactor, state: state)
        _ = core.receive(action, tag: ActionTag(1), observer: observer)
        return core.state
    }
}

/// Carries out nothing.
private final class Ignoring<R: Reactor>: ReactorCoreObserver {
    func mutated(_ mutation: R.Mutation, by action: ActionTag, core: ReactorCore<R>) {}
    func emitted(_ activity: R.Activity, by action: ActionTag, core: ReactorCore<R>) {}
    func failed(_ failure: ReactorFailure) {}
    func start(_ run: EffectRun<R>) {}
    func cancel(_ run: RunID, named effectID: EffectID?, action: ActionTag) {}
    func settled(_ action: ActionTag) {}
}
