/// One session's subscription to a topic; it ends when it is released.
final class TopicSubscription<Element: Sendable>: Sendable {
    private let bus: TopicBus
    private let topic: Topic<Element>
    private let reader: UInt64
    private let stream: ReactorStream<TopicEnvelope<Element>>
    /// The newest value before those of the stream, for a topic that remembers.
    let present: Element?

    init(
        bus: TopicBus, topic: Topic<Element>, reader: UInt64,
        stream: ReactorStream<TopicEnvelope<Element>>, present: Element?
    ) {
        self.present = present
        self.bus = bus
        self.topic = topic
        self.reader = reader
        self.stream = stream
    }

    /// Passes on every value until the session stops.
    ///
    /// - Parameter deliver: returns, with whether to continue, once the session has the value.
    func read(_ deliver: (Element) async -> Bool) async throws {
        for try await envelope in stream {
            guard await deliver(envelope.element) else { return }
            envelope.share.noteApplied()
        }
    }

    deinit { bus.unsubscribe(reader, from: topic) }
}
