/// A page in Prometheus' text exposition format 0.0.4, read strictly: also rules that Prometheus
/// itself does not check are faults.
struct PrometheusPage {
    struct Fault: Error, Equatable {
        var line: String
        var reason: String
    }

    struct Sample {
        var name: String
        var labels: [(name: String, value: String)]
        var value: Double

        /// The labels without the bound of a bucket.
        var series: [String] { labels.filter { $0.name != "le" }.map { "\($0.name)=\($0.value)" } }
        var bound: String? { labels.first { $0.name == "le" }?.value }
    }

    struct Metric {
        var name: String
        var kind: String
        var samples: [Sample] = []
    }

    // Static, because a regular expression is compiled each time its literal is evaluated. That
    // would take most of the time of a test.
    nonisolated(unsafe) private static let nameForm = /reactor_[a-z][a-z_]*[a-z]/
    nonisolated(unsafe) private static let sampleForm = /([a-z_]+)(?:\{([^{}]*)\})? ([^ ]+)/
    nonisolated(unsafe) private static let labelForm = /([a-z]+)="([^"\\]*)"/

    private(set) var metrics: [Metric] = []
    /// By the name and the labels, as the page has them.
    private var values: [String: Double] = [:]

    var names: Set<String> { Set(metrics.map(\.name)) }

    func value(_ name: String, _ labels: [(name: String, value: String)] = []) -> Double? {
        let list = labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
        return values[labels.isEmpty ? name : "\(name){\(list)}"]
    }

    init(_ text: String) throws(Fault) {
        var helped: String?
        guard text.hasSuffix("\n") else { throw Fault(line: "", reason: "the last line is open") }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
            let fault = { (reason: String) in Fault(line: String(line), reason: reason) }
            if line.hasPrefix("# HELP ") {
                guard words.count == 4, words[3].hasSuffix(".") else {
                    throw fault("a help is a sentence")
                }
                guard !names.contains(String(words[2])) else { throw fault("the name again") }
                helped = String(words[2])
            } else if line.hasPrefix("# TYPE ") {
                guard words.count == 4, helped == String(words[2]) else {
                    throw fault("the type follows its help")
                }
                helped = nil
                let metric = Metric(name: String(words[2]), kind: String(words[3]))
                if let reason = Self.reason(against: metric) { throw fault(reason) }
                metrics.append(metric)
            } else {
                guard let sample = Self.sample(line) else { throw fault("no sample") }
                guard helped == nil, let metric = metrics.indices.last else {
                    throw fault("a sample follows its type")
                }
                guard Self.sampleNames(of: metrics[metric]).contains(sample.name) else {
                    throw fault("a sample of another metric")
                }
                let key = String(line.prefix(upTo: line.lastIndex(of: " ") ?? line.endIndex))
                guard values.updateValue(sample.value, forKey: key) == nil else {
                    throw fault("the sample again")
                }
                metrics[metric].samples.append(sample)
            }
        }
        guard helped == nil else { throw Fault(line: "", reason: "the type follows its help") }
        for metric in metrics where metric.kind == "histogram" {
            try Self.check(histogram: metric)
        }
    }

    private static func sampleNames(of metric: Metric) -> [String] {
        guard metric.kind == "histogram" else { return [metric.name] }
        return ["bucket", "sum", "count"].map { "\(metric.name)_\($0)" }
    }

    /// Prometheus' conventions for names: units, and `_total` for counters only.
    private static func reason(against metric: Metric) -> String? {
        guard unsafe metric.name.wholeMatch(of: nameForm) != nil else { return "not a name" }
        guard ["counter", "gauge", "histogram"].contains(metric.kind) else { return "not a type" }
        guard (metric.kind == "counter") == metric.name.hasSuffix("_total") else {
            return "_total is for counters"
        }
        let units = ["milliseconds", "_ms", "_kb", "kilobytes", "minutes"]
        guard !units.contains(where: metric.name.contains) else { return "not a base unit" }
        let endings = ["_bucket", "_sum", "_count"]
        return endings.contains(where: metric.name.hasSuffix) ? "the ending of a sample" : nil
    }

    private static func sample(_ line: Substring) -> Sample? {
        guard let match = unsafe line.wholeMatch(of: sampleForm),
            let value = Double(match.3), value >= 0
        else { return nil }
        var labels: [(name: String, value: String)] = []
        for label in (match.2 ?? "").split(separator: ",", omittingEmptySubsequences: false)
        where match.2 != nil {
            guard let label = unsafe label.wholeMatch(of: labelForm) else { return nil }
            guard !labels.contains(where: { $0.name == String(label.1) }) else { return nil }
            labels.append((String(label.1), String(label.2)))
        }
        return Sample(name: String(match.1), labels: labels, value: value)
    }

    /// Ascending bounds, cumulative counts, `+Inf` last and equal to the count; a sum
    /// for each series.
    private static func check(histogram: Metric) throws(Fault) {
        let series = Set(histogram.samples.map(\.series))
        for one in series {
            let samples = histogram.samples.filter { $0.series == one }
            let fault = { (reason: String) in Fault(line: histogram.name, reason: reason) }
            let buckets = samples.filter { $0.name.hasSuffix("_bucket") }
            let bounds = buckets.compactMap { $0.bound.flatMap(Double.init) }
            guard bounds.count == buckets.count, bounds.last == .infinity else {
                throw fault("buckets have bounds up to +Inf")
            }
            guard zip(bounds, bounds.dropFirst()).allSatisfy(<) else { throw fault("the order") }
            guard zip(buckets, buckets.dropFirst()).allSatisfy({ $0.value <= $1.value }) else {
                throw fault("counts are cumulative")
            }
            let count = samples.first { $0.name.hasSuffix("_count") }?.value
            let sum = samples.first { $0.name.hasSuffix("_sum") }
            guard let count, sum != nil, count == buckets.last?.value else {
                throw fault("a count that equals +Inf, and a sum")
            }
        }
    }
}
