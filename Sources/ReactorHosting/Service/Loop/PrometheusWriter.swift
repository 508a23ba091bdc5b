/// Prometheus text exposition format, version 0.0.4; each name begins with `reactor_`.
struct PrometheusWriter {
    private(set) var text = ""

    mutating func gauge(_ name: String, _ help: String, _ value: some BinaryInteger) {
        begin(name, "gauge", help)
        sample(name, value)
    }

    /// - Parameter name: without the `_total` at its end.
    mutating func counter(_ name: String, _ help: String, _ value: some BinaryInteger) {
        begin("\(name)_total", "counter", help)
        sample("\(name)_total", value)
    }

    /// One counter, split by a label.
    mutating func counters(
        _ name: String, _ help: String, _ label: String, _ values: [(name: String, value: UInt64)]
    ) {
        begin("\(name)_total", "counter", help)
        for one in values { sample("\(name)_total{\(label)=\"\(one.name)\"}", one.value) }
    }

    /// - Parameters:
    ///   - classes: Each with its upper bound, ascending, and the count without smaller ones.
    ///   - beyond: The count above all bounds.
    ///   - sum: The sum of all measured values.
    mutating func histogram(
        _ name: String, _ help: String, _ classes: [(bound: Double, count: UInt64)],
        beyond: UInt64, sum: Double
    ) {
        begin(name, "histogram", help)
        var count: UInt64 = 0
        for one in classes {
            count += one.count
            sample("\(name)_bucket{le=\"\(one.bound)\"}", count)
        }
        count += beyond
        sample("\(name)_bucket{le=\"+Inf\"}", count)
        sample("\(name)_sum", sum)
        sample("\(name)_count", count)
    }

    private mutating func begin(_ name: String, _ kind: String, _ help: String) {
        text += "# HELP reactor_\(name) \(help)\n# TYPE reactor_\(name) \(kind)\n"
    }

    private mutating func sample(_ name: String, _ value: some Any) {
        text += "reactor_\(name) \(value)\n"
    }
}
