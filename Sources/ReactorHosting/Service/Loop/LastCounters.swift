internal import Synchronization

/// The counters of each loop at its last scrape.
///
/// Why: a stuck loop responds to no query, and that is when `/metrics` is needed most. The sums
/// must not fall: Prometheus would take that for a restart.
final class LastCounters: Sendable {
    private let counters = Mutex<[Int: Counters]>([:])

    func store(_ new: Counters, of loop: Int) -> Counters {
        counters.withLock { $0[loop] = new }
        return new
    }

    func of(_ loops: [Int]) -> [Counters] {
        counters.withLock { counters in loops.compactMap { counters[$0] } }
    }
}
