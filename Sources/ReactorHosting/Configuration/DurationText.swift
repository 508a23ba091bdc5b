/// Durations as text: a whole number and `ms`, `s`, `m` or `h`.
package enum DurationText {
    /// Nil for any other text, and for more than a hundred days.
    package static func parse(_ text: some StringProtocol) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let value = Int64(digits), value <= 8_640_000_000 else { return nil }
        let milliseconds: Int64
        switch text.dropFirst(digits.count) {
        case "ms": milliseconds = value
        case "s": milliseconds = value * 1_000
        case "m": milliseconds = value * 60_000
        case "h": milliseconds = value * 3_600_000
        default: return nil
        }
        return milliseconds <= 8_640_000_000 ? .milliseconds(milliseconds) : nil
    }

    /// The shortest form that ``parse(_:)`` reads as this duration, such as `5m`.
    package static func write(_ time: Duration) -> String {
        let milliseconds = time / .milliseconds(1)
        let units: [(String, Double)] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000)]
        for (unit, size) in units where milliseconds.remainder(dividingBy: size) == 0 {
            return "\(Int(milliseconds / size))\(unit)"
        }
        return "\(Int(milliseconds))ms"
    }
}
