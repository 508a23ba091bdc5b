internal import Storage

/// Prometheus text exposition format, version 0.0.4; each name begins with `reactor_`.
struct PrometheusWriter {
    private(set) var text = ""

    mutating func gauge(_ name: String, _ help: String, _ value: some BinaryInteger) {
        begin(name, "gauge", help)
        sample(name, [], value)
    }

    /// - Parameter name: without the `_total` at its end.
    mutating func counter(_ name: String, _ help: String, _ value: some BinaryInteger) {
        begin("\(name)_total", "counter", help)
        sample("\(name)_total", [], value)
    }

    mutating func counters(
        _ name: String, _ help: String, _ label: String, _ values: [(name: String, value: UInt64)]
    ) {
        begin("\(name)_total", "counter", help)
        for one in values { sample("\(name)_total", [(label, one.name)], one.value) }
    }

    mutating func gauges(
        _ name: String, _ help: String, _ label: String,
        _ values: [(name: String, value: some Any)]
    ) {
        begin(name, "gauge", help)
        for one in values { sample(name, [(label, one.name)], one.value) }
    }

    mutating func histogram(_ name: String, _ help: String, _ times: TimeHistogram) {
        begin(name, "histogram", help)
        samples(name, [], times)
    }

    mutating func histogram(_ name: String, _ help: String, _ sizes: SizeHistogram) {
        begin(name, "histogram", help)
        samples(name, [], sizes.classes, beyond: sizes.beyond, sum: sizes.sum)
    }

    /// Begins a metric; its samples follow.
    ///
    /// - Parameter name: With the `_total` of a counter.
    mutating func begin(_ name: String, _ kind: String, _ help: String) {
        text += "# HELP reactor_\(name) \(help)\n# TYPE reactor_\(name) \(kind)\n"
    }

    /// - Parameter labels: Their values are the service's own names, which need no escapes.
    mutating func sample(_ name: String, _ labels: [(String, String)], _ value: some Any) {
        text += "reactor_\(name)"
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",") + "}"
        }
        text += " \(value)\n"
    }

    mutating func samples(
        _ name: String, _ labels: [(String, String)], _ times: TimeHistogram
    ) {
        samples(name, labels, times.classes, beyond: times.beyond, sum: times.seconds)
    }

    /// - Parameters:
    ///   - classes: Each with its upper bound, ascending, and the count without smaller ones.
    ///   - beyond: The count above all bounds.
    ///   - sum: The sum of all measured values.
    private mutating func samples<Bound>(
        _ name: String, _ labels: [(String, String)], _ classes: [(bound: Bound, count: UInt64)],
        beyond: UInt64, sum: some Any
    ) {
        var count: UInt64 = 0
        for one in classes {
            count += one.count
            sample("\(name)_bucket", labels + [("le", "\(one.bound)")], count)
        }
        count += beyond
        sample("\(name)_bucket", labels + [("le", "+Inf")], count)
        sample("\(name)_sum", labels, sum)
        sample("\(name)_count", labels, count)
    }
}
