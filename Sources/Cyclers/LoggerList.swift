/// The loggers of a storage, in the order in which they were added.
struct LoggerList {
    private struct Entry {
        let number: UInt64
        var logger: any CyclerLogger
        /// Whether its reader has left; nil for a logger that was added by a call.
        var departure: Departure?
        var finish: () -> Void = {}
    }

    private var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }

    mutating func add(_ logger: any CyclerLogger, _ number: UInt64) {
        entries.append(Entry(number: number, logger: logger))
    }

    mutating func add(
        _ logger: any CyclerLogger, _ number: UInt64, until departure: Departure,
        finish: @escaping () -> Void
    ) {
        forgetDeparted()
        entries.append(
            Entry(number: number, logger: logger, departure: departure, finish: finish))
    }

    mutating func remove(_ number: UInt64) {
        entries.removeAll { $0.number == number }
    }

    /// Removes loggers that were added by calls; those of streams stay until their reader leaves.
    mutating func removeAdded() {
        entries.removeAll { $0.departure == nil }
    }

    mutating func replace(_ number: UInt64, _ logger: any CyclerLogger) -> Bool {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return false }
        entries[index].logger = logger
        return true
    }

    mutating func forgetDeparted() {
        guard entries.contains(where: { $0.departure?.hasLeft == true }) else { return }
        entries.removeAll { $0.departure?.hasLeft == true }
    }

    /// The current loggers: a called logger may add and remove others.
    var present: some Sequence<any CyclerLogger> { entries.lazy.map(\.logger) }

    mutating func finishAll() {
        for entry in entries { entry.finish() }
        entries.removeAll { $0.departure != nil }
    }
}
