/// The `presence` events of one session on one loop, and the readers there that get them.
///
/// Design: only the newest event is kept. A reader gets it when it has everything else that it may
/// have now: between two events of its stream. A reader that is slower than the changes gets fewer
/// events.
final class PresenceEvents {
    private(set) var newest: PresenceEvent?
    private var readers: [Subscriber] = []
    /// The readers before this index are still to be written to.
    private var next = 0
    /// Whether a newer event has come since the present pass over the readers began.
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
        // The last one has its event already, or gets it at its new place.
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
                // Those that were written to first have the older event.
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
