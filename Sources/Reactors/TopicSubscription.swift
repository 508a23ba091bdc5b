/// One session's subscription to a topic; it ends when it is released.
final class TopicSubscription<Element: Sendable>: Sendable {
    typealias Decode = @Sendable (any TopicDecoder) throws -> Element

    private let bus: TopicBus
    private let topic: Topic<Element>
    private let reader: UInt64
    private let stream: ReactorStream<TopicEnvelope<Element>>
    private let decode: Decode?
    /// The newest value before those of the stream, for a topic that remembers.
    let present: Element?
    /// The place of the newest value before those of the stream; nil: the topic has no session.
    let position: TopicPosition?

    init(
        bus: TopicBus, topic: Topic<Element>, reader: UInt64,
        stream: ReactorStream<TopicEnvelope<Element>>, present: Element?,
        position: TopicPosition?, decode: Decode?
    ) {
        self.present = present
        self.position = position
        self.bus = bus
        self.topic = topic
        self.reader = reader
        self.stream = stream
        self.decode = decode
    }

    /// Passes on every value until the session stops, each once and in order.
    ///
    /// - Parameters:
    ///   - start: the place of the last value that the session has read; nil: the session needs
    ///     only the values of the stream.
    ///   - history: has the values between `start` and those of the stream; nil: they are lost.
    ///   - deliver: returns once the session has received the value, or has stored a place that
    ///     comes without a value. The result is whether to continue.
    func read(
        after start: TopicPosition?, in history: (any TopicHistory)?,
        _ deliver: (Result<Element, any Error>?, TopicPosition?) async -> Bool
    ) async throws {
        var (last, stream, newest) = (start, stream, position)
        while true {
            if let newest {
                guard await catchUp(&last, through: newest, in: history, deliver) else { return }
            }
            do {
                for try await envelope in stream {
                    if let place = envelope.position {
                        // Published before this process knew the topic. The session begins here.
                        if last == nil, envelope.isEarlier, !topic.remembers {
                            guard await deliver(nil, place) else { return }
                            last = place
                            continue
                        }
                        let before = TopicPosition(place.generation, place.number - 1)
                        guard await catchUp(&last, through: before, in: history, deliver) else {
                            return
                        }
                        // The session has this value already. Either it read the value at another
                        // node, whose bus was ahead of this one; or a new era begins with it.
                        if last?.includes(place) ?? false { continue }
                    }
                    guard await deliver(.success(envelope.element), envelope.position) else {
                        return
                    }
                    envelope.share.noteApplied()
                    last = envelope.position ?? last
                }
                return
            } catch {
                // The session was too slow for the stream. The journal has the dropped values.
                guard last != nil, history != nil else { throw error }
                (stream, newest) = bus.resubscribe(reader, to: topic)
            }
        }
    }

    /// Delivers the values after `last`, up to `end`, from the history. A value may be of another
    /// type, which another program has accepted; the error is then delivered in its place.
    ///
    /// Also asks the history if the eras of `last` and of `end` differ: either era may be the later
    /// one.
    ///
    /// - Returns: whether to continue.
    private func catchUp(
        _ last: inout TopicPosition?, through end: TopicPosition, in history: (any TopicHistory)?,
        _ deliver: (Result<Element, any Error>?, TopicPosition?) async -> Bool
    ) async -> Bool {
        guard let history, let decode else { return true }
        while let start = last,
            start.number < end.number || start.generation != end.generation
        {
            guard
                let page = await history.values(of: topic.name, after: start, through: end.number)
            else { return false }
            for (place, value) in page.values {
                guard await deliver(Result { try decode(value) }, place) else { return false }
            }
            last = page.end
            if page.values.isEmpty { break }
        }
        return true
    }

    deinit { bus.unsubscribe(reader, from: topic) }
}
