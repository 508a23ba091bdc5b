import struct ClientMachine.ClientLimits
import Reactors
import Testing

@testable import ReactorClient

/// Counts, and has a pulse, an activity and an effect that a prediction must not start.
struct Tally: Reactor {
    enum Action: TaggedCodable, Sendable {
        case add(number: Int)
        case note(text: String)
        case divide(by: Double)
    }
    enum Mutation: Sendable {
        case add(Int)
        case note(String)
    }
    enum Activity: TaggedCodable, Sendable, Equatable { case hint(text: String) }

    struct State: Codable, Sendable, Equatable {
        var count = 0
        @Pulse var note: String?

        enum CodingKeys: String, CodingKey {
            case count
            case note = "newestNote"
        }
    }

    let initialState = State()

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .add(let number):
            .concat(.just(.add(number)), .run { _ in Issue.record("a prediction starts no step") })
        case .note(let text): .just(.note(text))
        case .divide: .none
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .add(let number): state.count += number
        case .note(let text): state.note = text
        }
    }
}

func tally(_ count: Int, note: String? = nil) -> String {
    #"{"count":\#(count),"newestNote":\#(note.map { "\"\($0)\"" } ?? "null")}"#
}

func at(_ number: Int) -> String { "aaaaaaaa.\(number)" }

func receipt(_ number: Int, _ rest: String = "") -> String {
    #"{"version":\#(number),"position":"aaaaaaaa.\#(number)"\#(rest)}"#
}

/// The problem that ``ScriptedExchange/problem(_:_:_:)`` responds with.
func problem(
    _ status: Int, _ code: String, _ refusal: Refusal? = nil
) -> ProblemDetails {
    ProblemDetails(
        status: status, code: code, detail: refusal?.detail ?? code + "!", refusal: refusal)
}

/// A client with its scripted transport. Nothing that the script does comes too late: a test may be
/// held up by all others.
struct Rig {
    let transport: ScriptedTransport
    let client: ReactorClient

    /// - Parameter rounds: the transport in whose rounds the script's calls come; nil:
    ///   without rounds.
    init(_ configuration: ClientConfiguration = .init(), in rounds: ScriptedRounds? = nil) throws {
        transport = rounds?.scripted ?? ScriptedTransport()
        var configuration = configuration
        configuration.transport = rounds ?? transport
        configuration.limits.waitForScript()
        client = try ReactorClient("https://example.com", configuration)
    }

    /// Follows `room`, with its first state.
    func room(
        _ state: String = tally(0), predicts: Bool = true, pulses: String = #"{"newestNote":null}"#
    ) async throws -> (RemoteReactor<Tally>, ScriptedExchange) {
        async let stream = transport.serve(state, pulses: pulses)
        let room: RemoteReactor<Tally> = try await client.session(
            "room", of: "tally", predicting: predicts ? Tally() : nil)
        return (room, await stream)
    }
}

extension ClientLimits {
    fileprivate mutating func waitForScript() {
        let day = Duration.seconds(86_400)
        (hold, readBack) = (day, day)
        (silence, silenceOnWake, opening, answer) = (day, day, day, day)
    }
}

/// Reads elements of a stream.
struct Reading<Element: Sendable> {
    private var iterator: ReactorStream<Element>.Iterator

    init(_ stream: ReactorStream<Element>) { iterator = stream.makeAsyncIterator() }

    mutating func next() async throws -> Element? { try await iterator.next() }

    mutating func next(_ count: Int) async throws -> [Element] {
        var elements: [Element] = []
        while elements.count < count, let element = try await next() { elements.append(element) }
        return elements
    }
}
