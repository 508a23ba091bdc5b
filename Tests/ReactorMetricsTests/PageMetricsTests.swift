import Metrics
import Sockets
import Testing
import Wire

@testable import ReactorHosting
@testable import ReactorMetrics

@Suite("PageMetrics — swift-metrics on the server's page", .timeLimit(.minutes(60)))
struct PageMetricsTests {
    private let metrics = PageMetrics(seriesLimit: 8)

    /// The lines of the page without those of its own metrics.
    private var lines: [String] {
        let all = metrics.page.split(separator: "\n").map(String.init)
        return Array(all.prefix { !$0.contains("reactor_metrics_series") })
    }

    private func refused(_ reason: String) -> Int? {
        let line = metrics.page.split(separator: "\n").first {
            $0.hasPrefix("reactor_metrics_refused_total{reason=\"\(reason)\"} ")
        }
        return line.flatMap { Int($0.split(separator: " ")[1]) }
    }

    @Test func `a counter counts, also by fractions, and never down`() {
        let counter = Counter(label: "orders", dimensions: [("kind", "b")], factory: metrics)
        counter.increment(by: 3)
        counter.increment(by: -2)
        FloatingPointCounter(label: "orders", dimensions: [("kind", "b")], factory: metrics)
            .increment(by: 0.5)
        Counter(label: "orders", dimensions: [("kind", "a")], factory: metrics).increment()
        #expect(
            lines == [
                "# HELP orders_total The program's metric orders.", "# TYPE orders_total counter",
                #"orders_total{kind="a"} 1"#, #"orders_total{kind="b"} 3.5"#,
            ])
        counter.reset()
        #expect(lines.last == #"orders_total{kind="b"} 0"#)
    }

    @Test func `a gauge and a meter show the last value`() {
        Gauge(label: "queue.depth", factory: metrics).record(7)
        Gauge(label: "queue.depth", factory: metrics).record(-2.5)
        let meter = Meter(label: "open", factory: metrics)
        meter.set(4)
        meter.increment(by: 2)
        meter.decrement(by: 1)
        meter.increment(by: Double.infinity)
        #expect(
            lines == [
                "# HELP open The program's metric open.", "# TYPE open gauge", "open 5",
                "# HELP queue_depth The program's metric queue.depth.", "# TYPE queue_depth gauge",
                "queue_depth -2.5",
            ])
        meter.set(-Double.infinity)
        #expect(lines.contains("open -Inf"))
        meter.set(Double.nan)
        #expect(lines.contains("open NaN"))
    }

    @Test func `a timer is a histogram in seconds`() {
        let timer = Timer(label: "work", dimensions: [("step", "1")], factory: metrics)
        timer.recordNanoseconds(1_000_000)
        timer.recordNanoseconds(1_000_001)
        timer.recordSeconds(11)
        timer.recordNanoseconds(-5)
        #expect(lines.first == "# HELP work_seconds The program's metric work.")
        #expect(lines.dropFirst().first == "# TYPE work_seconds histogram")
        let bounds = lines.compactMap { $0.firstMatch(of: /le="(.*?)"\} (\d+)/) }
        #expect(bounds.count == PageMetrics.timerBounds.count + 1)
        #expect(bounds.compactMap { Double($0.1) }.dropLast() == PageMetrics.timerBounds[...])
        #expect(bounds.prefix(2).map(\.2) == ["2", "3"], "a bound belongs to its class")
        #expect(bounds.suffix(2).map(\.2) == ["3", "4"])
        #expect(lines.contains(#"work_seconds_bucket{step="1",le="+Inf"} 4"#))
        #expect(lines.contains(#"work_seconds_count{step="1"} 4"#))
        #expect(lines.contains { $0.hasPrefix(#"work_seconds_sum{step="1"} 11.002"#) })
    }

    @Test func `a recorder is a histogram, without values that are not finite`() {
        let recorder = Recorder(label: "size", factory: metrics)
        for value in [0.0, 5, 2_000_000, .nan, .infinity] { recorder.record(value) }
        recorder.record(-3)
        #expect(lines.contains(#"size_bucket{le="1"} 2"#))
        #expect(lines.contains(#"size_bucket{le="16"} 3"#))
        #expect(lines.contains(#"size_bucket{le="1048576"} 3"#))
        #expect(lines.contains(#"size_bucket{le="+Inf"} 4"#))
        #expect(lines.contains("size_sum 2000002"))
    }

    @Test(arguments: [
        ("a.b-c d/e", "a_b_c_d_e"), ("9lives", "_9lives"), ("", "_"), ("é", "_"),
        ("a\n# b", "a___b"),
        ("reactor_requests", "app_reactor_requests"), ("x_count", "x_count_value"),
        ("x_total", "x_total_value"), ("x_bucket", "x_bucket_value"),
        (String(repeating: "n", count: 300), String(repeating: "n", count: 128)),
    ])
    func `a name has permitted characters, and is not one of the server's`(
        label: String, name: String
    ) {
        #expect(MetricName(label, .gauge).text == name)
        #expect(MetricName("\(label).x_total", .counter).text.hasSuffix("_total"))
    }

    @Test func `labels are permitted, unique, escaped and bounded`() {
        func text(_ labels: [(String, String)]) -> String { MetricLabels(labels).text }
        #expect(text([]).isEmpty)
        #expect(text([("b", "1"), ("a", "2")]) == #"a="2",b="1""#)
        #expect(text([("le", "1"), ("__name__", "x")]) == #"_name__="x",le_="1""#)
        #expect(text([("a.b", "1"), ("a_b", "2")]) == #"a_b="1""#, "the first one counts")
        #expect(text([("a", "\\ \" \n é")]) == #"a="\\ \" \n é""#)
        #expect(text([("a", String(repeating: "\\", count: 200))]).count == 4 + 256)
        let many = (0..<40).map { ("l\($0)", "") }
        #expect(text(many).split(separator: ",").count == MetricLabels.limit)
    }

    /// Prometheus reads a page as a whole or not at all: no label of the program may break it.
    @Test func `each line has the form of the format, whatever the program's texts`() {
        let texts = [
            "\n", "\r\n", "a\"} 1\nb{", "\\", "{}", "\u{0}", "# TYPE", "le", "", "\u{2028}",
        ]
        let metrics = PageMetrics()
        for label in texts {
            for text in texts {
                Counter(label: label, dimensions: [(text, label), (label, text)], factory: metrics)
                    .increment()
                Timer(label: label, dimensions: [(text, text)], factory: metrics)
                    .recordNanoseconds(1)
            }
        }
        let sample =
            #/[a-zA-Z_][a-zA-Z0-9_]*(\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\[\\"n])*",?)+\})? \S+/#
        var seen: Set<String> = []
        for line in metrics.page.utf8.split(separator: UInt8(ascii: "\n")) {
            let line = String(decoding: Array(line), as: UTF8.self)
            if line.hasPrefix("# ") {
                #expect(
                    line.wholeMatch(of: /# (HELP|TYPE) [a-zA-Z0-9_]+ [\s\S]*/) != nil, "\(line)")
            } else {
                #expect(line.wholeMatch(of: sample) != nil, "\(line)")
            }
            #expect(seen.insert(line).inserted, "\(line)")
        }
        #expect(seen.count > 100)
    }

    @Test func `beyond the limit a series is refused and counted, and a destroyed one makes room`()
    {
        let counters = (0..<9).map {
            Counter(label: "c", dimensions: [("n", "\($0)")], factory: metrics)
        }
        for counter in counters { counter.increment() }
        #expect(lines.count == 2 + 8)
        #expect(!lines.contains(#"c_total{n="8"} 1"#))
        #expect(refused("limit") == 1)
        #expect(metrics.page.contains("reactor_metrics_series 8\n"))
        // Another user of the same series keeps it.
        let other = Counter(label: "c", dimensions: [("n", "0")], factory: metrics)
        counters[0].destroy()
        #expect(lines.contains(#"c_total{n="0"} 1"#))
        other.destroy()
        #expect(!lines.contains(#"c_total{n="0"} 1"#))
        // A refused one is not a series.
        counters[8].destroy()
        Counter(label: "c", dimensions: [("n", "8")], factory: metrics).increment(by: 5)
        #expect(lines.contains(#"c_total{n="8"} 5"#))
        #expect(refused("limit") == 1)
    }

    @Test func `a name has one kind`() {
        Timer(label: "x", factory: metrics).recordNanoseconds(1)
        Gauge(label: "x_seconds", factory: metrics).record(1)
        #expect(refused("kind") == 1)
        #expect(lines.filter { $0.hasPrefix("# TYPE x_seconds") }.count == 1)
        let timer = Timer(label: "x", factory: metrics)
        for _ in 0..<2 { timer.destroy() }
        Gauge(label: "x_seconds", factory: metrics).record(1)
        #expect(lines.contains("x_seconds 1"), "the name is free")
    }

    @Test func `threads lose no value`() async {
        let metrics = metrics
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 {
                        Counter(label: "c", factory: metrics).increment()
                        Timer(label: "t", factory: metrics).recordSeconds(1)
                        if metrics.page.isEmpty { return }
                    }
                }
            }
        }
        #expect(lines.contains("c_total 8000"))
        #expect(lines.contains("t_seconds_sum 8000"))
        #expect(lines.contains("t_seconds_count 8000"))
    }

    @Test func `the server's page has them`() async throws {
        var configuration = Configuration()
        (configuration.port, configuration.loops, configuration.journal) = (0, 1, .memory)
        configuration.logLevel = .critical
        let server = ReactorServer(
            hosting: [], configuration: configuration, metrics: metrics)
        Counter(label: "orders", factory: metrics).increment(by: 3)
        let (addresses, started) = AsyncStream<String>.makeStream()
        let running = Task {
            defer { started.finish() }
            try await server.run { started.yield($0) }
        }
        let address = try #require(await addresses.first { _ in true })
        let port = try #require(UInt16(address.split(separator: ":").last ?? ""))
        var request = PlainRequest("/metrics")
        request.fields = [("Host", "localhost")]
        var exchange = try HTTPExchange(
            request, at: .tcp(host: "127.0.0.1", port: port), timeout: .seconds(60))
        #expect(exchange.head.status == 200)
        let answer = String(decoding: try exchange.body(), as: UTF8.self)
        #expect(answer.contains("\n# TYPE orders_total counter\norders_total 3\n"))
        #expect(answer.contains("\nreactor_requests_total "))
        running.cancel()
        try await running.value
    }
}
