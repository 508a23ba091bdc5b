/// Estimates the memory that kept mutations use, where no journal has their encoded forms.
///
/// Why not every mutation is measured: its encoding would be expensive compared with the rest of a
/// request. While the sizes do not grow the measurements become rarer, down to one in 32 mutations.
struct MutationMeter {
    /// The bytes of the request that is being received, until they are charged to a mutation. Nil
    /// if no request is being received.
    var unchargedBytes: Int?
    /// The bytes of the mutation, or of the Cycler's state, that was measured last.
    private var last = 0
    /// The mutations that are left before the next measurement.
    private var remaining = 0
    /// The mutations between the last measurement and the next.
    private var interval = 0

    private static let longestInterval = 31

    /// The estimated size of the next mutation. Nil if it has to be measured: at intervals, and
    /// always if no request made the mutation.
    mutating func estimate() -> Int? {
        guard let bytes = unchargedBytes else { return nil }
        unchargedBytes = 0
        guard remaining > 0 else { return nil }
        remaining -= 1
        return max(bytes, last)
    }

    mutating func recordMeasurement(_ bytes: Int) {
        interval = bytes <= 2 * last + 64 ? min(2 * interval + 1, Self.longestInterval) : 0
        remaining = interval
        last = bytes
    }
}
