/// The `presence` events of one session on one loop, and the readers there that get them.
///
/// Design: only the newest event is kept. A reader gets it once it has all other pending events, so
/// between two events of its stream. A slow reader gets fewer events.
final class PresenceEvents {
    private(set) var newest: PresenceEvent?
    private var readers: [Subscriber] = []
    /// The pass still has to write to the readers before this index.
    private var next = 0
    /// Whether a newer event arrived after this pass over the readers began.
    private var isOutdated = false
    /// Whether it is in the loop's ``PresenceSchedule``.
    private var isDelivering = false

    func add(_ subscriber: Subscriber, _ reader: PresenceReader) {
        guard reader.part.getsEvents else { return }
        reader.index = readers.count
        readers.append(subscriber)
    }

    func remove(_ subscriber: Subscriber, _ reader: PresenceReader) {
        let index = reader.index
        guard index < readers.count, readers[index] === subscriber else { return }
        // The last reader already has its event, or gets it at its new index.
        readers.swapAt(index, readers.count - 1)
        readers[index].presence?.index = index
        readers.removeLast()
    }

    func show(_ event: PresenceEvent, _ schedule: PresenceSchedule) {
        newest = event
        guard !readers.isEmpty else { return }
        guard !isDelivering else { return isOutdated = true }
        (isDelivering, next) = (true, readers.count)
        schedule.deliver(self)
    }

    /// Writes to the next readers.
    func deliver(_ limit: Int) -> (count: Int, isDone: Bool) {
        var count = 0
        while count < limit {
            next = min(next, readers.count)
            if next == 0 {
                // The first readers of the pass have the older event.
                guard isOutdated, !readers.isEmpty else {
                    (isDelivering, isOutdated) = (false, false)
                    return (count, true)
                }
                (isOutdated, next) = (false, readers.count)
            }
            next -= 1
            count += 1
            readers[next].showPresence()
        }
        return (count, false)
    }
}
