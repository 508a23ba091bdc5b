extension Cycler {
    /// Reports every commit, activity, dispatch and key change to `observer`, before all other
    /// observers; `nil` ends this. The observer is held weakly.
    package func observe<Observer: CyclerObserver>(by observer: Observer?)
    where Observer.State == State, Observer.Activity == Activity {
        let core = state.core
        core.observer = observer
        core.hub(for: Activity.self).observer = observer
    }

    /// Replaces the state by that of `version`, without notifying observers.
    ///
    /// For a commit that the journal could not store, and for loading. Requires that no write or
    /// delivery is in progress. Versions that are reached again are delivered again.
    package func restore(_ state: State, version: UInt64) {
        self.state.core.restore(state, version: version)
    }

    /// Ends the session: streams end, and running actions no longer commit or emit.
    package func end() { state.core.end() }
}
