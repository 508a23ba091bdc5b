import ReactorTesting
import Reactors
import Testing

// Reactors in the shape of ReactorKit's examples, ported as `PortingFromReactorKit.md` describes.

private final class CountingReactor: Reactor {
    enum Action {
        case increase, decrease
    }

    enum Mutation {
        case changeValue(by: Int)
        case setLoading(Bool)
        case setAlertMessage(String)
    }

    struct State {
        var value: Int
        var isLoading: Bool
        @Pulse var alertMessage: String?
    }

    let initialState: State

    init() {
        self.initialState = State(value: 0, isLoading: false)
    }

    func mutate(action: Action) -> Observable<Mutation> {
        switch action {
        case .increase:
            return Observable.concat([
                Observable.just(Mutation.setLoading(true)),
                Observable.just(Mutation.changeValue(by: 1)).delay(.milliseconds(500)),
                Observable.just(Mutation.setLoading(false)),
                Observable.just(Mutation.setAlertMessage("increased")),
            ])
        case .decrease:
            return .concat([.just(.changeValue(by: -1)), Observable.empty()])
        }
    }

    func reduce(state: State, mutation: Mutation) -> State {
        var state = state
        switch mutation {
        case .changeValue(let step): state.value += step
        case .setLoading(let isLoading): state.isLoading = isLoading
        case .setAlertMessage(let message): state.alertMessage = message
        }
        return state
    }
}

private struct Catalogue: Sendable {
    func items(matching text: String, page: Int) async throws -> [String] {
        ["\(text) \(page).1", "\(text) \(page).2"]
    }
}

private final class CatalogueReactor: Reactor {
    enum Action {
        case updateQuery(String?)
        case loadNextPage
    }

    enum Mutation {
        case setQuery(String?)
        case setItems([String])
        case appendItems([String])
        case setLoading(Bool)
    }

    struct State {
        var query: String?
        var items: [String] = []
        var page = 1
        var isLoading = false
    }

    let initialState = State()
    private let catalogue: Catalogue

    init(catalogue: Catalogue) { self.catalogue = catalogue }

    func mutate(state: State, action: Action) -> Observable<Mutation> {
        switch action {
        case .updateQuery(let query):
            return .concat([
                .just(.setQuery(query)),
                .run(id: "search", policy: .latest) { [catalogue] send in
                    await send(.setItems(try await catalogue.items(matching: query ?? "", page: 1)))
                },
            ])
        case .loadNextPage:
            guard !state.isLoading, let query = state.query else { return .empty() }
            let page = state.page + 1
            return .concat([
                .just(.setLoading(true)),
                .run(id: "search") { [catalogue] send in
                    await send(.appendItems(try await catalogue.items(matching: query, page: page)))
                },
                .just(.setLoading(false)),
            ])
        }
    }

    func reduce(state: State, mutation: Mutation) -> State {
        var state = state
        switch mutation {
        case .setQuery(let query): state.query = query
        case .setItems(let items):
            state.items = items
            state.page = 1
        case .appendItems(let items):
            state.items += items
            state.page += 1
        case .setLoading(let isLoading): state.isLoading = isLoading
        }
        return state
    }
}

@Suite("Reactors of the shape of ReactorKit's examples, ported", .timeLimit(.minutes(60)))
struct PortedExamplesTests {
    @Test func `a delayed change comes after the delay, and later steps after it`() async {
        let clock = ManualClock()
        let host = ReactorHost(CountingReactor(), clock: clock)
        await host.send(.increase)
        #expect(await host.currentState.isLoading)
        #expect(await host.currentState.value == 0)
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(500))
        await host.settled()
        let state = await host.currentState
        #expect(state.value == 1)
        #expect(!state.isLoading)
        #expect(state.alertMessage == "increased")
        await host.send(.decrease)
        #expect(await host.currentState.value == 0)
    }

    @Test func `a search asks a service that the step has captured`() async {
        let host = ReactorHost(CatalogueReactor(catalogue: Catalogue()))
        await host.send(.updateQuery("swift"))
        await host.settled()
        #expect(await host.currentState.items == ["swift 1.1", "swift 1.2"])
        await host.send(.loadNextPage)
        await host.settled()
        #expect(await host.currentState.items.count == 4)
        #expect(await host.currentState.page == 2)
        #expect(await !host.currentState.isLoading)
    }
}
