/// Counts of one loop that are split by a name: of a hosted reactor, or of a problem.
///
/// The names are those of registrations and of the code of ``Problem``, so there is a bounded
/// number of them; a client cannot add one. Only rare events are counted here.
struct NamedCounts: Sendable {
    private(set) var values: [String: UInt64] = [:]

    mutating func count(_ name: String, _ number: UInt64 = 1) {
        values[name, default: 0] += number
    }

    mutating func add(_ other: NamedCounts) {
        values.merge(other.values) { $0 + $1 }
    }

    var sorted: [(name: String, value: UInt64)] {
        values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
