/// The subscribers of a storage, in the order in which they came.
struct SubscriptionList<Value> {
    private struct Entry {
        let number: UInt64
        /// What it has seen or was never meant to see: told are later versions only.
        var since: UInt64
        /// nil once it was removed while someone was being told.
        var subscription: Subscription<Value>?
    }

    // Law: sorted by `number`.
    private var entries: [Entry] = []
    private var isTelling = false
    private var hasGaps = false
    /// When there are so many, those whose reader has left are looked for. Without it, readers that
    /// come and go while nothing is written would gather.
    private var sweepCount = 16

    var isEmpty: Bool { entries.isEmpty }

    var count: Int { entries.count { $0.subscription != nil } }

    mutating func add(_ subscription: Subscription<Value>, _ number: UInt64, since: UInt64) {
        if entries.count >= sweepCount, !isTelling {
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
        if isTelling {
            entries[index].subscription = nil
            hasGaps = true
        } else {
            entries.remove(at: index)
        }
    }

    /// Versions after this one were unsaid, and will be told again when they come.
    mutating func unsay(after version: UInt64) {
        for index in entries.indices { entries[index].since = min(entries[index].since, version) }
    }

    // MARK: Telling, in steps: whoever is told may add and remove

    mutating func beginTelling() -> Range<Int> {
        isTelling = true
        return entries.indices
    }

    func subscription(at index: Int, for version: UInt64) -> Subscription<Value>? {
        let entry = entries[index]
        return entry.since < version ? entry.subscription : nil
    }

    mutating func leaves(at index: Int) {
        remove(at: index)
    }

    mutating func endTelling() {
        isTelling = false
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
