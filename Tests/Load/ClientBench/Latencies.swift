/// Times of one kind of operation.
struct Latencies {
    private var times: [Duration] = []

    mutating func add(_ time: Duration) { times.append(time) }

    func quantile(_ share: Double) -> Double {
        let sorted = times.sorted()
        guard !sorted.isEmpty else { return 0 }
        let index = min(sorted.count - 1, Int(Double(sorted.count) * share))
        return sorted[index] / .microseconds(1)
    }

    /// p50 and p99 in microseconds.
    var text: String { "p50 \(Int(quantile(0.5))) µs, p99 \(Int(quantile(0.99))) µs" }
}
