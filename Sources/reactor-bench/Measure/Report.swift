/// What a figure counts, and how it is shown.
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

    /// The value as a person reads it.
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

    /// `value` with so many decimals; without Foundation there is no format string.
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

/// What a run found.
struct Report {
    /// What was measured, against what: one line.
    var title: String
    var figures: [Figure] = []
    /// What is wrong; empty when the run counts.
    var problems: [String] = []
    /// What a reader should know, but what spoils nothing.
    var notes: [String] = []

    /// Adds a figure.
    mutating func add(_ name: String, _ value: Double, _ unit: FigureUnit) {
        figures.append(Figure(name: name, value: value, unit: unit))
    }

    /// Adds the four figures of a latency.
    mutating func add(_ name: String, _ histogram: Histogram) {
        guard histogram.count > 0 else { return }
        add("\(name) p50", Double(histogram.quantile(0.5)), .nanoseconds)
        add("\(name) p99", Double(histogram.quantile(0.99)), .nanoseconds)
        add("\(name) p99.9", Double(histogram.quantile(0.999)), .nanoseconds)
        add("\(name) max", Double(histogram.max), .nanoseconds)
    }

    /// A table of the figures.
    var table: String {
        let width = figures.map(\.name.count).max() ?? 0
        let valueWidth = figures.map(\.text.count).max() ?? 0
        var lines = [title]
        for figure in figures {
            let gap = String(
                repeating: " ",
                count: width - figure.name.count + 2 + valueWidth - figure.text.count)
            lines.append("  \(figure.name)\(gap)\(figure.text)")
        }
        lines += notes.map { "  note: \($0)" }
        lines += problems.map { "  PROBLEM: \($0)" }
        return lines.joined(separator: "\n")
    }

    /// The same as one JSON object; values are in the unit that stands beside them.
    var json: String {
        var object = JSONText()
        object.open("{")
        object.member("title", title)
        object.member("passed", raw: problems.isEmpty ? "true" : "false")
        object.key("figures")
        object.open("{")
        for figure in figures {
            object.key(figure.name)
            object.open("{")
            object.member("value", raw: JSONText.number(figure.value))
            object.member("unit", figure.unit.rawValue)
            object.close("}")
        }
        object.close("}")
        object.list("notes", notes)
        object.list("problems", problems)
        object.close("}")
        return object.text
    }
}

/// Writes JSON: four shapes are too few for an encoder and its module.
struct JSONText {
    private(set) var text = ""
    private var needsComma = false

    /// Begins an object or an array.
    mutating func open(_ bracket: String) {
        if needsComma { text += "," }
        text += bracket
        needsComma = false
    }

    /// Ends it.
    mutating func close(_ bracket: String) {
        text += bracket
        needsComma = true
    }

    /// Writes a key; a value must follow.
    mutating func key(_ name: String) {
        if needsComma { text += "," }
        text += Self.quoted(name) + ":"
        needsComma = false
    }

    /// Writes a member whose value is a string.
    mutating func member(_ name: String, _ value: String) {
        member(name, raw: Self.quoted(value))
    }

    /// Writes a member whose value is JSON already.
    mutating func member(_ name: String, raw: String) {
        key(name)
        text += raw
        needsComma = true
    }

    /// Writes a member whose value is an array of strings.
    mutating func list(_ name: String, _ values: [String]) {
        member(name, raw: "[" + values.map(Self.quoted).joined(separator: ",") + "]")
    }

    /// A number as JSON allows it: no infinities.
    static func number(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        return value == value.rounded() && value.magnitude < 1e15
            ? "\(Int64(value))" : "\(value)"
    }

    /// A string in quotes, RFC 8259 §7.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
