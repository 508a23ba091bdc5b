extension Cycler {
    /// Reports every commit, activity, dispatch and key change to `observer`, before all others;
    /// `nil` ends that. It is held weakly.
    package func observe<Observer: CyclerObserver>(by observer: Observer?)
    where Observer.State == State, Observer.Activity == Activity {
        let core = state.core
        core.observer = observer
        core.hub(for: Activity.self).observer = observer
    }

    /// Replaces the state by the one of `version`, without notifying observers.
    ///
    /// For a commit that the journal could not keep, and for waking up. Requires that nothing is
    /// being written or delivered. Versions that are reached again are delivered again.
    package func restore(_ state: State, version: UInt64) {
        self.state.core.restore(state, version: version)
    }

    /// Ends the session: streams end, and running actions commit and emit nothing any more.
    package func end() { state.core.end() }
}
