/// The subscribers of a storage, in the order in which they were added.
struct SubscriptionList<Value> {
    private struct Entry {
        let number: UInt64
        /// The last version that the subscriber has received or must not receive.
        var since: UInt64
        /// Nil if it was removed during a delivery.
        var subscription: Subscription<Value>?
    }

    // Invariant: sorted by `number`.
    private var entries: [Entry] = []
    private var isDelivering = false
    private var hasGaps = false
    /// At this count, subscriptions whose reader has left are removed. Otherwise readers that start
    /// and leave between two writes would accumulate.
    private var sweepCount = 16

    var isEmpty: Bool { entries.isEmpty }

    var count: Int { entries.count { $0.subscription != nil } }

    mutating func add(_ subscription: Subscription<Value>, _ number: UInt64, since: UInt64) {
        if entries.count >= sweepCount, !isDelivering {
            entries.removeAll { $0.subscription?.isGone() ?? true }
            sweepCount = max(16, entries.count * 2)
        }
        entries.append(Entry(number: number, since: since, subscription: subscription))
    }

    mutating func remove(_ number: UInt64) {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
        remove(at: index)
    }

    private mutating func remove(at index: Int) {
        if isDelivering {
            entries[index].subscription = nil
            hasGaps = true
        } else {
            entries.remove(at: index)
        }
    }

    /// Versions after this one were rolled back, and are delivered again when they are reached.
    mutating func rollBack(after version: UInt64) {
        for index in entries.indices { entries[index].since = min(entries[index].since, version) }
    }

    // MARK: Delivery, in steps: a subscriber may add and remove others

    mutating func beginDelivery() -> Range<Int> {
        isDelivering = true
        return entries.indices
    }

    func subscription(at index: Int, for version: UInt64) -> Subscription<Value>? {
        let entry = entries[index]
        return entry.since < version ? entry.subscription : nil
    }

    mutating func leaves(at index: Int) {
        remove(at: index)
    }

    mutating func endDelivery() {
        isDelivering = false
        guard hasGaps else { return }
        hasGaps = false
        entries.removeAll { $0.subscription == nil }
    }

    mutating func finishAll() {
        for index in entries.indices.reversed() {
            entries[index].subscription?.finish()
            remove(at: index)
        }
    }
}
