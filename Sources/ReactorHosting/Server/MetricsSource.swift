/// Metrics of the program's own, which are shown on `/metrics` beside the server's.
///
/// The product `ReactorMetrics` has one for swift-metrics.
public protocol MetricsSource: Sendable {
    /// Whole metrics in Prometheus' text format, version 0.0.4, with a line break at the end; or an
    /// empty text. Their names do not begin with `reactor_`, but for those of `ReactorMetrics`.
    ///
    /// It is called for each scrape on the thread of an event loop, where everything else waits
    /// meanwhile, so it waits for nothing and has a bound.
    var page: String { get }
}
