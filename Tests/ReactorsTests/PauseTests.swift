import ReactorTesting
import Reactors
import Synchronization
import TestStreams
import Testing

@Suite("A pause between two attempts", .timeLimit(.minutes(60)))
struct PauseTests {
    /// Searches; the queries that begin with `bad` fail the first time.
    private struct Searcher: Reactor {
        enum Action: Sendable { case search(String), stop }

        typealias Mutation = String
        typealias State = [String]

        let tried = Tried()
        let initialState: [String] = []

        func recovery(of action: Action, after interruption: Interruption) -> Recovery {
            .runAgain(after: .seconds(10))
        }

        func mutate(state: [String], action: Action) -> Effect<String> {
            switch action {
            case .search(let query):
                .run(id: "search", policy: .latest) { [tried] send in
                    if tried.isFirst(query), query.hasPrefix("bad") { throw Mishap() }
                    await send(query)
                }
            case .stop: .cancel("search")
            }
        }

        func reduce(state: inout [String], mutation: String) { state.append(mutation) }
    }

    private final class Tried: Sendable {
        private let all = Mutex<Set<String>>([])

        func isFirst(_ query: String) -> Bool { all.withLock { $0.insert(query).inserted } }
    }

    /// Lets a pause end, if there is one.
    private func pass<R: Reactor>(_ clock: ManualClock, _ host: ReactorHost<R>) async {
        clock.advance(by: .seconds(10))
        await host.settled()
    }

    @Test func `ends when its step is cancelled by name`() async {
        let clock = ManualClock()
        let host = ReactorHost(Searcher(), clock: clock)
        await host.send(.search("bad"))
        await clock.waitForSleepers(1)
        await host.send(.stop)
        await pass(clock, host)
        #expect(await host.currentState == [], "what was cancelled runs all the same")
    }

    @Test func `ends when a newer step replaces its own`() async {
        let clock = ManualClock()
        let host = ReactorHost(Searcher(), clock: clock)
        await host.send(.search("bad"))
        await clock.waitForSleepers(1)
        await host.send(.search("good"))
        while await host.currentState.isEmpty { await Task.yield() }
        await pass(clock, host)
        #expect(await host.currentState == ["good"], "an old query replaces a newer result")
    }

    /// Fails at once, and gives the answer of the long form.
    private struct Failing: Reactor {
        typealias Action = Int
        typealias Mutation = Int

        let time: Duration
        let initialState = 0

        func recovery(of action: Int, after interruption: Interruption) -> Recovery {
            interruption.attempts < action ? .runAgain(after: time) : .abandon
        }

        func mutate(state: Int, action: Int) -> Effect<Int> {
            .concat(.just(1), .run { _ in throw Mishap() })
        }

        func reduce(state: inout Int, mutation: Int) { state += mutation }
    }

    @Test(arguments: [Duration.zero, .seconds(-5)])
    func `takes some time, whatever the reactor says`(time: Duration) async {
        let clock = ManualClock()
        let host = ReactorHost(Failing(time: time), clock: clock)
        await host.send(1_000)
        let first = await withTaskGroup(of: String.self) { group in
            group.addTask {
                await clock.waitForSleepers(1)
                return "it waits"
            }
            group.addTask {
                await host.settled()
                return "all attempts are over"
            }
            let first = await group.next()
            clock.advance(by: .seconds(1))
            await host.end()
            group.cancelAll()
            return first
        }
        let attempts = await host.currentState
        #expect(first == "it waits", "\(attempts) attempts, and no time has passed")
    }

    /// Keeps the time that a task is to sleep.
    private final class AskedClock: Clock, Sendable {
        typealias Instant = ContinuousClock.Instant

        let now = ContinuousClock.now
        let minimumResolution = Duration.zero
        private let stream = AsyncStream<Duration>.makeStream()

        func sleep(until deadline: Instant, tolerance: Duration?) async throws {
            stream.continuation.yield(now.duration(to: deadline))
            for await _ in AsyncStream<Never>.makeStream().stream {}
        }

        func asked() async -> Duration? {
            for await one in stream.stream { return one }
            return nil
        }
    }

    /// `ContinuousClock` ends the process (Swift 6.3, Linux) if a deadline has more seconds than an
    /// `Int64`: `Duration.components`.
    @Test func `is never so long that a clock cannot sleep`() async throws {
        let clock = AskedClock()
        let host = ReactorHost(Failing(time: .seconds(Int64.max)), clock: clock)
        await host.send(9)
        let asked = try #require(await clock.asked())
        #expect(asked < .seconds(Int64.max / 2))
        await host.end()
    }

    @Test func `takes no place of a step that runs`() async {
        let clock = ManualClock()
        let host = ReactorHost(Failing(time: .seconds(10)), clock: clock)
        for _ in 0..<1_000 { await host.send(9) }
        await clock.waitForSleepers(1_000)
        let result = await host.send(1)
        #expect(result.failure == nil)
        await host.end()
    }
}
