public import CoreMetrics
public import ReactorHosting
internal import Synchronization

/// Shows the metrics of swift-metrics on the server's `/metrics`, beside its own.
///
/// ```swift
/// @main struct Main {
///     static func main() async {
///         let metrics = PageMetrics()
///         MetricsSystem.bootstrap(metrics)
///         await ReactorServer.main(hosting: [Hosted("alerts") { Alerts() }], metrics: metrics)
///     }
/// }
/// ```
///
/// | swift-metrics | on the page |
/// |---|---|
/// | `Counter`, `FloatingPointCounter` | a counter; `_total` is appended |
/// | `Gauge` (`Recorder` without `aggregate`), `Meter` | a gauge: the last value |
/// | `Recorder` with `aggregate` | a histogram with the bounds ``recorderBounds`` |
/// | `Timer` | a histogram in seconds with the bounds ``timerBounds``; `_seconds` is appended |
///
/// Names and labels are changed into those that Prometheus permits (``MetricName``); names that are
/// equal afterwards are one metric. A value that is not finite is dropped, except by a gauge; so is
/// a negative increment.
///
/// There are at most `seriesLimit` series, which are names with their labels. Beyond it, and for a
/// name that is in use for a metric of another kind, a metric is not shown and its values are
/// dropped: `reactor_metrics_refused_total` counts them by `reason`, and `reactor_metrics_series`
/// shows the number of series. `destroy()` releases a series, as often as it was made.
///
/// It may be used from any thread. A value costs a lock that only this series and the page have.
public final class PageMetrics: Sendable {
    /// The upper bounds of the classes of timers, in seconds; a last class has the rest.
    public static let timerBounds: [Double] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    /// Upper bounds of recorders' classes: powers of 4 up to 1 048 576; a last class has the rest.
    public static let recorderBounds: [Double] = (0...10).map { Double(1 << (2 * $0)) }

    private let registry: Mutex<MetricRegistry>

    /// Metrics for one page.
    ///
    /// - Parameter seriesLimit: The maximum number of series, 1 to 100 000; a histogram is one,
    ///   with up to 16 lines. Default 1000, whose page is written in some milliseconds.
    public init(seriesLimit: Int = 1_000) {
        registry = Mutex(MetricRegistry(seriesLimit: min(max(seriesLimit, 1), 100_000)))
    }

    private func series(
        _ kind: MetricKind, _ label: String, _ dimensions: [(String, String)]
    ) -> MetricSeries? {
        let name = MetricName(label, kind)
        let labels = MetricLabels(dimensions)
        return registry.withLock { $0.use(name, labels, kind) }
    }

    private func release(_ handler: AnyObject) {
        guard let series = handler as? MetricSeries else { return }
        registry.withLock { $0.release(series) }
    }
}

extension PageMetrics: MetricsSource {
    /// The metrics in Prometheus' text format, in the order of their names.
    public var page: String {
        // The values are read after the lock: a scrape does not keep metrics from being made.
        let (families, count, refusals) = registry.withLock {
            ($0.shown, $0.count, $0.refusals)
        }
        var text = MetricText()
        for family in families {
            text.begin(family.name.text, family.kind.word, family.help)
            for series in family.series { series.write(to: &text) }
        }
        text.begin("reactor_metrics_series", "gauge", "Series of the program's own metrics.")
        text.sample("reactor_metrics_series", "", Double(count))
        text.begin(
            "reactor_metrics_refused_total", "counter",
            "Uses of metrics that are not shown, by reason.")
        for (reason, number) in refusals {
            text.sample("reactor_metrics_refused_total", "reason=\"\(reason)\"", Double(number))
        }
        return text.text
    }
}

extension PageMetrics: MetricsFactory {
    /// A counter; without effect if it is refused.
    public func makeCounter(
        label: String, dimensions: [(String, String)]
    ) -> any CounterHandler {
        series(.counter, label, dimensions) ?? NOOPMetricsHandler.instance
    }

    /// A counter, which may have fractions; without effect if it is refused.
    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(.counter, label, dimensions) ?? NOOPMetricsHandler.instance
    }

    /// A gauge; without effect if it is refused.
    public func makeMeter(
        label: String, dimensions: [(String, String)]
    ) -> any MeterHandler {
        series(.gauge, label, dimensions) ?? NOOPMetricsHandler.instance
    }

    /// A histogram, or a gauge without `aggregate`; without effect if it is refused.
    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        series(aggregate ? .recorder : .gauge, label, dimensions) ?? NOOPMetricsHandler.instance
    }

    /// A histogram in seconds; without effect if it is refused.
    public func makeTimer(
        label: String, dimensions: [(String, String)]
    ) -> any TimerHandler {
        series(.timer, label, dimensions) ?? NOOPMetricsHandler.instance
    }

    /// Releases one use of the series.
    public func destroyCounter(_ handler: any CounterHandler) { release(handler) }

    /// Releases one use of the series.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {
        release(handler)
    }

    /// Releases one use of the series.
    public func destroyMeter(_ handler: any MeterHandler) { release(handler) }

    /// Releases one use of the series.
    public func destroyRecorder(_ handler: any RecorderHandler) { release(handler) }

    /// Releases one use of the series.
    public func destroyTimer(_ handler: any TimerHandler) { release(handler) }
}
