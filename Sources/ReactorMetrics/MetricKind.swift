/// The form of a metric on the page.
enum MetricKind: Sendable {
    case counter
    case gauge
    /// A histogram of any values.
    case recorder
    /// A histogram of times, in seconds.
    case timer

    var word: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .recorder, .timer: "histogram"
        }
    }

    var bounds: [Double] {
        switch self {
        case .counter, .gauge: []
        case .recorder: PageMetrics.recorderBounds
        case .timer: PageMetrics.timerBounds
        }
    }

    fileprivate var suffix: String {
        switch self {
        case .counter: "_total"
        case .timer: "_seconds"
        case .gauge, .recorder: ""
        }
    }
}

/// The name of a metric, as Prometheus permits it: `[a-zA-Z_][a-zA-Z0-9_]*`.
///
/// - Any other character becomes `_`, and a digit at the beginning gets one before it.
/// - Counters end in `_total`, timers in `_seconds`. Another metric that ends like a counter or a
///   sample of a histogram gets `_value`: `x_count` is a sample of the histogram `x`.
/// - Names that begin with `reactor_` are the server's; they get `app_`.
/// - A name has at most 128 characters before these changes; the rest is omitted.
struct MetricName: Hashable, Sendable {
    static let limit = 128
    private static let reserved = ["_total", "_bucket", "_sum", "_count", "_created"]

    let text: String
    /// The name in the program, for the help.
    let label: String

    init(_ label: String, _ kind: MetricKind) {
        var text = Self.permitted(label)
        let suffix = kind.suffix
        if !text.hasSuffix(suffix) { text += suffix }
        if suffix.isEmpty, Self.reserved.contains(where: text.hasSuffix) { text += "_value" }
        if text.hasPrefix("reactor_") { text = "app_" + text }
        self.text = text
        self.label = String(label.unicodeScalars.prefix(Self.limit).map(Character.init))
    }

    static func == (one: MetricName, other: MetricName) -> Bool { one.text == other.text }

    func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// The text with permitted characters only, and at least one of them.
    static func permitted(_ text: String) -> String {
        var permitted = ""
        for scalar in text.unicodeScalars.prefix(limit) {
            let isDigit = ("0"..."9").contains(scalar)
            let isLetter = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
            if isDigit, permitted.isEmpty { permitted = "_" }
            permitted.unicodeScalars.append(isDigit || isLetter ? scalar : "_")
        }
        return permitted.isEmpty ? "_" : permitted
    }
}
