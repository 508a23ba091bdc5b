internal import Synchronization

/// The counters of each loop at its last scrape.
///
/// Why: a loop that is stuck responds to no query, and `/metrics` is needed above all then. The sums
/// must not fall, because Prometheus takes that for a restart; so its last counters stay in them.
final class LastCounters: Sendable {
    private let counters = Mutex<[Int: Counters]>([:])

    /// Stores the counters of a loop, and returns them.
    func store(_ new: Counters, of loop: Int) -> Counters {
        counters.withLock { $0[loop] = new }
        return new
    }

    /// Those of the loops that had a scrape.
    func of(_ loops: [Int]) -> [Counters] {
        counters.withLock { counters in loops.compactMap { counters[$0] } }
    }
}
