/// An external stream that a session listens to. Inside a reactor it is written `Source`.
///
/// It is started once, when the session starts, with or without readers; it ends with the session.
/// When the stream ends or fails before that, the session lives and records it.
///
/// A session whose sources have all ended can be evicted from memory. When it is loaded, or after a
/// restart, each of its sources is opened again, including ended ones: a stream that yields the
/// same elements each time yields them again.
///
/// A source with a present value, from a ``Topic`` that remembers or passed as `present`, delivers
/// it before the session's first state is visible: the initial state, then the present values in
/// the order of the sources, then the first reader.
public struct ReactorSource<Action: Sendable, Mutation: Sendable>: Sendable {
    /// An element that a stream sends to the session.
    package enum Element: Sendable {
        case action(Action)
        case mutation(Mutation)
    }

    /// Reads a stream to its end. The closure waits until the session has received the element and
    /// returns whether to continue.
    package typealias Reading =
        @Sendable (_ deliver: @Sendable (Element) async -> Bool) async throws -> Void

    /// The source's name in records.
    public let name: String

    package let topic: String?

    /// A source that is listening.
    package struct Opening: Sendable {
        /// The present value: applied before the session's first state is visible.
        package let present: Element?
        package let read: Reading
    }

    /// Opens the source: on return it listens to its topic and misses no later value. Call it once
    /// per session, before the session's first state is visible. Releasing the result, or a task
    /// that runs it, ends the listening.
    package let open: @Sendable (TopicBus) -> Opening

    /// Makes a remembering topic accept values before the first session listens to it.
    package let announce: @Sendable (TopicBus) -> Void

    private init(name: String, present: Element?, _ read: @escaping Reading) {
        self.name = name
        topic = nil
        open = { _ in Opening(present: present, read: read) }
        announce = { _ in }
    }

    private init<Value: Sendable>(
        _ topic: Topic<Value>, _ decoding: TopicChannels.Decoding?,
        _ make: @escaping @Sendable (Value) -> Element
    ) {
        name = topic.name
        self.topic = topic.name
        open = { bus in
            let subscription = bus.subscribe(to: topic, decoding: decoding)
            return Opening(present: subscription.present.map(make)) { deliver in
                try await subscription.read { await deliver(make($0)) }
            }
        }
        announce = { bus in bus.announce(topic, decoding: decoding) }
    }
}

extension ReactorSource {
    /// Every element of the sequence becomes a mutation of the session.
    ///
    /// - Parameters:
    ///   - stream: read from the session's start to its own end.
    ///   - name: names the source in records. Default: `"mutations"`.
    ///   - present: the sequence's present value when the session starts, if known: applied before
    ///     the first state is visible, without waiting. Default: none. When a session of a server
    ///     wakes, it is applied if it changes the state.
    public static func mutations<Stream: AsyncSequence & Sendable>(
        _ stream: Stream, name: String = "mutations", present: Mutation? = nil
    ) -> ReactorSource where Stream.Element == Mutation {
        ReactorSource(name: name, present: present.map(Element.mutation)) { deliver in
            for try await mutation in stream {
                guard await deliver(.mutation(mutation)) else { return }
            }
        }
    }

    /// Every element of the sequence becomes an action of the session.
    ///
    /// - Parameters:
    ///   - stream: read from the session's start to its own end.
    ///   - name: names the source in records. Default: `"actions"`.
    ///   - present: as for mutations. A Cycler also receives it each time that its session wakes.
    public static func actions<Stream: AsyncSequence & Sendable>(
        _ stream: Stream, name: String = "actions", present: Action? = nil
    ) -> ReactorSource where Stream.Element == Action {
        ReactorSource(name: name, present: present.map(Element.action)) { deliver in
            for try await action in stream {
                guard await deliver(.action(action)) else { return }
            }
        }
    }
}

// Each of the two exists twice: only a `Decodable` value can also arrive over HTTP, and the
// compiler selects the more specific one.
extension ReactorSource {
    /// Every value that is published to the topic, in this process, becomes a mutation of the
    /// session. The source has the topic's name.
    public static func mutations<Value: Sendable>(
        topic: Topic<Value>, _ make: @escaping @Sendable (Value) -> Mutation
    ) -> ReactorSource {
        ReactorSource(topic, nil) { .mutation(make($0)) }
    }

    /// Every value that is published to the topic, in this process or over HTTP, becomes a
    /// mutation of the session. The source has the topic's name.
    public static func mutations<Value: Decodable & Sendable>(
        topic: Topic<Value>, _ make: @escaping @Sendable (Value) -> Mutation
    ) -> ReactorSource {
        ReactorSource(topic, TopicChannels.decoding(of: topic)) { .mutation(make($0)) }
    }

    /// Every value that is published to the topic, in this process, becomes an action of the
    /// session. The source has the topic's name.
    public static func actions<Value: Sendable>(
        topic: Topic<Value>, _ make: @escaping @Sendable (Value) -> Action
    ) -> ReactorSource {
        ReactorSource(topic, nil) { .action(make($0)) }
    }

    /// Every value that is published to the topic, in this process or over HTTP, becomes an
    /// action of the session. The source has the topic's name.
    public static func actions<Value: Decodable & Sendable>(
        topic: Topic<Value>, _ make: @escaping @Sendable (Value) -> Action
    ) -> ReactorSource {
        ReactorSource(topic, TopicChannels.decoding(of: topic)) { .action(make($0)) }
    }
}
