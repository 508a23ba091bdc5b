internal import ClientMachine
internal import Synchronization

/// Wakes the driver at the moment that its machine has named.
///
/// A moment that moves later starts no new task: the earlier wake-up looks again.
final class DriverTimer: Sendable {
    private struct State {
        var wanted: Duration?
        /// The moment for which a task sleeps.
        var armed: Duration?
        var task: Task<Void, Never>?
    }

    private let clock: DriverClock
    private let state = Mutex(State())
    private let fire: @Sendable () -> Void

    init(_ clock: DriverClock, fire: @escaping @Sendable () -> Void) {
        self.clock = clock
        self.fire = fire
    }

    /// Sets the moment in place of the earlier one; nil: none.
    func set(_ time: Duration?) {
        state.withLock { state in
            state.wanted = time
            guard let time, state.armed.map({ time < $0 }) ?? true else { return }
            state.task?.cancel()
            arm(time, &state)
        }
    }

    func cancel() {
        state.withLock { state in
            state.wanted = nil
            state.armed = nil
            state.task?.cancel()
            state.task = nil
        }
    }

    private func arm(_ time: Duration, _ state: inout State) {
        state.armed = time
        let instant = clock.instant(time)
        // Detached: it is often the caller of a send whose input has moved the moment.
        state.task = Task.detached { [weak self] in
            // Cancelled: another task has taken its place, or none has to.
            guard (try? await ContinuousClock().sleep(until: instant)) != nil else { return }
            self?.wake(time)
        }
    }

    private func wake(_ time: Duration) {
        let isDue = state.withLock { state in
            guard state.armed == time else { return false }
            state.armed = nil
            state.task = nil
            guard let wanted = state.wanted else { return false }
            if wanted > clock.now.uptime {
                arm(wanted, &state)
                return false
            }
            state.wanted = nil
            return true
        }
        if isDue { fire() }
    }
}
