/// The timers of a session in a process, by the clock of its host.
struct HostTimers<R: Reactor> {
    struct Timer {
        let name: EffectID
        /// The time since the session began.
        let due: Duration
        let action: R.Action
        /// The action that has set the timer.
        let setter: ActionTag
    }

    /// Invariant: sorted by when they are due. Of two that are due at the same time, the one that
    /// was set first comes first.
    private(set) var all: [Timer] = []
    /// The time since the session began.
    let elapsed: @Sendable () -> Duration
    /// The time since 1970.
    private let date: @Sendable () -> Duration

    init(
        elapsed: @escaping @Sendable () -> Duration, date: @escaping @Sendable () -> Duration
    ) {
        self.elapsed = elapsed
        self.date = date
    }

    /// - Returns: false if there are too many.
    mutating func set(
        _ name: EffectID, _ time: TimerTime, _ action: R.Action, by setter: ActionTag
    ) -> Bool {
        remove(name)
        guard all.count < TimerBounds.count else { return false }
        let delay =
            switch time {
            case .after(let delay): delay
            case .at(let milliseconds): .milliseconds(milliseconds) - date()
            }
        // Clocks trap on times that no `Int64` of seconds can express.
        let wait = min(max(delay, .zero), .milliseconds(TimerTime.limit))
        let timer = Timer(name: name, due: elapsed() + wait, action: action, setter: setter)
        all.insert(timer, at: all.firstIndex { $0.due > timer.due } ?? all.count)
        return true
    }

    /// - Returns: whether there was one.
    @discardableResult
    mutating func remove(_ name: EffectID) -> Bool {
        guard let index = all.firstIndex(where: { $0.name == name }) else { return false }
        all.remove(at: index)
        return true
    }

    mutating func removeAll() { all = [] }

    /// The names of the timers that are due, the earliest first.
    var due: [EffectID] {
        let now = elapsed()
        return all.prefix { $0.due <= now }.map(\.name)
    }

    /// Removes the timer of this name if it is due; otherwise returns nil.
    mutating func dequeue(_ name: EffectID) -> Timer? {
        let now = elapsed()
        guard let index = all.firstIndex(where: { $0.name == name && $0.due <= now }) else {
            return nil
        }
        return all.remove(at: index)
    }
}
