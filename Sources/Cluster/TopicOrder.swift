/// The order of the values of topics, as one node knows it.
///
/// Design: each value has a place, from the node that publishes it. A node delivers a value only if
/// its place is after that of the newest value of the topic that the node has delivered or
/// published. So two nodes may miss a value, but never deliver two values in different orders,
/// whatever is late or comes twice, and even if two nodes give places at the same time.
///
/// A place is a time in microseconds, or the place after the newest one if that is later. So a
/// wrong clock delays nothing and changes no order.
///
/// Bounds: ``topicLimit`` topics, and ``nameLimitBytes`` of their names. Beyond them, the half with
/// the older places is forgotten. From then on, a value of any forgotten topic only has to be after
/// the newest place that was forgotten.
package struct TopicOrder: Sendable {
    package static let topicLimit = 10_000
    package static let nameLimitBytes = 1 << 20
    /// No place is greater, so a later one can always be computed.
    static let placeLimit: UInt64 = 1 << 62

    /// By the bytes of the name: two names that are canonically equal may have two homes.
    private var places: [[UInt8]: UInt64] = [:]
    private var nameBytes = 0
    /// The newest place of a topic that was forgotten; 0 if none was.
    private var forgotten: UInt64 = 0

    package init() {}

    package var count: Int { places.count }

    /// The place after which a value of the topic has to be.
    package func newest(of topic: String) -> UInt64 { places[Array(topic.utf8)] ?? forgotten }

    /// A place after the newest one.
    ///
    /// - Parameter now: Microseconds since 1970.
    package func next(of topic: String, at now: Int64) -> UInt64 {
        max(newest(of: topic) + 1, UInt64(clamping: now))
    }

    /// Whether a value is to be delivered. Its place is the newest of the topic then.
    package mutating func admit(_ place: UInt64, of topic: String) -> Bool {
        guard place > newest(of: topic), place <= Self.placeLimit else { return false }
        if places.updateValue(place, forKey: Array(topic.utf8)) == nil { noteNew(topic) }
        return true
    }

    /// Another node has delivered a value with this place.
    package mutating func learn(_ place: UInt64, of topic: String) { _ = admit(place, of: topic) }

    private mutating func noteNew(_ topic: String) {
        nameBytes += topic.utf8.count
        while places.count > Self.topicLimit || nameBytes > Self.nameLimitBytes { forgetHalf() }
    }

    private mutating func forgetHalf() {
        let newestFirst = places.sorted { $0.value > $1.value }
        let kept = newestFirst.prefix(newestFirst.count / 2)
        forgotten = max(forgotten, newestFirst.dropFirst(kept.count).first?.value ?? 0)
        places = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
        nameBytes = kept.reduce(0) { $0 + $1.key.count }
    }
}
