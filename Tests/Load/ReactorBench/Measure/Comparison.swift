/// Figures of several runs, each made several times, side by side.
struct Comparison {
    private let names: [String]
    /// The names of the figures, in the order of their first occurrence.
    private var order: [String] = []
    private var units: [String: FigureUnit] = [:]
    /// Values by figure, then by run.
    private var values: [String: [[Double]]] = [:]
    /// The faults, with the name of the run.
    private(set) var problems: [String] = []

    /// An empty comparison of the runs with these names.
    init(names: [String]) {
        self.names = names
    }

    /// Adds one report of the `index`th run.
    mutating func add(_ report: Report, of index: Int) {
        problems += report.problems.map { "\(names[index]): \($0)" }
        for figure in report.figures {
            if values[figure.name] == nil {
                order.append(figure.name)
                units[figure.name] = figure.unit
                values[figure.name] = [[Double]](repeating: [], count: names.count)
            }
            values[figure.name]?[index].append(figure.value)
        }
    }

    /// The median of a figure in a run; nil where that run has no such figure.
    func median(_ figure: String, of index: Int) -> Double? {
        guard let all = values[figure]?[index], !all.isEmpty else { return nil }
        return Statistics.median(all)
    }

    /// The ratio of a run's median to the first run's; nil where either is missing or zero.
    func ratio(_ figure: String, of index: Int) -> Double? {
        guard let base = median(figure, of: 0), base != 0, let value = median(figure, of: index)
        else { return nil }
        return value / base
    }

    /// The spread of a run's values as a share of their median: the noise.
    func spread(_ figure: String, of index: Int) -> Double? {
        guard let all = values[figure]?[index], let least = all.min(), let most = all.max(),
            let median = median(figure, of: index), median != 0
        else { return nil }
        return (most - least) / median.magnitude
    }

    /// One row per figure: median ± half the spread, and the ratio to the first run.
    var table: String {
        var rows = [[""] + names]
        for name in order {
            rows.append([name] + names.indices.map { cell(name, $0) })
        }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        var lines = rows.map { row in
            row.enumerated().map { index, text in
                let gap = String(repeating: " ", count: widths[index] - text.count)
                return index == 0 ? text + gap : gap + text
            }.joined(separator: "  ")
        }
        lines += problems.map { "PROBLEM: \($0)" }
        return lines.joined(separator: "\n")
    }

    /// The same as JSON: for each figure and run the values, their median and its ratio.
    var json: String {
        var object = JSONText()
        object.open("{")
        object.member("passed", raw: problems.isEmpty ? "true" : "false")
        object.key("figures")
        object.open("{")
        for name in order {
            object.key(name)
            object.open("{")
            object.member("unit", units[name]?.rawValue ?? "")
            for index in names.indices { add(name, index, to: &object) }
            object.close("}")
        }
        object.close("}")
        object.list("problems", problems)
        object.close("}")
        return object.text
    }

    private func add(_ name: String, _ index: Int, to object: inout JSONText) {
        guard let median = median(name, of: index) else { return }
        let all = (values[name]?[index] ?? []).map(JSONText.number)
        object.key("run " + names[index])
        object.open("{")
        object.member("median", raw: JSONText.number(median))
        if let ratio = ratio(name, of: index) {
            object.member("ratio", raw: JSONText.number(ratio))
        }
        object.member("values", raw: "[" + all.joined(separator: ",") + "]")
        object.close("}")
    }

    private func cell(_ name: String, _ index: Int) -> String {
        guard let median = median(name, of: index), let unit = units[name] else { return "–" }
        var text = Figure(name: name, value: median, unit: unit).text
        if let spread = spread(name, of: index), spread > 0 {
            text += " ±\(Figure.fixed(spread * 50, 0))%"
        }
        if index > 0, let ratio = ratio(name, of: index) {
            text += " (\(Figure.fixed(ratio, 2))×)"
        }
        return text
    }
}
