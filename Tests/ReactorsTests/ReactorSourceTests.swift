import Reactors
import Synchronization
import TestStreams
import Testing

@Suite(
    "A source is started once, merged into the session, and cannot kill it",
    .timeLimit(.minutes(60))
)
struct ReactorSourceTests {
    /// `Feed`: one stream of mutations, one of actions.
    private struct FeedReactor: Reactor {
        typealias Action = String
        typealias Mutation = String
        typealias State = [String]

        let users: AsyncThrowingStream<String, any Error>
        let commands: AsyncStream<String>
        let starts: Counter

        var initialState: [String] { [] }

        var sources: [Source] {
            starts.increase()
            return [.mutations(users, name: "users"), .actions(commands, name: "commands")]
        }

        func mutate(action: String) -> Effect<String> { .just("mutated \(action)") }
        func reduce(state: inout [String], mutation: String) { state.append(mutation) }
    }

    private final class Counter: Sendable {
        private let number = Mutex(0)
        var value: Int { number.withLock { $0 } }
        func increase() { number.withLock { $0 += 1 } }
    }

    private let users = AsyncThrowingStream<String, any Error>.makeStream()
    private let commands = AsyncStream<String>.makeStream()
    private let starts = Counter()

    private func makeHost() -> ReactorHost<FeedReactor> {
        ReactorHost(
            FeedReactor(users: users.stream, commands: commands.stream, starts: starts))
    }

    @Test func `cases 56 and 99: sources are made once, for any number of readers`() async throws {
        let host = makeHost()
        for _ in 0..<20 {
            var reading = Reading(await host.state())
            _ = try await reading.next(1)
            _ = await host.currentState
        }
        #expect(starts.value == 1)
    }

    @Test func `case 95: a source's mutations are reduced, its actions go through mutate`()
        async throws
    {
        let host = makeHost()
        var states = Reading(await host.state())
        users.continuation.yield("tokijh")
        #expect(try await states.next(2).last == ["tokijh"])
        commands.continuation.yield("go")
        #expect(try await states.next(1).last == ["tokijh", "mutated go"])
    }

    @Test func `case 97: a failing source is reported, and later actions work`() async throws {
        let host = makeHost()
        var failures = Reading(await host.failures())
        users.continuation.finish(throwing: Mishap())
        let failure = try await failures.next(1).first
        #expect(failure?.place == .source)
        #expect(failure?.error is Mishap)
        await host.send("still")
        #expect(await host.currentState == ["mutated still"])
    }

    @Test func `case 97: a source's end is reported, and the session lives`() {
        let probe = CoreProbe(
            FeedReactor(users: users.stream, commands: commands.stream, starts: starts))
        let sources = probe.core.makeSources()
        probe.core.ended(source: sources[0], failure: nil, observer: probe)
        probe.core.receive(fromSource: "x", observer: probe)
        #expect(probe.log == ["source users ended", "mutated 0"])
        probe.core.end(observer: probe)
        probe.core.ended(source: sources[1], failure: Mishap(), observer: probe)
        #expect(probe.failures.isEmpty)
    }

    @Test func `a source ends with its host`() async {
        let ended = Gate()
        users.continuation.onTermination = { _ in Task { await ended.pass() } }
        ended.open()
        do {
            let host = makeHost()
            #expect(await host.version == 0)
        }
        await ended.hasArrivals(1)
    }
}
