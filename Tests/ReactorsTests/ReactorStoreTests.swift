import Reactors
import Testing

/// A view's part of a program: it knows only the protocol.
private func raise(
    _ message: String, in store: some ReactorStore<AlertsReactor>
) async throws -> (accepted: Bool, alerts: [String?], counts: [Int]) {
    let alerts = await store.pulse(\.$message)
    let counts = await store.state(\.count, buffer: 2)
    let accepted = try await store.send(.raise(message)).accepted
    try await store.send(.raise(message))
    return (
        accepted, try await first(3, of: alerts), try await first(2, of: counts)
    )
}

private func first<Element>(
    _ count: Int, of stream: ReactorStream<Element>
) async throws -> [Element] {
    var elements: [Element] = []
    for try await element in stream {
        elements.append(element)
        if elements.count == count { break }
    }
    return elements
}

private struct AlertsReactor: Reactor {
    enum Action: Sendable { case raise(String), hint(String) }
    typealias Mutation = String
    typealias Activity = String

    struct State: Sendable {
        @Pulse var message: String?
        var count = 0
    }

    let initialState = State()

    func mutate(state: State, action: Action) -> Effect<String> {
        switch action {
        case .raise(let message): .just(message)
        case .hint(let hint): .emit(hint)
        }
    }

    func reduce(state: inout State, mutation: String) {
        state.message = mutation
        state.count = 1
    }
}

@Suite("a reactor store", .timeLimit(.minutes(60)))
struct ReactorStoreTests {
    @Test func `a function that knows only the protocol runs on a host`() async throws {
        let host = ReactorHost(AlertsReactor())
        let result = try await raise("Hello", in: host)
        #expect(result.accepted)
        #expect(result.alerts == [nil, "Hello", "Hello"])
        #expect(result.counts == [0, 1])
        #expect(await host.version == 2)
    }

    @Test func `a host is one of the stores of a program`() async throws {
        let stores: [any ReactorStore<AlertsReactor>] = [ReactorHost(AlertsReactor())]
        let store = try #require(stores.first)
        let states = await store.state()
        let hints = await store.activities()
        try await store.send(.raise("Hello"))
        try await store.send(.hint("soon"))
        #expect(try await first(2, of: states).map(\.message) == [nil, "Hello"])
        #expect(try await first(1, of: hints) == ["soon"])
        #expect(await store.currentState.count == 1)
        #expect(await store.version == 1)
    }
}
