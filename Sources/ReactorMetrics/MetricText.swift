/// Prometheus text exposition format, version 0.0.4, of names and labels that are
/// permitted already.
struct MetricText {
    private(set) var text = ""

    mutating func begin(_ name: String, _ kind: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
    }

    mutating func sample(_ name: String, _ labels: String, _ value: Double) {
        text += labels.isEmpty ? name : "\(name){\(labels)}"
        text += " \(Self.number(value))\n"
    }

    /// A number as the format has it: Go's form for those that are not finite.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return Int64(exactly: value).map(String.init) ?? "\(value)"
    }
}
