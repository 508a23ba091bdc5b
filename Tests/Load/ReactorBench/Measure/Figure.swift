/// The unit of a figure, and its format.
enum FigureUnit: String {
    case count
    case perSecond = "1/s"
    case nanoseconds = "ns"
    case bytes
    case share
    case seconds = "s"
}

/// One measured value.
struct Figure {
    var name: String
    var value: Double
    var unit: FigureUnit

    /// The value formatted for a reader.
    var text: String {
        switch unit {
        case .count: Self.grouped(value)
        case .perSecond: Self.grouped(value) + "/s"
        case .nanoseconds: Self.duration(value)
        case .bytes: Self.size(value)
        case .share: Self.fixed(value * 100, 1) + " %"
        case .seconds: Self.fixed(value, 3) + " s"
        }
    }

    private static func duration(_ nanoseconds: Double) -> String {
        if nanoseconds < 1000 { return fixed(nanoseconds, 0) + " ns" }
        if nanoseconds < 1_000_000 { return fixed(nanoseconds / 1000, 2) + " µs" }
        if nanoseconds < 1_000_000_000 { return fixed(nanoseconds / 1_000_000, 2) + " ms" }
        return fixed(nanoseconds / 1_000_000_000, 3) + " s"
    }

    private static func size(_ bytes: Double) -> String {
        let amount = bytes.magnitude
        if amount < 10_000 { return fixed(bytes, 0) + " B" }
        if amount < 10_000_000 { return fixed(bytes / 1024, 1) + " KB" }
        return fixed(bytes / 1_048_576, 1) + " MB"
    }

    /// `value` with `decimals` decimals; without Foundation there is no format string.
    static func fixed(_ value: Double, _ decimals: Int) -> String {
        guard value.isFinite, value.magnitude < 1e15 else { return "\(value)" }
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let scaled = Int64((value.magnitude * scale).rounded())
        let sign = value < 0 && scaled > 0 ? "-" : ""
        guard decimals > 0 else { return sign + "\(scaled)" }
        let fraction = String(scaled % Int64(scale))
        let zeros = String(repeating: "0", count: decimals - fraction.count)
        return sign + "\(scaled / Int64(scale)).\(zeros)\(fraction)"
    }

    private static func grouped(_ value: Double) -> String {
        let digits = fixed(value, 0)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, digit != "-", (digits.count - index) % 3 == 0, !text.hasSuffix("-") {
                text += " "
            }
            text.append(digit)
        }
        return text
    }
}
