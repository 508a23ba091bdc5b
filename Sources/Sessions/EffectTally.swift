/// The running steps of the effects of one loop's sessions, by reactor.
final class EffectTally {
    /// The count of one reactor. Its sessions share it.
    final class Count {
        var running = 0
    }

    /// Invariant: one for each hosted reactor that has had a session here.
    private var counts: [String: Count] = [:]

    func count(of reactor: String) -> Count {
        if let count = counts[reactor] { return count }
        let count = Count()
        counts[reactor] = count
        return count
    }

    var running: [String: Int] { counts.mapValues(\.running) }
}
