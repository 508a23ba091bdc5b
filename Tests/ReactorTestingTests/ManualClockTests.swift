import Dispatch
import ReactorTesting
import Synchronization
import Testing

@Suite("A manual clock moves when a test says so", .timeLimit(.minutes(60)))
struct ManualClockTests {
    private let clock = ManualClock()

    /// Runs tasks one at a time, in the order in which they were resumed.
    private final class OneThread: TaskExecutor {
        private let queue = DispatchQueue(label: "one thread")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    private final class Diary: Sendable {
        let names = Mutex<[String]>([])

        /// Waits on the executor of its task.
        nonisolated(nonsending) func sleep(
            _ clock: ManualClock, _ seconds: Int, _ name: String
        ) async throws {
            try await clock.sleep(for: .seconds(seconds))
            names.withLock { $0.append(name) }
        }
    }

    @Test func `sleeping tasks wake at their time and not before`() async throws {
        let clock = clock
        let sleeper = Task {
            try await clock.sleep(for: .seconds(2))
            return clock.now
        }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .seconds(1))
        #expect(clock.sleeperCount == 0)
        #expect(try await sleeper.value == ManualClock.Instant(sinceStart: .seconds(2)))
    }

    @Test func `the earliest wakes first; of equal ones the first to sleep`() async throws {
        let (diary, clock, thread) = (Diary(), clock, OneThread())
        try await withThrowingTaskGroup { group in
            for (count, entry) in [(3, "c"), (1, "a"), (2, "b"), (3, "d"), (1, "a2")].enumerated() {
                group.addTask(executorPreference: thread) {
                    try await diary.sleep(clock, entry.0, entry.1)
                }
                await clock.waitForSleepers(count + 1)
            }
            clock.advance(to: ManualClock.Instant(sinceStart: .seconds(3)))
            try await group.waitForAll()
        }
        #expect(diary.names.withLock { $0 } == ["a", "a2", "b", "c", "d"])
    }

    @Test func `a past deadline returns at once`() async throws {
        clock.advance(by: .seconds(1))
        try await clock.sleep(until: ManualClock.Instant(sinceStart: .seconds(1)))
        #expect(clock.sleeperCount == 0)
    }

    @Test func `a cancelled task wakes at once; one cancelled before never sleeps`()
        async
    {
        let clock = clock
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.waitForSleepers(1)
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleeperCount == 0)
        let never = Task {
            while !Task.isCancelled { await Task.yield() }
            try await clock.sleep(for: .seconds(1))
        }
        never.cancel()
        await #expect(throws: CancellationError.self) { try await never.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func `waiting for sleeping tasks ends with the waiting task`() async {
        let clock = clock
        let waiting = Task { await clock.waitForSleepers(1) }
        waiting.cancel()
        await waiting.value
    }

    @Test func `instants differ by how far the clock was advanced`() {
        let start = clock.now
        clock.advance(by: .seconds(5))
        #expect(start.duration(to: clock.now) == .seconds(5))
        #expect(start.advanced(by: .seconds(5)) == clock.now)
        #expect(start < clock.now)
    }
}
