import Reactors
import TestStreams
import Testing

// The code of `PortingFromReactorKit.md`, compiled.

private enum PortingPage {
    // swift-format-ignore
    final class Alerts: Reactor {
        enum Action { case alert(String?), doSomeAction }
        enum Mutation { case setAlertMessage(String?) }
        struct State { @Pulse var alertMessage: String? }

        let initialState = State()

        func mutate(action: Action) -> Effect<Mutation> {           // was Observable<Mutation>
            switch action {
            case let .alert(message):
                return .just(.setAlertMessage(message))
            case .doSomeAction:
                return .empty()
            }
        }

        func reduce(state: State, mutation: Mutation) -> State {    // as it was
            var newState = state
            switch mutation {
            case let .setAlertMessage(alertMessage):
                newState.alertMessage = alertMessage
            }
            return newState
        }
    }
}

struct User: Sendable { var name: String }

extension Topic where Element == User {
    static let currentUser = Topic("currentUser", remembers: true)
}

struct Profile: Reactor {
    enum Mutation { case setUser(User), setLoading(Bool) }
    typealias Action = Never
    struct State { var name = "" }

    let initialState = State()

    var sources: [Source] { [.mutations(topic: .currentUser) { .setUser($0) }] }

    func reduce(state: inout State, mutation: Mutation) {
        if case .setUser(let user) = mutation { state.name = user.name }
    }
}

private protocol Accounts: Sendable {
    func authorize() async throws
    func fetchMe() async throws
}

private struct Page: Sendable {
    var items: [String]
    var next: Int?
}

private protocol Pages: Sendable {
    func page(_ number: Int) async throws -> Page
}

struct Reaction: Sendable { var itemID: Int }

private protocol Likes: Sendable {
    func like(_ id: Int) async throws
}

extension Topic where Element == Reaction {
    fileprivate static let reactions = Topic("reactions")
}

private enum AppPage {
    final class SignIn: Reactor {
        enum Action { case signIn }
        enum Mutation { case setLoading(Bool), setSignedIn(Bool) }
        struct State { var isLoading = false, isSignedIn = false }

        let initialState = State()
        private let accounts: any Accounts

        init(accounts: any Accounts) { self.accounts = accounts }

        func mutate(action: Action) -> Observable<Mutation> {
            let setLoading: Observable<Mutation> = .just(.setLoading(true))
            let setSignedIn: Observable<Mutation> = .run { [accounts] send in
                do {
                    try await accounts.authorize()
                    try await accounts.fetchMe()  // was .flatMap { self.accounts.fetchMe() }
                    await send(.setSignedIn(true))
                } catch {  // was .catchErrorJustReturn(false)
                    await send(.setSignedIn(false))
                }
            }
            return .concat([setLoading, setSignedIn, .just(.setLoading(false))])
        }

        func reduce(state: State, mutation: Mutation) -> State {
            var state = state
            switch mutation {
            case .setLoading(let isLoading): state.isLoading = isLoading
            case .setSignedIn(let isSignedIn): state.isSignedIn = isSignedIn
            }
            return state
        }
    }

    final class Feed: Reactor {
        enum Action { case refresh, loadMore }
        enum Mutation { case setRefreshing(Bool), append([String], next: Int?) }
        struct State {
            var items: [String] = []
            var next: Int? = 1
            var isRefreshing = false
        }

        let initialState = State()
        private let catalogue: any Pages

        init(catalogue: any Pages) { self.catalogue = catalogue }

        func mutate(state: State, action: Action) -> Observable<Mutation> {
            guard !state.isRefreshing, let page = state.next else { return .empty() }
            return Observable.concat([
                Observable.just(.setRefreshing(true)),
                self.page(page).map { Mutation.append($0.items, next: $0.next) },
                Observable.just(.setRefreshing(false)),
            ])
        }

        private func page(_ number: Int) -> Observable<Page> {
            .run { [catalogue] send in await send(try await catalogue.page(number)) }
        }

        func reduce(state: State, mutation: Mutation) -> State {
            var state = state
            switch mutation {
            case .setRefreshing(let isRefreshing): state.isRefreshing = isRefreshing
            case .append(let items, let next):
                state.items += items
                state.next = next
            }
            return state
        }
    }

    class ReactionButton: Reactor {
        enum Action { case toggle }
        enum Mutation { case hear(Reaction) }
        struct State {
            let itemID: Int
            var count = 0
        }

        let initialState: State

        init(itemID: Int) { initialState = State(itemID: itemID) }

        // Was transform(mutation:), which merged a global PublishSubject in.
        var sources: [Source] { [.mutations(topic: .reactions) { .hear($0) }] }

        func mutate(state: State, action: Action) -> Observable<Mutation> { .empty() }

        func reduce(state: State, mutation: Mutation) -> State {
            var state = state
            if case .hear(let reaction) = mutation, reaction.itemID == state.itemID {
                state.count += 1
            }
            return state
        }
    }

    final class LikeButton: ReactionButton {
        private let likes: any Likes

        init(itemID: Int, likes: any Likes) {
            self.likes = likes
            super.init(itemID: itemID)
        }

        override func mutate(state: State, action: Action) -> Observable<Mutation> {
            let id = state.itemID  // was self.currentState.itemID
            return .run { [likes] _ in try await likes.like(id) }  // was _ = ….subscribe()
        }
    }
}

private protocol ItemFeed: Sendable {
    func load(_ done: @escaping @Sendable ([String]) -> Void)
}

private enum BeforeAndAfter {
    protocol SearchService: Sendable {
        func search(_ text: String) async throws -> [String]
    }

    struct Items: Reactor {
        enum Action { case load }
        enum Mutation { case setItems([String]) }
        struct State { var items: [String] = [] }

