#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

// The timers of a session in a process. One task sleeps until the next one is due.

extension ReactorHost {
    /// The time until each timer of the session is due, by name; zero if it is overdue.
    ///
    /// The timers last as long as the host. Only the timers of a server with a journal outlive the
    /// process. ``settled()`` does not wait for timers.
    public var timers: [EffectID: Duration] {
        let now = observer.timers.elapsed()
        return Dictionary(
            uniqueKeysWithValues: observer.timers.all.map { ($0.name, max($0.due - now, .zero)) })
    }

    package var hasTimers: Bool { !observer.timers.all.isEmpty }

    static func date(
        movingWith elapsed: @escaping @Sendable () -> Duration
    ) -> @Sendable () -> Duration {
        let start = Duration.milliseconds(Int64(Date().timeIntervalSince1970 * 1_000))
        return { start + elapsed() }
    }

    /// Waits for the timer that is due next, and no longer for an earlier choice.
    func waitForTimer() {
        guard let next = observer.timers.all.first else { return tasks.cancel(.timer) }
        wait(for: next.due, observer.timers.elapsed)
    }

    nonisolated func wait(for due: Duration, _ elapsed: @escaping @Sendable () -> Duration) {
        tasks.cancel(.timer)
        let clock = clock
        let task = Task { @concurrent [weak self] in
            do {
                try await clock.sleep(for: due - elapsed())
            } catch {
                return
            }
            await self?.fireTimers()
        }
        tasks.add(task, as: .timer)
    }

    // If these actions set timers that are due at once, those fire in a later turn, so that other
    // calls have their turn before.
    private func fireTimers() {
        // A stub lets the timers rest, because they would have no effect.
        guard !core.isStub, !core.isEnded else { return }
        let due = observer.timers.due
        for name in due {
            guard let timer = observer.takeTimer(name) else { continue }
            let result = Self.receive(timer.action, by: nil, &lastTag, core, observer)
            if let refusal = result.refusal {
                observer.failed(
                    ReactorFailure(place: .effect, error: refusal, action: timer.setter))
            }
            carryOut()
        }
        if due.isEmpty { waitForTimer() }
    }
}
