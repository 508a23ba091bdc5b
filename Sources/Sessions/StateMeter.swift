/// How large a session's state is as JSON, known well enough without encoding it for each mutation.
///
/// Design: a state grows by what requests and mutations bring. While the last measure and all that
/// was brought since fit together, the state fits: a reducer that adds what it is given never passes
/// the limit. One that makes more of it is found by measures in between. A measure costs as much as
/// the state is large, so they are the rarer the larger it is; while it grows by more than a quarter
/// from one measure to the next, and not by what was brought, each mutation is measured.
struct StateMeter {
    /// At the last measure.
    private var size = 0
    /// Bytes that requests and mutations have brought since.
    private var brought = 0
    /// Mutations until the next measure, and how many there were to be.
    private var rest = 0
    private var interval = 0

    /// The cost of a measure, spread over the mutations up to the next.
    private static let bytesPerMutation = 512
    private static let intervals = 32...1_024
    /// More than any limit that a state can reach; sums up to it do not overflow.
    private static let most = 1 << 48

    mutating func bring(_ bytes: Int) {
        brought = min(brought + bytes, Self.most)
    }

    /// Counts a mutation. Returns whether the state has to be measured.
    mutating func isDue(_ limit: Int) -> Bool {
        rest -= 1
        return rest < 0 || brought > limit - size
    }

    /// The state was measured, and fits.
    mutating func recordMeasurement(_ bytes: Int) {
        let isMultiplied = bytes - size > max(2 * brought + 64, size / 4)
        let longest = max(
            Self.intervals.lowerBound,
            min(bytes / Self.bytesPerMutation, Self.intervals.upperBound))
        interval = isMultiplied ? 0 : min(2 * interval + 1, longest)
        rest = interval
        size = bytes
        brought = 0
    }

    /// The state was measured and did not fit: the one before it is there again, of unknown size.
    mutating func recordRefusal() {
        self = StateMeter()
    }
}