        let initialState = State()
        let feed: any ItemFeed

        func mutate(action: Action) -> Observable<Mutation> {
            return .run { [feed] send in
                let items = await withCheckedContinuation { continuation in
                    feed.load { continuation.resume(returning: $0) }
                }
                await send(.setItems(items))
            }
        }

        func reduce(state: inout State, mutation: Mutation) {
            switch mutation {
            case .setItems(let items): state.items = items
            }
        }
    }

    struct Search: Reactor {
        enum Action { case search(String), leave }
        enum Mutation { case setItems([String]), setLoading(Bool) }
        struct State: Equatable {
            var items: [String] = []
            var isLoading = false
        }

        let initialState = State()
        let service: any SearchService

        func mutate(action: Action) -> Observable<Mutation> {
            guard case .search(let text) = action else { return .empty() }
            return .concat([
                .just(.setLoading(true)),
                .run(id: "search", policy: .latest) { [service] send in
                    let items = (try? await service.search(text)) ?? []
                    await send(.setItems(items))  // dropped once it is cancelled
                    await send(.setLoading(false))  // and so is this
                },
            ])
        }

        func reduce(state: inout State, mutation: Mutation) {
            switch mutation {
            case .setItems(let items): state.items = items
            case .setLoading(let isLoading): state.isLoading = isLoading
            }
        }
    }
}

private struct TwoItems: ItemFeed {
    func load(_ done: @escaping @Sendable ([String]) -> Void) { done(["a", "b"]) }
}

/// Answers when its gate is open, or with an error when it is cancelled.
private struct GatedSearch: BeforeAndAfter.SearchService {
    let gate = Gate()

    func search(_ text: String) async throws -> [String] {
        await gate.pass()
        try Task.checkCancellation()
        return [text]
    }
}

private struct Known: Accounts, Pages {
    struct Refused: Error {}

    var isKnown = true

    func authorize() async throws { guard isKnown else { throw Refused() } }

    func fetchMe() async throws {}

    func page(_ number: Int) async throws -> Page {
        Page(items: ["\(number).1", "\(number).2"], next: number < 2 ? number + 1 : nil)
    }
}

/// Publishes the requested change, as an app's services would.
private struct Publisher: Likes {
    let topics: TopicBus

    func like(_ id: Int) async { topics.publish(Reaction(itemID: id), to: .reactions) }
}

@Suite("The guide to porting from ReactorKit", .timeLimit(.minutes(60)))
struct PortingFromReactorKitTests {
    @Test func `the document's code is in this file, word for word`() throws {
        for (page, count) in [("PortingFromReactorKit", 7), ("ReactorKitNames", 2)] {
            let guide = try Guide(
                "Sources/Reactors/Reactors.docc/\(page).md", compiledIn: #filePath)
            #expect(guide.blocks.count == count)
            #expect(guide.strayBlocks.isEmpty)
        }
    }

    @Test func `its reactor alerts`() async {
        let host = ReactorHost(PortingPage.Alerts())
        await host.send(.alert("Hello"))
        await host.send(.doSomeAction)
        #expect(await host.currentState.alertMessage == "Hello")
        #expect(await host.version == 1)
    }

    @Test func `its topic's values reach its session`() async {
        let topics = TopicBus()
        let host = ReactorHost(Profile(), topics: topics)
        let delivery = topics.publish(User(name: "tokijh"), to: .currentUser)
        #expect(delivery.sessions == 1)
        await delivery.applied()
        #expect(await host.currentState.name == "tokijh")
    }

    @Test(arguments: [true, false])
    func `its login ends signed in or not, never loading`(_ isKnown: Bool) async {
        let host = ReactorHost(AppPage.SignIn(accounts: Known(isKnown: isKnown)))
        await host.send(.signIn)
        await host.settled()
        #expect(await host.currentState.isSignedIn == isKnown)
        #expect(await !host.currentState.isLoading)
        #expect(await host.version == 3)
    }

    @Test func `its feed loads page after page, to the last`() async {
        let host = ReactorHost(AppPage.Feed(catalogue: Known()))
        for _ in 0..<3 {
            await host.send(.loadMore)
            await host.settled()
        }
        #expect(await host.currentState.items == ["1.1", "1.2", "2.1", "2.2"])
        #expect(await host.currentState.next == nil)
    }

    @Test func `its like button gets its own result, and its own item's only`() async {
        let topics = TopicBus()
        let host = ReactorHost(
            AppPage.LikeButton(itemID: 7, likes: Publisher(topics: topics)), topics: topics)
        await host.send(.toggle)
        await host.settled()
        await topics.publish(Reaction(itemID: 8), to: .reactions).applied()
        #expect(await host.currentState.count == 1)
    }

    @Test func `its callback becomes a step`() async {
        let host = ReactorHost(BeforeAndAfter.Items(feed: TwoItems()))
        await host.send(.load)
        await host.settled()
        #expect(await host.currentState.items == ["a", "b"])
    }

    @Test func `its newer search loads until its own items are there`() async throws {
        let service = GatedSearch()
        let host = ReactorHost(BeforeAndAfter.Search(service: service))
        let states = await host.state()
        await host.send(.search("a"))
        await service.gate.hasArrivals(1)
        await host.send(.search("b"))
        await service.gate.hasArrivals(2)
        service.gate.open()
        await host.settled()
        await host.end()
        var seen: [BeforeAndAfter.Search.State] = []
        for try await state in states where seen.last != state { seen.append(state) }
        #expect(
            seen == [
                .init(), .init(isLoading: true), .init(items: ["b"], isLoading: true),
                .init(items: ["b"]),
            ])
    }
}
