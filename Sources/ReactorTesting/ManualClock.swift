import Synchronization

/// A clock that moves when a test advances it, and reports when a task sleeps on it.
///
/// ```swift
/// let clock = ManualClock()
/// let host = ReactorHost(Stopwatch(), clock: clock)
/// await host.send(.start)
/// await clock.waitForSleepers(1)
/// clock.advance(by: .seconds(1))
/// ```
///
/// Why wait for sleeping tasks: an effect runs in a separate task, and advancing the clock before
/// that task sleeps wakes no task.
public final class ManualClock: Clock, Sendable {
    /// A time of this clock: the duration by which it was advanced since it was made.
    public struct Instant: InstantProtocol {
        /// The duration by which the clock was advanced.
        public let sinceStart: Duration

        /// Makes the time at this duration after the clock's start.
        public init(sinceStart: Duration) { self.sinceStart = sinceStart }

        /// The time that is later by this duration.
        public func advanced(by duration: Duration) -> Instant {
            Instant(sinceStart: sinceStart + duration)
        }

        /// The duration from this time to the other one.
        public func duration(to other: Instant) -> Duration { other.sinceStart - sinceStart }

        /// Whether `left` is earlier.
        public static func < (left: Instant, right: Instant) -> Bool {
            left.sinceStart < right.sinceStart
        }
    }

    private struct Sleeper {
        let number: UInt64
        let deadline: Instant
        let wake: CheckedContinuation<Void, any Error>
    }

    private struct Watcher {
        let count: Int
        let wake: AsyncStream<Never>.Continuation
    }

    private struct State {
        var now = Instant(sinceStart: .zero)
        var sleeping: [Sleeper] = []
        // Tasks that are about to sleep. Invariant: a task that is cancelled before it sleeps is
        // removed here, and then does not find itself.
        var beginning: Set<UInt64> = []
        var lastSleeper: UInt64 = 0
        var watchers: [Watcher] = []
        var follower: (@Sendable () -> Void)?

        mutating func takeContentWatchers() -> [Watcher] {
            let content = watchers.filter { $0.count <= sleeping.count }
            if !content.isEmpty { watchers.removeAll { $0.count <= sleeping.count } }
            return content
        }
    }

    private enum Verdict {
        case cancelled
        case due
        case asleep([Watcher], (@Sendable () -> Void)?)
    }

    // Why a lock: any task may sleep. Without it, a task could start to sleep between the search
    // for due tasks and the change of the time.
    private let state = Mutex(State())

    /// Makes a clock at its start.
    public init() {}

    /// The current time.
    public var now: Instant { state.withLock { $0.now } }

    /// Zero: every sleeper wakes at exactly its time.
    public var minimumResolution: Duration { .zero }

    /// The number of sleeping tasks.
    public var sleeperCount: Int { state.withLock { $0.sleeping.count } }

    /// Returns when the clock was advanced to the deadline.
    ///
    /// - Throws: `CancellationError`, at once, when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let number = state.withLock { state in
            state.lastSleeper += 1
            state.beginning.insert(state.lastSleeper)
            return state.lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wake in
                add(Sleeper(number: number, deadline: deadline, wake: wake))
            }
        } onCancel: {
            cancel(number)
        }
    }

    /// Moves the clock, and wakes every task whose deadline is reached.
    ///
    /// The earliest is woken first; of equal deadlines the one that slept first. A woken task that
    /// sleeps again starts from the new time: to observe each tick of a timer, advance by single
    /// ticks, and wait for the sleeper in between.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "time does not go back")
        advance { $0.advanced(by: duration) }
    }

    /// Moves the clock to a time that is not before the current one; else as ``advance(by:)``.
    public func advance(to instant: Instant) {
        advance { now in
            precondition(instant >= now, "time does not go back")
            return instant
        }
    }

    /// Returns when at least `count` tasks sleep, or when the calling task is cancelled.
    public func waitForSleepers(_ count: Int) async {
        let (stream, wake) = AsyncStream<Never>.makeStream()
        let isContent = state.withLock { state in
            let isContent = state.sleeping.count >= count
            if !isContent { state.watchers.append(Watcher(count: count, wake: wake)) }
            return isContent
        }
        if isContent { wake.finish() }
        for await _ in stream {}
    }

    /// Calls `notify` whenever a task starts to sleep.
    func follow(_ notify: @escaping @Sendable () -> Void) {
        state.withLock { $0.follower = notify }
    }

    private func advance(_ next: (Instant) -> Instant) {
        let due = state.withLock { state in
            let now = next(state.now)
            state.now = now
            let due = state.sleeping.filter { $0.deadline <= now }
            state.sleeping.removeAll { $0.deadline <= now }
            return due.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
        }
        for sleeper in due { sleeper.wake.resume() }
    }

    private func add(_ sleeper: Sleeper) {
        let verdict: Verdict = state.withLock { state in
            guard state.beginning.remove(sleeper.number) != nil else { return .cancelled }
            guard sleeper.deadline > state.now else { return .due }
            state.sleeping.append(sleeper)
            return .asleep(state.takeContentWatchers(), state.follower)
        }
        switch verdict {
        case .cancelled: sleeper.wake.resume(throwing: CancellationError())
        case .due: sleeper.wake.resume()
        case .asleep(let watchers, let notify):
            for watcher in watchers { watcher.wake.finish() }
            notify?()
        }
    }

    private func cancel(_ number: UInt64) {
        let sleeper: Sleeper? = state.withLock { state in
            if state.beginning.remove(number) != nil { return nil }
            guard let index = state.sleeping.firstIndex(where: { $0.number == number }) else {
                return nil
            }
            return state.sleeping.remove(at: index)
        }
        sleeper?.wake.resume(throwing: CancellationError())
    }
}
