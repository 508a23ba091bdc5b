import Synchronization

// Design: a bus is injected, never global: into each `ReactorHost` that listens to it, and by a
// server into all of its sessions. It keeps one list of readers per topic, and the newest value of
// a topic that remembers.

/// Sends values to every session that listens to their topic.
///
/// ```swift
/// let topics = TopicBus()
/// let host = ReactorHost(ProfileReactor(), topics: topics)
/// let count = topics.publish(user, to: .currentUser).sessions
/// ```
///
/// Every listening session gets each value once, all sessions in the same order; each session
/// applies it at some point between its own actions.
///
/// Limit: at most ``limit`` values wait for a session. A session that is further behind applies the
/// waiting values. In a server with a journal, it then reads the others from the journal. Elsewhere
/// its source fails with ``ReaderTooSlow``, which is recorded, and the session continues without
/// the topic. The session misses no value before that, and no publisher waits for a reader.
///
/// Limit: ``rememberedLimit`` topics without a listener are remembered. Beyond that the topic with
/// the oldest publication is forgotten.
public final class TopicBus: Sendable {
    /// The maximum number of values of a topic that wait for one session.
    ///
    /// Precedent: ReactorKit's subjects have no limit. Even tens between two turns are unusual.
    public static var limit: Int { 1024 }

    /// The maximum number of values kept for remembering topics without a listener.
    public static var rememberedLimit: Int { 10_000 }

    // Why a lock: publishers and sessions run in any isolation. Without it two values could reach
    // two sessions in different orders, and a value could be pushed to a reader that is leaving.
    private let channels = Mutex(TopicChannels())

    /// Makes a bus without listeners.
    public init() {}

    /// Sends a value to every session that listens to the topic.
    ///
    /// Returns at once: the sessions apply it after their current turns. Callable from any
    /// isolation, also from an effect or an observer.
    ///
    /// - Returns: the number of sessions, and a way to wait for them.
    @discardableResult
    public func publish<Element: Sendable>(
        _ element: Element, to topic: Topic<Element>
    ) -> TopicDelivery {
        let delivery = TopicDelivery()
        channels.withLock { $0.push(element, to: topic, delivery) }
        return delivery
    }

    /// Decodes a value for every type with a listener, or an announced one.
    ///
    /// - Throws: the error of `decoder`.
    package func check(_ value: some TopicDecoder, of name: String) throws {
        for decode in channels.withLock({ $0.decodings(of: name) }) { _ = try decode(value) }
    }

    /// Whether values of the topic may come over HTTP, as far as this process knows.
    package func isDecodable(_ name: String) -> Bool {
        channels.withLock { !$0.decodings(of: name).isEmpty }
    }

    /// Sends the value at `position` of the topic's session to the sessions that listen.
    ///
    /// Another program may have accepted a value that a type of this one cannot decode. That type's
    /// listeners do not get the value.
    ///
    /// - Parameters:
    ///   - value: nil if nothing was published yet.
    ///   - skipped: called for each type that cannot decode the value.
    /// - Returns: nil if this is the first value that the bus gets from the topic's session. It may
    ///   be older than the process, so only readers that know an earlier place get it.
    package func receive(
        _ value: (any TopicDecoder)?, of name: String, at position: TopicPosition,
        skipped: (any Error) -> Void = { _ in }
    ) -> TopicDelivery? {
        let decodings = channels.withLock { $0.decodings(of: name) }
        var publications: [TopicChannels.Publication] = []
        for decode in value == nil ? [] : decodings {
            do {
                if let value { publications.append(try decode(value)) }
            } catch {
                skipped(error)
            }
        }
        return channels.withLock { channels in
            let isFirst = channels.advance(name, to: position)
            let delivery = isFirst ? nil : TopicDelivery()
            for push in publications { push(&channels, delivery) }
            return delivery
        }
    }

    /// Makes a topic known before it has a listener. One that remembers accepts values.
    func announce<Element: Sendable>(
        _ topic: Topic<Element>, decoding: TopicChannels.Decoding?
    ) {
        channels.withLock { $0.announce(topic, decoding: decoding) }
    }

    /// The number of values kept for sessions that start later.
    package var rememberedCount: Int { channels.withLock { $0.rememberedCount } }

    func subscribe<Element: Sendable>(
        to topic: Topic<Element>, decode: TopicSubscription<Element>.Decode?
    ) -> TopicSubscription<Element> {
        let (stream, feed) = ReactorStream<TopicEnvelope<Element>>.make(buffer: Self.limit)
        let decoding = decode.map { TopicChannels.decoding(of: topic, $0) }
        let (reader, present, position) = channels.withLock {
            $0.add(feed, to: topic, decoding: decoding)
        }
        return TopicSubscription(
            bus: self, topic: topic, reader: reader, stream: stream, present: present,
            position: position, decode: decode)
    }

    /// Begins another stream for a reader whose stream has failed.
    func resubscribe<Element: Sendable>(
        _ reader: UInt64, to topic: Topic<Element>
    ) -> (ReactorStream<TopicEnvelope<Element>>, TopicPosition?) {
        let (stream, feed) = ReactorStream<TopicEnvelope<Element>>.make(buffer: Self.limit)
        return (stream, channels.withLock { $0.replace(reader, by: feed, of: topic) })
    }

    func unsubscribe<Element: Sendable>(_ reader: UInt64, from topic: Topic<Element>) {
        channels.withLock { $0.remove(reader, from: topic) }
    }
}

/// Decodes a value as any requested type.
package protocol TopicDecoder: Sendable {
    /// The value as `type`.
    func decode<Element: Decodable>(_ type: Element.Type) throws -> Element
}
