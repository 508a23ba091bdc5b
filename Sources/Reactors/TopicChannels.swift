/// The readers of all topics of a bus. Used under its lock.
struct TopicChannels {
    /// Reads one value, and answers how to publish it.
    typealias Decoding = @Sendable (any TopicDecoder) throws -> Publication
    typealias Publication = @Sendable (inout TopicChannels, TopicDelivery) -> Void

    // One per name and element type. A class, so that a change costs no copy of the readers.
    private class Channel {
        var decoding: Decoding?
        var readerCount: Int { 0 }
    }

    private final class TypedChannel<Element: Sendable>: Channel {
        var readers: [UInt64: ReactorStream<TopicEnvelope<Element>>.Feed] = [:]

        override var readerCount: Int { readers.count }
    }

    // Law: no channel is empty.
    private var channels: [String: [Channel]] = [:]
    private var lastReader: UInt64 = 0

    var readerCount: Int {
        channels.values.joined().reduce(0) { $0 + $1.readerCount }
    }

    static func decoding<Element: Decodable & Sendable>(
        of topic: Topic<Element>
    ) -> Decoding {
        { decoder in
            let element = try decoder.decode(Element.self)
            return { channels, delivery in channels.push(element, to: topic, delivery) }
        }
    }

    func decodings(of name: String) -> [Decoding] {
        (channels[name] ?? []).compactMap(\.decoding)
    }

    func push<Element: Sendable>(
        _ element: Element, to topic: Topic<Element>, _ delivery: TopicDelivery
    ) {
        // A reader that is over stays until its source leaves: a feed that is over takes nothing.
        guard let channel = channel(of: topic) else { return }
        for feed in channel.readers.values {
            let envelope = TopicEnvelope(element: element, share: TopicShare(of: delivery))
            if feed.push(envelope) { delivery.hand() }
        }
    }

    mutating func add<Element: Sendable>(
        _ feed: ReactorStream<TopicEnvelope<Element>>.Feed, to topic: Topic<Element>,
        decoding: Decoding?
    ) -> UInt64 {
        lastReader += 1
        let channel = channel(of: topic) ?? TypedChannel<Element>()
        // Generic code does not know that its element is Decodable; another listener may.
        channel.decoding = channel.decoding ?? decoding
        if channel.readers.isEmpty { channels[topic.name, default: []].append(channel) }
        channel.readers[lastReader] = feed
        return lastReader
    }

    mutating func remove<Element: Sendable>(_ reader: UInt64, from topic: Topic<Element>) {
        guard let channel = channel(of: topic) else { return }
        channel.readers[reader] = nil
        guard channel.readers.isEmpty else { return }
        channels[topic.name]?.removeAll { $0 === channel }
        if channels[topic.name]?.isEmpty == true { channels[topic.name] = nil }
    }

    private func channel<Element: Sendable>(of topic: Topic<Element>) -> TypedChannel<Element>? {
        for case let channel as TypedChannel<Element> in channels[topic.name] ?? [] {
            return channel
        }
        return nil
    }
}
