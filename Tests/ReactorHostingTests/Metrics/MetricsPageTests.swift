import Foundation
import Sessions
import Sockets
import Storage
import Testing

@testable import ReactorHosting

@Suite("Metrics — the page, its documentation and its dashboard", .timeLimit(.minutes(60)))
struct MetricsPageTests {
    /// A page on which every label has a value.
    private static func fullPage() throws -> PrometheusPage {
        var counters = Counters()
        for route in Route.table.map(Optional.some) + [nil] {
            for status in ResponseCounts.statuses + [299] {
                counters.responses.record(route, status, nanoseconds: 3_000_000)
            }
        }
        counters.refusals.count("too_busy")
        counters.failures.count("alerts")
        counters.slowTurns.count("alerts")
        counters.passes.record(nanoseconds: 20_000_000_000)
        counters.present.sessions.runningEffects["alerts"] = 2
        counters.present.sessions.batches.record(3)
        counters.present.sessions.turns.record(nanoseconds: -1)
        var journal = JournalMetrics()
        journal.recordCommit(of: 5, .milliseconds(3))
        journal.logBytes = 24 << 20
        return try PrometheusPage(
            ReadMetrics.page([counters, Counters()], journal, [(0, .seconds(3))], 0) { _ in 0 })
    }

    @Test func `a full page obeys the format, and so does an empty one`() throws {
        let page = try Self.fullPage()
        #expect(page.value("reactor_resets_total", [("reason", "trimmed")]) == 0)
        #expect(page.value("reactor_effects_running", [("reactor", "alerts")]) == 2)
        #expect(page.value("reactor_turn_seconds_bucket", [("le", "0.0005")]) == 1)
        #expect(page.value("reactor_loop_pass_seconds_bucket", [("le", "10.0")]) == 0)
        #expect(page.value("reactor_loop_pass_seconds_sum") == 20)
        #expect(page.value("reactor_batch_steps_bucket", [("le", "2")]) == 0)
        #expect(page.value("reactor_batch_steps_bucket", [("le", "4")]) == 1)
        #expect(page.value("reactor_journal_commit_batches_sum") == 5)
        var journal = JournalMetrics()
        journal.logBytes = 0
        let empty = try PrometheusPage(ReadMetrics.page([Counters()], journal, [], 0) { _ in 0 })
        #expect(empty.names == page.names)
    }

    @Test func `responses are counted by route and status`() throws {
        let page = try Self.fullPage()
        for route in Route.table.map(\.operationID) + ["none"] {
            for status in ResponseCounts.statuses.map({ "\($0)" }) + ["other"] {
                let labels = [(name: "route", value: route), ("status", status)]
                #expect(page.value("reactor_responses_total", labels) == 1, "\(route) \(status)")
            }
            let labels = [(name: "route", value: route)]
            let count = Double(ResponseCounts.statuses.count + 1)
            #expect(page.value("reactor_response_seconds_count", labels) == count)
        }
    }

    @Test func `every status of the specification and of a problem has a count of its own`() {
        let text = specification()
        let declared = text.matches(of: /\n {8}'(\d{3})':/).compactMap { Int($0.1) }
        #expect(declared.count > 100)
        #expect(Set(declared).subtracting(ResponseCounts.statuses) == [])
    }

    @Test(arguments: [
        ("reactor_as 1\n", "a sample follows its type"),
        ("# HELP reactor_as A.\nreactor_as 1\n", "a sample follows its type"),
        (
            "# HELP reactor_as A.\n# TYPE reactor_as gauge\nreactor_b 1\n",
            "a sample of another metric"
        ),
        ("# HELP reactor_as A.\n# TYPE reactor_as counter\n", "_total is for counters"),
        ("# HELP reactor_a_total A.\n# TYPE reactor_a_total gauge\n", "_total is for counters"),
        ("# HELP reactor_a_ms A.\n# TYPE reactor_a_ms gauge\n", "not a base unit"),
        (
            "# HELP reactor_as A.\n# TYPE reactor_as gauge\nreactor_as 1\nreactor_as 1\n",
            "the sample again"
        ),
        (
            "# HELP reactor_as A.\n# TYPE reactor_as gauge\nreactor_as{x=\"1\",x=\"2\"} 1\n",
            "no sample"
        ),
        ("# HELP reactor_as A.\n# TYPE reactor_as gauge\nreactor_as{x=1} 1\n", "no sample"),
        ("# HELP reactor_as A.\n# TYPE reactor_as gauge\nreactor_as one\n", "no sample"),
        ("# HELP reactor_as A.\n# TYPE reactor_as gauge\nreactor_as 1", "the last line is open"),
        (
            "# HELP reactor_as A.\n# TYPE reactor_as histogram\nreactor_as_bucket{le=\"1\"} 1\n",
            "buckets have bounds up to +Inf"
        ),
        (
            "# HELP reactor_as A.\n# TYPE reactor_as histogram\nreactor_as_bucket{le=\"1\"} 2\n"
                + "reactor_as_bucket{le=\"+Inf\"} 1\nreactor_as_sum 1\nreactor_as_count 1\n",
            "counts are cumulative"
        ),
    ])
    func `the reader of these tests refuses a page that breaks a rule`(page: String, reason: String)
    {
        let fault = #expect(throws: PrometheusPage.Fault.self) { try PrometheusPage(page) }
        #expect(fault?.reason == reason)
    }

