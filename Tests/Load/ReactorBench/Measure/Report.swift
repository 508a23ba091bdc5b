/// The result of a run.
struct Report {
    /// The measurement and its target, in one line.
    var title: String
    var figures: [Figure] = []
    /// The faults; empty if the run is valid.
    var problems: [String] = []
    /// Notes that do not invalidate the run.
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

    /// The report as one JSON object; each value has its unit beside it.
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
