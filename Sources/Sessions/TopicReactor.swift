internal import Feeds
internal import JSONCoding
internal import Reactors

/// The reactor of a topic's session (ADR-0078): each mutation is a value of the topic, and the
/// state is the newest one.
struct TopicReactor: Reactor {
    struct Action: Codable, Sendable {
        let value: JSONValue
    }

    struct State: Codable, Sendable {
        @Pulse var value = JSONValue.null
    }

    typealias Mutation = JSONValue

    let initialState = State()

    func mutate(action: Action) -> Effect<Mutation> { .just(action.value) }

    func reduce(state: inout State, mutation: Mutation) { state.value = mutation }
}

extension Registration {
    /// The name of the reactor of topics. No hosted reactor can have this name.
    static let topicName = "$topic"

    /// The reactor of topics. A list of reactors does not show it.
    package static let topic: Registration = {
        do throws(RegistrationFailure) {
            return try Registration(
                name: topicName, activities: [], examples: [], clock: ContinuousClock()
            ) { TopicReactor() }
        } catch {
            preconditionFailure("the reactor of topics can be hosted: \(error)")
        }
    }()
}

extension ActionBody {
    /// The action that publishes a value.
    ///
    /// - Parameter value: valid JSON.
    package init(publishing value: [UInt8]) {
        self.init(Array("{\"value\":".utf8) + value + Array("}".utf8))
    }
}

/// A value of a topic, decoded as the type of each listener.
package struct TopicValue: TopicDecoder {
    private let bytes: [UInt8]

    /// - Parameter bytes: the value as JSON.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package func decode<Element: Decodable>(_ type: Element.Type) throws -> Element {
        try JSON.decode(type, from: bytes)
    }
}
