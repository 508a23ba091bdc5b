import Reactors
import Synchronization
import Testing

extension Topic where Element == String {
    fileprivate static let currentUser = Topic("currentUser")
    fileprivate static let commands = Topic("commands")
}

@Suite("A topic reaches every session that listens, once, in one order", .timeLimit(.minutes(60)))
struct TopicTests {
    private struct Profile: Reactor {
        typealias Action = String
        typealias Mutation = String
        let initialState: [String] = []

        var sources: [Source] {
            [
                .mutations(topic: .currentUser) { "user \($0)" },
                .actions(topic: .commands) { $0 },
            ]
        }

        func mutate(action: String) -> Effect<String> { .just("did \(action)") }
        func reduce(state: inout [String], mutation: String) { state.append(mutation) }
    }

    private struct Texts: TopicDecoder {
        let text: String
        func decode<Element: Decodable>(_ type: Element.Type) throws -> Element {
            guard let value = text as? Element else { throw Mishap() }
            return value
        }
    }

    private struct NotDecodable: Sendable {}

    private let topics = TopicBus()

    @Test func `case 95: one publication is one mutation of every session, and of no other`()
        async throws
    {
        let hosts = (0..<3).map { _ in ReactorHost(Profile(), topics: topics) }
        let stranger = ReactorHost(Profile(), topics: TopicBus())
        let delivery = topics.publish("tokijh", to: .currentUser)
        #expect(delivery.sessions == 3)
        #expect(await delivery.applied() == 3)
        for host in hosts { #expect(await host.currentState == ["user tokijh"]) }
        #expect(await stranger.version == 0)
    }

    @Test func `a topic's values can be actions`() async {
        let host = ReactorHost(Profile(), topics: topics)
        await topics.publish("go", to: .commands).applied()
        #expect(await host.currentState == ["did go"])
    }

    @Test func `all sessions get all publishers' values in one order`() async {
        let topics = TopicBus()
        let hosts = (0..<3).map { _ in ReactorHost(Profile(), topics: topics) }
        await withTaskGroup { group in
            for publisher in 0..<8 {
                group.addTask {
                    for number in 0..<50 {
                        await topics.publish("\(publisher) \(number)", to: .currentUser).applied()
                    }
                }
            }
        }
        let first = await hosts[0].currentState
        #expect(first.count == 400)
        for host in hosts { #expect(await host.currentState == first) }
        for publisher in 0..<8 {
            let own = first.filter { $0.hasPrefix("user \(publisher) ") }
            #expect(own == (0..<50).map { "user \(publisher) \($0)" })
        }
    }

    @Test func `a session gets no value published before it began`() async {
        #expect(topics.publish("early", to: .currentUser).sessions == 0)
        let host = ReactorHost(Profile(), topics: topics)
        await topics.publish("late", to: .currentUser).applied()
        #expect(await host.currentState == ["user late"])
    }

    @Test func `an ended session does not apply a value and is not waited for`() async {
        let host = ReactorHost(Profile(), topics: topics)
        await host.end()
        #expect(await topics.publish("x", to: .currentUser).applied() == 0)
        #expect(await host.version == 0)
    }

    @Test func `a released session leaves its topics`() async {
        do {
            let host = ReactorHost(Profile(), topics: topics)
            await topics.publish("x", to: .currentUser).applied()
            #expect(await host.version == 1)
        }
        while topics.publish("y", to: .currentUser).sessions > 0 { await Task.yield() }
    }

    @Test func `waiting for a delivery ends with the waiting task`() async throws {
        let listening = Profile().sources[0].open(topics).read
        let delivery = topics.publish("x", to: .currentUser)
        let waiting = Task { await delivery.applied() }
        waiting.cancel()
        #expect(await waiting.value == 0)
        withExtendedLifetime(listening) {}
    }

    @Test func `case 97: a reader beyond the limit gets its buffered values, then an error`()
        async throws
    {
        let read = Profile().sources[0].open(topics).read
        for _ in 0..<TopicBus.limit {
            #expect(topics.publish("x", to: .currentUser).sessions == 1)
        }
        let other = ReactorHost(Profile(), topics: topics)
        let delivery = topics.publish("too many", to: .currentUser)
        #expect(delivery.sessions == 1)
        #expect(await delivery.applied() == 1)
        #expect(await other.currentState == ["user too many"])
        let taken = Mutex(0)
        await #expect(throws: ReaderTooSlow.self) {
            try await read(nil, nil) { _, _ in
                taken.withLock { $0 += 1 }
                return true
            }
        }
        #expect(taken.withLock { $0 } == TopicBus.limit)
    }

    @Test func `releasing a subscription ends it at once`() {
        do {
            let read = Profile().sources[0].open(topics).read
            #expect(topics.publish("x", to: .currentUser).sessions == 1)
            withExtendedLifetime(read) {}
        }
        #expect(topics.publish("x", to: .currentUser).sessions == 0)
    }

    @Test func `a posted value is decoded for each type, and refused if it is none of one`()
        async throws
    {
        let host = ReactorHost(Profile(), topics: topics)
        #expect(Profile().sources.map(\.topic) == ["currentUser", "commands"])
        receive(0)
        try topics.check(Texts(text: "a"), of: "currentUser")
        let told = topics.receive(
            Texts(text: "a"), of: "currentUser", at: TopicPosition("g", 1))
        #expect(await told?.applied() == 1)
        #expect(await host.currentState == ["user a"])

        let number = ReactorSource<Int, Int>.mutations(topic: Topic("currentUser")) { $0 }
        let read = number.open(topics).read
        #expect(throws: Mishap.self) {
            try topics.check(Texts(text: "b"), of: "currentUser")
        }
        #expect(topics.publish("c", to: .currentUser).sessions == 1)
        #expect(topics.publish(1, to: Topic("currentUser")).sessions == 1)
        withExtendedLifetime(read) {}
    }

