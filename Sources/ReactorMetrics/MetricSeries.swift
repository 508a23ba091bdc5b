internal import CoreMetrics
internal import Synchronization

/// One series: a metric with its labels, and its value.
///
/// Why a lock: values come from any thread, and a histogram's parts belong together.
final class MetricSeries: Sendable {
    private enum Value {
        case counter(Double)
        case gauge(Double)
        /// The number of values in each class, the last without a bound, and their sum.
        case histogram([UInt64], sum: Double)
    }

    let name: MetricName
    let labels: MetricLabels
    let kind: MetricKind
    private let value: Mutex<Value>

    init(_ name: MetricName, _ labels: MetricLabels, _ kind: MetricKind) {
        self.name = name
        self.labels = labels
        self.kind = kind
        value = Mutex(Self.start(kind))
    }

    private static func start(_ kind: MetricKind) -> Value {
        switch kind {
        case .counter: .counter(0)
        case .gauge: .gauge(0)
        case .recorder, .timer:
            .histogram(Array(repeating: 0, count: kind.bounds.count + 1), sum: 0)
        }
    }

    private func add(_ amount: Double) {
        guard amount.isFinite else { return }
        value.withLock { value in
            switch value {
            case .counter(let count): value = .counter(amount > 0 ? count + amount : count)
            case .gauge(let present): value = .gauge(present + amount)
            case .histogram: break
            }
        }
    }

    /// Sets a gauge, or counts a value in its class.
    private func put(_ new: Double) {
        let bounds = kind.bounds
        value.withLock { value in
            switch value {
            case .counter: break
            case .gauge: value = .gauge(new)
            case .histogram(var counts, let sum):
                guard new.isFinite else { return }
                // One owner of the array: it is changed in place.
                value = .counter(0)
                counts[bounds.firstIndex { new <= $0 } ?? bounds.count] += 1
                value = .histogram(counts, sum: sum + new)
            }
        }
    }

    func write(to text: inout MetricText) {
        switch value.withLock({ $0 }) {
        case .counter(let value), .gauge(let value): text.sample(name.text, labels.text, value)
        case .histogram(let counts, let sum):
            let start = labels.text.isEmpty ? "" : "\(labels.text),"
            var count: UInt64 = 0
            for (index, number) in counts.enumerated() {
                count += number
                let bound = index < kind.bounds.count ? kind.bounds[index] : .infinity
                text.sample(
                    "\(name.text)_bucket", "\(start)le=\"\(MetricText.number(bound))\"",
                    Double(count))
            }
            text.sample("\(name.text)_sum", labels.text, sum)
            text.sample("\(name.text)_count", labels.text, Double(count))
        }
    }
}

extension MetricSeries: CounterHandler, FloatingPointCounterHandler {
    func increment(by amount: Int64) { add(Double(amount)) }

    func reset() { value.withLock { $0 = Self.start(kind) } }
}

extension MetricSeries: MeterHandler {
    func set(_ value: Int64) { put(Double(value)) }

    func set(_ value: Double) { put(value) }

    /// Also of a counter of fractions.
    func increment(by amount: Double) { if amount > 0 { add(amount) } }

    func decrement(by amount: Double) { if amount > 0 { add(-amount) } }
}

extension MetricSeries: RecorderHandler {
    func record(_ value: Int64) { put(Double(value)) }

    func record(_ value: Double) { put(value) }
}

extension MetricSeries: TimerHandler {
    func recordNanoseconds(_ duration: Int64) { put(Double(max(0, duration)) / 1_000_000_000) }
}
