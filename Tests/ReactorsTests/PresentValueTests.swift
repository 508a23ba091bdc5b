import Reactors
import TestStreams
import Testing

@Suite(
    "Case 96 — a source's present value is there before the first visible state",
    .timeLimit(.minutes(60)))
struct PresentValueTests {
    private struct Profile: Reactor {
        typealias Action = String
        enum Mutation: Sendable {
            case setUser(String)
            case add(String)
        }
        struct State: Sendable {
            @Pulse var user = "nobody"
            var seen: [String] = []
        }

        var initialState: State { State() }
        var sources: [Source] {
            [
                .mutations(topic: Topic<String>("user", remembers: true)) { .setUser($0) },
                .actions(AsyncStream<String> { $0.finish() }, present: "named"),
                .mutations(AsyncStream<Mutation> { $0.finish() }),
            ]
        }

        func mutate(action: String) -> Effect<Mutation> {
            .concat(.just(.add(action)), .run { await $0(.add("\(action), later")) })
        }
        func reduce(state: inout State, mutation: Mutation) {
            switch mutation {
            case .setUser(let user):
                state.user = user
                state.seen.append(user)
            case .add(let text): state.seen.append(text)
            }
        }
    }

    private let topics = TopicBus()
    private let user = Topic<String>("user", remembers: true)

    @Test func `case 96: the first state has the present values, in the order of the sources`()
        async throws
    {
        topics.publish("u-1", to: user)
        topics.publish("u0", to: user)
        let host = ReactorHost(Profile(), topics: topics)
        let state = await host.currentState
        #expect(state.seen.prefix(2) == ["u0", "named"])
        #expect(await host.version >= 2)
        // An effect that it began still runs.
        await host.settled()
        #expect(await host.currentState.seen == ["u0", "named", "named, later"])
    }

    @Test func `case 96: a stream's first element is the present value, and later ones follow`()
        async throws
    {
        topics.publish("u0", to: user)
        let host = ReactorHost(Profile(), topics: topics)
        var users = Reading(await host.pulse(\.$user))
        #expect(await topics.publish("u1", to: user).applied() == 1)
        #expect(try await users.next(2) == ["u0", "u1"])
    }

    @Test func `a source without a present value is not waited for`() async {
        let host = ReactorHost(Profile(), topics: topics)
        #expect(await host.currentState.seen.first == "named")
        #expect(await host.currentState.user == "nobody")
    }

    @Test func `a topic that does not remember has no present value`() async {
        struct Forgetful: Reactor {
            typealias Action = String
            var initialState: String { "none" }
            var sources: [Source] { [.mutations(topic: Topic<String>("user")) { $0 }] }
            func reduce(state: inout String, mutation: String) { state = mutation }
        }
        topics.publish("u0", to: Topic("user"))
        #expect(await ReactorHost(Forgetful(), topics: topics).currentState == "none")
        // But it has one if a publication declared it as remembering.
        topics.publish("u1", to: user)
        #expect(await ReactorHost(Forgetful(), topics: topics).currentState == "u1")
    }

    @Test func `topics of two types under one name remember separately`() async {
        topics.publish(1, to: Topic<Int>("user", remembers: true))
        #expect(await ReactorHost(Profile(), topics: topics).currentState.user == "nobody")
        #expect(Topic<Int>("a") == Topic<Int>("a", remembers: true))
    }

    @Test func `beyond the limit the topic with the oldest publication is forgotten`() async {
        topics.publish("u0", to: user)
        for number in 0..<TopicBus.rememberedLimit {
            topics.publish(number, to: Topic<Int>("t\(number)", remembers: true))
        }
        #expect(topics.rememberedCount == TopicBus.rememberedLimit)
        #expect(await ReactorHost(Profile(), topics: topics).currentState.user == "nobody")
    }
}
