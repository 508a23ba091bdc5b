import Reactors
import Testing

private struct Mapper: Reactor {
    enum Action { case go }
    enum Activity { case heard }
    typealias Mutation = String
    typealias State = [String]

    struct Failure: Error {}

    let initialState: [String] = []

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        let numbers: Effect<Int> = .concat(
            .just(1), .of(2, 3), .deferred { state in .just(state.count) }, .emit(.heard),
            .merge(
                .run(id: "step", policy: .latest) { send in await send(4) },
                .run { send in
                    await send(5)
                    await send.emit(.heard)
                }),
            .just(6), .error(Failure()), .just(7))
        return numbers.map { "\($0)" }
    }

    func reduce(state: inout State, mutation: Mutation) { state.append(mutation) }
}

private struct Empty: Reactor {
    enum Action { case go }
    typealias Mutation = String
    typealias State = [String]
    let initialState: [String] = []

    func mutate(action: Action) -> Observable<Mutation> {
        let nothing: Observable<Int> = .empty()
        return .concat([nothing.map { "\($0)" }, Observable<Int>.just(1).map { "\($0)" }])
    }

    func reduce(state: State, mutation: Mutation) -> State { state + [mutation] }
}

@Suite("An effect's values can be mapped", .timeLimit(.minutes(60)))
struct EffectMapTests {
    @Test func `values of every part are mapped, and order, activities and errors stay`()
        async throws
    {
        let host = ReactorHost(Mapper())
        let (activities, failures) = (await host.activities(), await host.failures())
        await host.send(.go)
        await host.settled()
        let state = await host.currentState
        #expect(state.prefix(4) == ["1", "2", "3", "3"])
        #expect(state.dropFirst(4).dropLast().sorted() == ["4", "5"])
        #expect(state.last == "6")
        await host.end()
        var told = 0
        for try await _ in activities { told += 1 }
        #expect(told == 2)
        var failed = 0
        for try await _ in failures { failed += 1 }
        #expect(failed == 1)
    }

    @Test func `an empty effect stays empty, and one value is one mutation`() async {
        let host = ReactorHost(Empty())
        await host.send(.go)
        #expect(await host.currentState == ["1"])
    }
}
