import ReactorTesting
import Reactors
import Synchronization
import TestStreams
import Testing

@Suite("Effects that have failed run again", .timeLimit(.minutes(60)))
struct RunAgainTests {
    /// Fails as often as its actions say, and records the calls to the world outside.
    private struct Caller: Reactor {
        enum Action: Sendable {
            case call(failures: Int)
            /// Fails in the synchronous part of each attempt after the first.
            case broken
            case refused
            case fails
        }

        typealias Mutation = String
        typealias State = [String]

        let calls: Calls
        let initialState: [String] = []

        func recovery(of action: Action, after interruption: Interruption) -> Recovery {
            let error = interruption.error.map { " \($0)" } ?? ""
            calls.record("asked \(interruption.attempts)\(error)")
            return interruption.attempts < 4 ? .runAgain(after: .seconds(10)) : .abandon
        }

        func mutate(state: [String], action: Action, subject: String?) -> Effect<String> {
            let calls = calls
            switch action {
            case .call(let failures):
                return .concat(
                    .just("begun by \(subject ?? "-")"),
                    .run { send in
                        guard calls.record(send.key) > failures else { throw Mishap() }
                    }, .just("done"))
            case .broken:
                return state.isEmpty
                    ? .concat(.just("begun"), .run { _ in throw Mishap() }) : .error(Mishap())
            case .refused:
                return state.isEmpty
                    ? .concat(.just("begun"), .run { _ in throw Mishap() })
                    : .concat(.just("lost"), .refuse("no", "No."))
            case .fails: return .concat(.just("begun"), .error(Mishap()))
            }
        }

        func reduce(state: inout [String], mutation: String) { state.append(mutation) }
    }

    private final class Calls: Sendable {
        private let all = Mutex<[String]>([])

        /// The number of equal notes.
        @discardableResult
        func record(_ text: String) -> Int {
            all.withLock { all in
                all.append(text)
                return all.count { $0 == text }
            }
        }

        var noted: [String] { all.withLock { $0 } }
    }

    private func run(
        _ action: Caller.Action, waits: Int
    ) async -> (state: [String], asked: [String], keys: Set<String>) {
        let (calls, clock) = (Calls(), ManualClock())
        let host = ReactorHost(Caller(calls: calls), clock: clock)
        await host.send(action, subject: "ada")
        for _ in 0..<waits {
            await clock.waitForSleepers(1)
            #expect(await host.runningCount.steps == 1)
            clock.advance(by: .seconds(10))
        }
        await host.settled()
        #expect(clock.sleeperCount == 0)
        let noted = calls.noted
        return (
            await host.currentState, noted.filter { $0.hasPrefix("asked") },
            Set(noted.filter { !$0.hasPrefix("asked") })
        )
    }

    @Test func `the action is received again, by its client, with the same key`() async {
        let (state, asked, keys) = await run(.call(failures: 2), waits: 2)
        #expect(state == ["begun by ada", "begun by ada", "begun by ada", "done"])
        #expect(asked == ["asked 1 Mishap()", "asked 2 Mishap()"])
        #expect(keys.count == 1)
    }

    @Test func `until the reactor gives it up`() async {
        let (state, asked, _) = await run(.call(failures: 9), waits: 3)
        #expect(state == Array(repeating: "begun by ada", count: 4))
        #expect(asked.last == "asked 4 Mishap()")
    }

    @Test func `an attempt that fails before it waits counts, and a refusal is the last`() async {
        #expect(await run(.broken, waits: 3).asked.count == 4)
        let (state, asked, _) = await run(.refused, waits: 1)
        #expect(state == ["begun"])
        #expect(asked.count == 1)
    }

    @Test func `a failure in the answer is the client's matter`() async {
        let (state, asked, _) = await run(.fails, waits: 0)
        #expect(state == ["begun"])
        #expect(asked == [])
    }

    @Test func `a pause ends with its session`() async {
        let (calls, clock) = (Calls(), ManualClock())
        let host = ReactorHost(Caller(calls: calls), clock: clock)
        await host.send(.call(failures: 9))
        await clock.waitForSleepers(1)
        await host.end()
        await clock.waitForSleepers(0)
        #expect(await host.currentState == ["begun by -"])
        #expect(await host.runningCount.steps == 0)
    }

    /// With the form that has no interruption.
    private struct Plain: Reactor {
        typealias Action = Duration
        typealias Mutation = Int

        let initialState = 0

        func recovery(of action: Duration) -> Recovery { .runAgain(after: action) }

        func mutate(state: Int, action: Duration) -> Effect<Int> {
            .concat(.just(1), .run { _ in if state < 2 { throw Mishap() } })
        }

        func reduce(state: inout Int, mutation: Int) { state += mutation }
    }

    @Test func `the short form repeats a failure only with a time`() async {
        let clock = ManualClock()
        let host = ReactorHost(Plain(), clock: clock)
        await host.send(.zero)
        await host.settled()
        #expect(await host.currentState == 1)
        await host.send(.seconds(1))
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        await host.settled()
        #expect(await host.currentState == 3)
    }

    @Test func `the log names the action of each attempt`() async throws {
        let (calls, clock) = (Calls(), ManualClock())
        let host = ReactorHost(Caller(calls: calls), clock: clock)
        var log = Reading(await host.log())
        await host.send(.call(failures: 1))
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(10))
        await host.settled()
        let entries = try await log.next(11)
        #expect(entries.allSatisfy { $0.action == 1 })
        let started = entries.compactMap { entry -> String? in
            guard case .effectStarted(let step) = entry.event else { return nil }
            return step.id?.name ?? "-"
        }
        #expect(started == ["-", "runAgain", "-"])
    }
}
