#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

// Timers in a process: a single task sleeps until the next one is due.

extension ReactorHost {
    /// The names of the session's timers, and the time until each is due; zero if it is overdue.
    ///
    /// They last as long as the host: only a server with a journal has timers that outlive the
    /// process. ``settled()`` does not wait for them.
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

    /// Waits for the timer that is due next, and for no other one.
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

    // The actions of timers that these set are received later, even if they are due: other calls
    // have their turn before.
    private func fireTimers() {
        // A stub rests them: they would have no effect.
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
