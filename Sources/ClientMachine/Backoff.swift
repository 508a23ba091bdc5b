/// How long to wait before the next attempt: full jitter, without a last attempt (O3, C3).
package struct Backoff: Sendable, Equatable {
    /// The range of the first wait.
    package static let base = Duration.milliseconds(250)
    /// The upper end of every range.
    package static let limit = Duration.seconds(30)

    /// Failures since the last success.
    package private(set) var failures = 0

    package init() {}

    /// Counts a failure, and draws the wait after it: uniform in [0, min(30 s, 250 ms · 2ⁿ)].
    package mutating func fail(
        atLeast minimum: Duration = .zero, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        // Beyond 2⁷ the limit is reached.
        let range = min(Self.limit, Self.base * (1 << min(failures, 7)))
        failures += 1
        let microseconds = range / .microseconds(1)
        let wait = Duration.microseconds(Double.random(in: 0...microseconds, using: &generator))
        return max(wait, minimum)
    }

    package mutating func reset() { failures = 0 }
}
