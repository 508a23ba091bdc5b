/// The newest value of each topic that remembers, for members that join.
///
/// Bounds: ``topicLimit`` topics, and ``limitBytes`` of names and values. Beyond them the
/// topics with the oldest values are left out: a node that joins then has no value of theirs
/// until the next one.
package struct TopicMemory: Sendable {
    package static let topicLimit = 10_000
    package static let limitBytes = 4 << 20

    package struct Value: Sendable, Equatable {
        package var place: UInt64
        package var body: [UInt8]
    }

    /// By the bytes of the name; see ``TopicOrder``.
    private var values: [[UInt8]: Value] = [:]
    package private(set) var bytes = 0

    package init() {}

    package var count: Int { values.count }

    /// All values, the oldest first.
    package var all: [(topic: String, value: Value)] {
        values.sorted { $0.value.place < $1.value.place }
            .map { (String(decoding: $0.key, as: UTF8.self), $0.value) }
    }

    /// Replaces the value of a topic.
    package mutating func keep(_ body: [UInt8], at place: UInt64, of topic: String) {
        remove(topic)
        // A quarter less than the bounds, so that not each further value sorts all of them.
        let (topics, room) = (Self.topicLimit / 4 * 3, Self.limitBytes / 4 * 3)
        // It would leave no room for any other.
        guard topic.utf8.count + body.count <= room else { return }
        values[Array(topic.utf8)] = Value(place: place, body: body)
        bytes += topic.utf8.count + body.count
        guard values.count > Self.topicLimit || bytes > Self.limitBytes else { return }
        for (topic, _) in all where values.count > topics || bytes > room { remove(topic) }
    }

    private mutating func remove(_ topic: String) {
        guard let value = values.removeValue(forKey: Array(topic.utf8)) else { return }
        bytes -= topic.utf8.count + value.body.count
    }
}
