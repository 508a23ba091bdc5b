/// The readers of all topics of a bus. Accessed under its lock.
struct TopicChannels {
    /// Decodes one value, and returns how to publish it.
    typealias Decoding = @Sendable (any TopicDecoder) throws -> Publication
    /// The delivery is nil if the value was published before this process read the topic.
    typealias Publication = @Sendable (inout TopicChannels, TopicDelivery?) -> Void

    // One channel per name and element type. A class, so that a change does not copy the readers.
    private class Channel {
        var decoding: Decoding?
        var remembers = false
        var isAnnounced = false
        /// The number of the newest publication; orders remembered values.
        var publication: UInt64 = 0
        var readerCount: Int { 0 }
        var hasValue: Bool { false }
    }

    private final class TypedChannel<Element: Sendable>: Channel {
        var readers: [UInt64: ReactorStream<TopicEnvelope<Element>>.Feed] = [:]

        var newest: Element?

        override var readerCount: Int { readers.count }
        override var hasValue: Bool { newest != nil }
    }

    // Invariant: no channel is empty, except one that remembers or is announced.
    private var channels: [String: [Channel]] = [:]
    /// The places of the newest values of topics that have a session.
    private var positions: [String: TopicPosition] = [:]
    private var lastReader: UInt64 = 0
    private var publications: UInt64 = 0
    /// Channels that remember.
    private var rememberingCount = 0

    var rememberedCount: Int {
        channels.values.joined().count { $0.hasValue }
    }

    static func decoding<Element: Sendable>(
        of topic: Topic<Element>, _ decode: @escaping TopicSubscription<Element>.Decode
    ) -> Decoding {
        { decoder in
            let element = try decode(decoder)
            return { channels, delivery in channels.push(element, to: topic, delivery) }
        }
    }

    /// Compares bytes: a name from outside that is only canonically equal is another name.
    func decodings(of name: String) -> [Decoding] {
        guard let found = channels.index(forKey: name),
            channels[found].key.utf8.elementsEqual(name.utf8)
        else { return [] }
        return channels[found].value.compactMap(\.decoding)
    }

    /// - Returns: true if the topic's place was not known before.
    mutating func advance(_ name: String, to position: TopicPosition) -> Bool {
        positions.updateValue(position, forKey: name) == nil
    }

    mutating func push<Element: Sendable>(
        _ element: Element, to topic: Topic<Element>, _ delivery: TopicDelivery?
    ) {
        if topic.remembers { remember(topic) }
        // An ended reader stays until its source leaves: an ended feed ignores values.
        guard let channel = channel(of: topic) else { return }
        if channel.remembers {
            publications += 1
            channel.publication = publications
            channel.newest = element
        }
        let (position, handed) = (positions[topic.name], delivery ?? TopicDelivery())
        for feed in channel.readers.values {
            let envelope = TopicEnvelope(
                element: element, position: position, isEarlier: delivery == nil,
                share: TopicShare(of: handed))
            if feed.push(envelope) { handed.hand() }
        }
    }

    mutating func add<Element: Sendable>(
        _ feed: ReactorStream<TopicEnvelope<Element>>.Feed, to topic: Topic<Element>,
        decoding: Decoding?
    ) -> (reader: UInt64, present: Element?, position: TopicPosition?) {
        lastReader += 1
        if topic.remembers { remember(topic) }
        let channel = channel(of: topic) ?? make(for: topic)
        // Generic code cannot see whether its element is Decodable; another listener may know.
        channel.decoding = channel.decoding ?? decoding
        channel.readers[lastReader] = feed
        return (lastReader, channel.newest, positions[topic.name])
    }

    /// - Returns: the place of the topic's newest value.
    mutating func replace<Element: Sendable>(
        _ reader: UInt64, by feed: ReactorStream<TopicEnvelope<Element>>.Feed,
        of topic: Topic<Element>
    ) -> TopicPosition? {
        channel(of: topic)?.readers[reader] = feed
        return positions[topic.name]
    }

    mutating func announce<Element: Sendable>(_ topic: Topic<Element>, decoding: Decoding?) {
        let channel = topic.remembers ? remember(topic) : channel(of: topic) ?? make(for: topic)
        channel.isAnnounced = true
        channel.decoding = channel.decoding ?? decoding
    }

    private mutating func make<Element: Sendable>(
        for topic: Topic<Element>
    ) -> TypedChannel<Element> {
        let channel = TypedChannel<Element>()
        channels[topic.name, default: []].append(channel)
        return channel
    }

    @discardableResult
    private mutating func remember<Element: Sendable>(
        _ topic: Topic<Element>
    ) -> TypedChannel<Element> {
        if let channel = channel(of: topic), channel.remembers { return channel }
        if rememberingCount >= TopicBus.rememberedLimit { forgetOldest() }
        let channel = channel(of: topic) ?? make(for: topic)
        channel.remembers = true
        rememberingCount += 1
        return channel
    }

    /// Channels with readers stay: their number is bounded by the sessions.
    private mutating func forgetOldest() {
        let silent = channels.lazy.flatMap { name, typed in typed.map { (name, $0) } }
            .filter { $0.1.remembers && $0.1.readerCount == 0 }
        guard let (name, oldest) = silent.min(by: { $0.1.publication < $1.1.publication })
        else { return }
        rememberingCount -= 1
        drop(oldest, name)
    }

    private mutating func drop(_ channel: Channel, _ name: String) {
        channels[name]?.removeAll { $0 === channel }
        if channels[name]?.isEmpty == true { channels[name] = nil }
    }

    mutating func remove<Element: Sendable>(_ reader: UInt64, from topic: Topic<Element>) {
        guard let channel = channel(of: topic) else { return }
        channel.readers[reader] = nil
        guard channel.readers.isEmpty, !channel.remembers, !channel.isAnnounced else { return }
        drop(channel, topic.name)
    }

    private func channel<Element: Sendable>(of topic: Topic<Element>) -> TypedChannel<Element>? {
        for case let channel as TypedChannel<Element> in channels[topic.name] ?? [] {
            return channel
        }
        return nil
    }
}
