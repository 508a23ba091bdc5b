/// Estimates the size of a session's state as JSON, so that the state is not encoded for
/// each mutation.
///
/// Design: a state grows by the bytes of requests and mutations. While the last measured size plus
/// the bytes received since are within the limit, the state is measured at intervals only: a
/// reducer that adds its input to the state never exceeds the limit. A reducer that multiplies its
/// input is found by these measurements. The cost of a measurement is proportional to the size, so
/// the intervals grow with it. While the state grows by more than a quarter between two
/// measurements, and by more than the bytes received, each mutation is measured.
struct StateMeter {
    /// The size at the last measurement; 0 before the first.
    private(set) var size = 0
    /// The bytes of requests and mutations since the last measurement.
    private var received = 0
    /// The mutations that are left before the next measurement.
    private var remaining = 0
    /// Whether the state may exceed the limit.
    var isOwed = false
    /// The mutations between the last measurement and the next.
    private var interval = 0

    /// The encoded bytes that one mutation may cost, averaged over an interval.
    private static let bytesPerMutation = 512
    private static let intervals = 32...1_024
    /// Larger than any limit of a state; sums up to it do not overflow.
    private static let receivedLimit = 1 << 48

    /// The size at the last measurement and the bytes since, but at most twice that size; 0 before
    /// the first measurement.
    ///
    /// Why not the size alone: an array with too little room for a state is copied when it is full.
    var estimate: Int { size + min(received, size) }

    /// Sets the size of a state that was saved. It is measured nevertheless.
    mutating func begin(_ bytes: Int) { size = bytes }

    /// Counts the bytes of a request or a mutation.
    mutating func addReceived(_ bytes: Int) {
        received = min(received + bytes, Self.receivedLimit)
    }

    /// Counts a mutation.
    ///
    /// - Parameter mayWait: whether the state is measured at the end of the request if ``isOwed``.
    ///   Else each action of a batch on a state just below the limit would have it measured.
    /// - Returns: whether the state has to be measured now.
    mutating func isDue(_ limit: Int, mayWait: Bool) -> Bool {
        remaining -= 1
        isOwed = received > limit - size
        return remaining < 0 || isOwed && !(mayWait && received <= size / 4)
    }

    /// Records a measured size that is within the limit.
    mutating func recordMeasurement(_ bytes: Int) {
        let isMultiplied = bytes - size > max(2 * received + 64, size / 4)
        let longest = max(
            Self.intervals.lowerBound,
            min(bytes / Self.bytesPerMutation, Self.intervals.upperBound))
        interval = isMultiplied ? 0 : min(2 * interval + 1, longest)
        remaining = interval
        size = bytes
        received = 0
        isOwed = false
    }

    /// Records that a state is undone that may have been measured. The size of the state before is
    /// not known exactly, so the next mutation is measured.
    mutating func takeBack() {
        let size = size
        self = StateMeter()
        self.size = size
    }
}