    @Test func `an unknown topic has no listener, nor has a value that HTTP can't decode`() throws {
        let source = ReactorSource<Int, Int>.actions(topic: Topic<NotDecodable>("odd")) { _ in 1 }
        let read = source.open(topics).read
        for name in ["odd", "unknown"] {
            try topics.check(Texts(text: "x"), of: name)
            for number in 0...1 as ClosedRange<UInt64> {
                let told = topics.receive(
                    Texts(text: "x"), of: name, at: TopicPosition("g", number))
                #expect(told?.sessions ?? 0 == 0)
            }
        }
        #expect(topics.publish(NotDecodable(), to: Topic("odd")).sessions == 1)
        withExtendedLifetime(read) {}
    }

    // MARK: Topics with a session

    /// The values of a topic's session: the texts of their numbers.
    private final class Numbers: TopicHistory {
        func values(
            of topic: String, after start: TopicPosition, through last: UInt64
        ) async -> TopicPage? {
            // In pages.
            let numbers = ((start.number + 1)...last).prefix(100)
            let values = numbers.map {
                (
                    place: TopicPosition(start.generation, $0),
                    value: Texts(text: "\($0)") as any TopicDecoder
                )
            }
            return TopicPage(values, to: values.last?.place ?? start)
        }
    }

    private func receive(_ number: UInt64) {
        _ = topics.receive(
            Texts(text: "\(number)"), of: "currentUser", at: TopicPosition("g", number))
    }

    /// Reads until a number comes.
    private func read(
        _ source: ReactorSource<Profile.Action, Profile.Mutation>.Opening, after start: UInt64,
        until last: UInt64
    ) async throws -> [UInt64] {
        let numbers = Mutex<[UInt64]>([])
        try await source.read(TopicPosition("g", start), Numbers()) { _, place in
            guard let place else { return false }
            numbers.withLock { $0.append(place.number) }
            return place.number < last
        }
        return numbers.withLock { $0 }
    }

    @Test func `a reader gets from the history what was published before it began to listen`()
        async throws
    {
        receive(250)
        let source = Profile().sources[0].open(topics)
        receive(251)
        #expect(try await read(source, after: 3, until: 251) == Array(4...251))
    }

    @Test func `a reader gets from the history what its stream has dropped`() async throws {
        receive(1)
        let source = Profile().sources[0].open(topics)
        let count = UInt64(TopicBus.limit) + 300
        for number in 2...count { receive(number) }
        #expect(try await read(source, after: 1, until: count) == Array(2...count))
    }

    @Test func `a reader skips what it has read, and sees a gap`() async throws {
        receive(1)
        let source = Profile().sources[0].open(topics)
        for number in [2, 3, 4, 7] as [UInt64] { receive(number) }
        #expect(try await read(source, after: 3, until: 7) == [4, 5, 6, 7])
    }
}