    // MARK: The documentation

    private static let catalog = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Sources/ReactorHosting/ReactorHosting.docc").standardizedFileURL

    private func specification() -> String {
        let root = Self.catalog.appending(path: "../../../openapi.yaml").standardizedFileURL
        return (try? String(contentsOf: root, encoding: .utf8)) ?? ""
    }

    private static func article(_ name: String) throws -> String {
        try String(contentsOf: catalog.appending(path: "\(name).md"), encoding: .utf8)
    }

    @Test func `the page Metrics explains each metric with its type, and no other`() throws {
        var rows: [String: String] = [:]
        let text = try Self.article("Metrics")
        for row in text.matches(of: /\n\| `(reactor_\w+)` \| (\w+) \| [^|\n]+ \|/) {
            #expect(rows.updateValue(String(row.2), forKey: String(row.1)) == nil, "\(row.1) again")
        }
        let kinds = try Self.fullPage().metrics.map { ($0.name, $0.kind) }
        #expect(rows == Dictionary(uniqueKeysWithValues: kinds))
    }

    @Test func `the five alerts query metrics of the page`() throws {
        let text = try Self.article("Monitoring")
        let rules = try #require(
            text.firstMatch(of: /```yaml\n(groups:.*?)```/.dotMatchesNewlines()))
        #expect(rules.1.matches(of: #/- alert: /#).count == 5)
        #expect(rules.1.matches(of: #/expr: /#).count == 5)
        try expectQueries(in: String(rules.1), atLeast: 5)
    }

    @Test func `each panel of the dashboard queries metrics of the page`() throws {
        let file = Self.catalog.appending(path: "Resources/grafana-dashboard.json")
        let dashboard = try JSONDecoder().decode(Dashboard.self, from: Data(contentsOf: file))
        #expect(Set(dashboard.panels.map(\.id)).count == dashboard.panels.count)
        for panel in dashboard.panels {
            #expect(!panel.targets.isEmpty, "\(panel.title)")
            for target in panel.targets { try expectQueries(in: target.expr, atLeast: 1) }
        }
        // Every metric is shown, but for those that another one contains.
        let shown = dashboard.panels.flatMap(\.targets).map(\.expr).joined(separator: " ")
        let unseen = try Self.fullPage().names.filter { !shown.contains($0) }
        #expect(
            unseen.sorted() == [
                "reactor_connections_closed_total", "reactor_connections_opened_total",
                "reactor_dropped_total", "reactor_journal_batches_total",
                "reactor_journal_log_bytes",
                "reactor_malformed_total", "reactor_requests_total", "reactor_stalled_total",
                "reactor_stream_writes_total", "reactor_streams_opened_total",
                "reactor_uncommitted_bytes",
            ])
    }

    private struct Dashboard: Decodable {
        struct Panel: Decodable {
            struct Target: Decodable { var expr: String }
            var id: Int
            var title: String
            var targets: [Target]
        }
        var panels: [Panel]
    }

    /// Every name in the text is a sample of the full page, with the labels that the query uses.
    private func expectQueries(in text: String, atLeast count: Int) throws {
        let samples = try Self.fullPage().metrics.flatMap(\.samples)
        let queries = text.matches(of: /(reactor_[a-z_]+)(?:\{([^}]*)\})?/)
        #expect(queries.count >= count)
        for query in queries {
            let known = samples.filter { $0.name == String(query.1) }
            #expect(!known.isEmpty, "no sample of the page is \(query.1)")
            for label in (query.2 ?? "").matches(of: /([a-z]+)=/) where label.1 != "instance" {
                #expect(
                    known.contains { $0.labels.contains { $0.name == String(label.1) } },
                    "\(query.0)")
            }
        }
    }
}
