import Reactors
import Testing

// What stands in `PortingFromReactorKit.md`, so that it compiles.

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

@Suite("The guide to porting from ReactorKit", .timeLimit(.minutes(5)))
struct PortingFromReactorKitTests {
    @Test func `its code is in this file, word for word`() throws {
        let guide = try Guide(
            "Sources/Reactors/Reactors.docc/PortingFromReactorKit.md", compiledIn: #filePath)
        #expect(guide.blocks.count == 3)
        #expect(guide.strayBlocks.isEmpty)
    }

    @Test func `its reactor alerts`() async {
        let host = ReactorHost(PortingPage.Alerts())
        await host.send(.alert("Hello"))
        await host.send(.doSomeAction)
        #expect(await host.currentState.alertMessage == "Hello")
        #expect(await host.version == 1)
    }

    @Test func `its topic reaches its session`() async {
        let topics = TopicBus()
        let host = ReactorHost(Profile(), topics: topics)
        let told = topics.publish(User(name: "tokijh"), to: .currentUser)
        #expect(told.sessions == 1)
        await told.applied()
        #expect(await host.currentState.name == "tokijh")
    }
}
