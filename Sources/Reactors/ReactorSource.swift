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

    /// Reads a stream to its end.
    ///
    /// `deliver` waits until the session has received the element, and returns whether to continue.
    /// If the element is nil or cannot be decoded, the session only stores the place. `start` and
    /// `history` are set for a topic that has a session: `start` is the place of the last value
    /// that was read, and `history` has the values after it.
    package typealias Reading =
        @Sendable (
            _ start: TopicPosition?, _ history: (any TopicHistory)?,
            _ deliver: @Sendable (Result<Element, any Error>?, TopicPosition?) async -> Bool
        ) async throws -> Void

    /// The source's name in records.
    public let name: String

    package let topic: String?
    /// Whether values of the topic may come over HTTP.
    package let isDecodable: Bool

    /// A source that is listening.
    package struct Opening: Sendable {
        /// The present value: applied before the session's first state is visible.
        package let present: Element?
        /// The place of a topic's newest value; nil unless the topic has a session.
        package let position: TopicPosition?
        package let read: Reading
    }

    /// Opens the source: on return it listens to its topic and misses no later value. Call it once
    /// per session, before the session's first state is visible. Releasing the result, or a task
    /// that runs it, ends the listening.
    package let open: @Sendable (TopicBus) -> Opening

    /// Opens a source of the session's presence in place of ``open``; nil for any other source.
    ///
    /// - Parameters:
    ///   - isNew: whether the session is new. It then gets no mutation for an empty set.
    ///   - changes: later values; it may skip all but the newest.
    package let openPresence:
        (
            @Sendable (_ present: Presence, _ isNew: Bool, _ changes: AsyncStream<Presence>) ->
                Opening
        )?

    /// Makes the topic known before the first session listens to it.
    package let announce: @Sendable (TopicBus) -> Void

    private init(
        name: String, present: Element?,
        _ read:
            @escaping @Sendable (_ deliver: @Sendable (Element) async -> Bool) async throws -> Void
    ) {
        self.name = name
        topic = nil
        isDecodable = false
        openPresence = nil
        open = { _ in
            Opening(present: present, position: nil) { _, _, deliver in
                try await read { await deliver(.success($0), nil) }
            }
        }
        announce = { _ in }
    }

    private init<Value: Sendable>(
        _ topic: Topic<Value>, _ decode: TopicSubscription<Value>.Decode?,
        _ make: @escaping @Sendable (Value) -> Element
    ) {
        name = topic.name
        self.topic = topic.name
        isDecodable = decode != nil
        openPresence = nil
        open = { bus in
            let subscription = bus.subscribe(to: topic, decode: decode)
            return Opening(
                present: subscription.present.map(make), position: subscription.position
            ) { start, history, deliver in
                try await subscription.read(after: start, in: history) {
                    await deliver($0?.map(make), $1)
                }
            }
        }
        announce = { bus in
            bus.announce(topic, decoding: decode.map { TopicChannels.decoding(of: topic, $0) })
        }
    }

    init<Value: Equatable & Sendable>(
        presence part: any KeyPath<Presence, Value> & Sendable,
        _ make: @escaping @Sendable (Value) -> Element
    ) {
        name = "presence"
        topic = nil
        isDecodable = false
        announce = { _ in }
        open = { _ in
            Opening(present: nil, position: nil) { _, _, _ in
                // Until the session ends.
                for await _ in AsyncStream<Never>.makeStream().stream {}
            }
        }
        openPresence = { present, isNew, changes in
            let first = present[keyPath: part]
            let isNobody = first == Presence()[keyPath: part]
            return Opening(present: isNew && isNobody ? nil : make(first), position: nil) {
                _, _, deliver in
                var last = first
                for await presence in changes {
                    let value = presence[keyPath: part]
                    guard value != last else { continue }
                    last = value
                    guard await deliver(.success(make(value)), nil) else { return }
                }
            }
        }
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
        ReactorSource(topic, { try $0.decode(Value.self) }) { .mutation(make($0)) }
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
        ReactorSource(topic, { try $0.decode(Value.self) }) { .action(make($0)) }
    }
}
