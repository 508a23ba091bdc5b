/// A queue that is emptied before the call that added to it returns.
struct Outbox<Entry> {
    private var entries: [Entry] = []
    private var head = 0

    mutating func append(_ entry: Entry) { entries.append(entry) }

    mutating func takeFirst() -> Entry? {
        guard head < entries.count else {
            entries.removeAll(keepingCapacity: entries.capacity <= 64)
            head = 0
            return nil
        }
        // If subscribers commit on every commit, the queue is never empty: this removes entries.
        if head >= 64, head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
        defer { head += 1 }
        return entries[head]
    }
}
