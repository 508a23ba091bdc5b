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
/// waiting values, then its source fails with ``ReaderTooSlow`` (recorded) and the session
/// continues without the topic: no value is left out before, and no publisher waits.
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

    /// Sends a value to every session that listens to a topic of this name, decoded by `decoder`
    /// once for every type with a listener. Types that are not `Decodable` are skipped.
    ///
    /// - Returns: `nil` if there is no listener and no topic of that name remembers.
    /// - Throws: the error of `decoder`; nothing was published then.
    package func publish(
        toTopicNamed name: String, decodedBy decoder: some TopicDecoder
    ) throws -> TopicDelivery? {
        let decodings = channels.withLock { $0.decodings(of: name) }
        guard !decodings.isEmpty else { return nil }
        // Not under the lock, because this calls user code.
        let publications = try decodings.map { try $0(decoder) }
        let delivery = TopicDelivery()
        channels.withLock { channels in
            for push in publications { push(&channels, delivery) }
        }
        return delivery
    }

    /// Makes a remembering topic accept values before it has a listener.
    func announce<Element: Sendable>(
        _ topic: Topic<Element>, decoding: TopicChannels.Decoding?
    ) {
        guard topic.remembers else { return }
        channels.withLock { $0.announce(topic, decoding: decoding) }
    }

    /// The number of values kept for sessions that start later.
    package var rememberedCount: Int { channels.withLock { $0.rememberedCount } }

    func subscribe<Element: Sendable>(
        to topic: Topic<Element>, decoding: TopicChannels.Decoding?
    ) -> TopicSubscription<Element> {
        let (stream, feed) = ReactorStream<TopicEnvelope<Element>>.make(buffer: Self.limit)
        let (reader, present) = channels.withLock { $0.add(feed, to: topic, decoding: decoding) }
        return TopicSubscription(
            bus: self, topic: topic, reader: reader, stream: stream, present: present)
    }

    func unsubscribe<Element: Sendable>(_ reader: UInt64, from topic: Topic<Element>) {
        channels.withLock { $0.remove(reader, from: topic) }
    }
}

/// Decodes a value as any requested type.
package protocol TopicDecoder {
    /// The value as `type`.
    func decode<Element: Decodable>(_ type: Element.Type) throws -> Element
}
