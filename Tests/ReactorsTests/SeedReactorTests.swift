import Foundation
import Reactors
import TestStreams
import Testing

// The seeds omit the actions, the mutations, the initial state and the body of `doSomeAction`:
// those lines are `completion` below, everything else is theirs.

// swift-format-ignore
// Reactor
private final class MyReactor: Reactor {
  enum Action { case alert(String?), doSomeAction }
  enum Mutation { case setAlertMessage(String?) }
  let initialState = State()

  struct State {
    @Pulse var alertMessage: String?
  }

  func mutate(action: Action) -> Effect<Mutation> {
    switch action {
    case let .alert(message):
      return Effect.just(Mutation.setAlertMessage(message))
    case .doSomeAction:
      return Effect.empty()
    }
  }

  func reduce(state: State, mutation: Mutation) -> State {
    var newState = state

    switch mutation {
    case let .setAlertMessage(alertMessage):
      newState.alertMessage = alertMessage
    }

    return newState
  }
}
// End of the reactor

@Suite(
    "The seeds' reactor ports by changing its imports and its return type", .timeLimit(.minutes(60))
)
struct SeedReactorTests {
    private static let completion = [
        "enum Action { case alert(String?), doSomeAction }",
        "enum Mutation { case setAlertMessage(String?) }",
        "let initialState = State()",
        "case .doSomeAction:",
        "return Effect.empty()",
    ]

    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }

    @Test func `the compiled text is the seeds' with Observable renamed and the gaps filled`()
        throws
    {
        let file = try String(contentsOfFile: #filePath, encoding: .utf8)
        let start = try #require(file.range(of: "// Reactor\n"))
        let end = try #require(file.range(of: "// End of the reactor"))
        let ours = Self.lines(file[start.lowerBound..<end.lowerBound])
        var rest = Self.lines(seedReactorText.replacing("Observable", with: "Effect"))[...]
        var added: [String] = []
        for line in ours {
            if line == rest.first { rest.removeFirst() } else { added.append(line) }
        }
        #expect(rest.isEmpty)
        #expect(added == Self.completion)
    }

    @Test func `case 19: the seeds' Cases show Hello, Hello, Hello, tokijh`() async throws {
        let host = ReactorHost(MyReactor())
        var alerts = Reading(await host.pulse(\.$alertMessage))
        #expect(try await alerts.next(1) == [nil])
        await host.send(.alert("Hello"))
        await host.send(.alert("Hello"))
        await host.send(.doSomeAction)
        await host.send(.alert("Hello"))
        await host.send(.alert("tokijh"))
        await host.send(.doSomeAction)
        await host.send(.alert("sentinel"))
        #expect(
            try await alerts.next(5) == ["Hello", "Hello", "Hello", "tokijh", "sentinel"])
        #expect(await host.version == 5)
    }

    @Test func `case 24: an action without mutation is silent and makes no version`() async throws {
        let host = ReactorHost(MyReactor())
        var states = Reading(await host.state())
        let answer = await host.send(.doSomeAction)
        #expect(answer == SendResult(accepted: true, version: 0))
        await host.send(.alert("sentinel"))
        #expect(try await states.next(2).map(\.alertMessage) == [nil, "sentinel"])
    }
}
