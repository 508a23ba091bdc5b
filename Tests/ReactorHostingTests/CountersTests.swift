import Feeds
import Sessions
import Storage
import Testing

@testable import ReactorHosting

@Suite("Prometheus text exposition format 0.0.4", .timeLimit(.minutes(60)))
struct CountersTests {
    @Test func `each metric has its help and type before its samples, once`() throws {
        var counters = Counters()
        counters.requests = 7
        counters.responses.record(nil, 200, nanoseconds: 0)
        counters.responses.record(nil, 204, nanoseconds: 0)
        counters.responses.record(nil, 507, nanoseconds: 0)
        var figures = JournalMetrics()
        for milliseconds in [0, 1, 3, 3, 60_000] {
            figures.recordCommit(of: 2, .milliseconds(milliseconds))
        }
        figures.recordFailure(of: 1)
        figures.waiting = 3
        figures.historyLosses = 2
        var text = PrometheusWriter()
        counters.write(to: &text)
        figures.write(to: &text)
        let lines = text.text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.last == "", "the last line ends")
        var named: Set<Substring> = []
        var helped: Substring?
        var typed: Substring?
        var kind: Substring?
        for line in lines.dropLast() {
            let words = line.split(separator: " ")
            if line.hasPrefix("# HELP ") {
                helped = words[2]
                #expect(named.insert(words[2]).inserted, "\(line)")
            } else if line.hasPrefix("# TYPE ") {
                (typed, kind) = (words[2], words[3])
                #expect(typed == helped)
                #expect(["counter", "gauge", "histogram"].contains(words[3]))
                #expect((words[3] == "counter") == words[2].hasSuffix("_total"))
            } else {
                try #require(words.count == 2)
                let name = words[0].prefix { $0 != "{" }
                if kind == "histogram" {
                    #expect(
                        ["bucket", "sum", "count"].map { "\(typed ?? "")_\($0)" }.contains(name))
                } else {
                    #expect(name == typed ?? "")
                }
                #expect(
                    UInt64(words[1]) != nil || (name.hasSuffix("_sum") && Double(words[1]) != nil))
            }
        }
        #expect(lines.contains("reactor_requests_total 7"))
        for status in [200, 204, 507] {
            let sample = #"reactor_responses_total{route="none",status="\#(status)"} 1"#
            #expect(lines.contains(Substring(sample)))
        }
        #expect(lines.contains("reactor_journal_batches_total 10"))
        #expect(lines.contains("reactor_journal_failures_total 1"))
        #expect(lines.contains("reactor_journal_history_losses_total 2"))
        #expect(lines.contains("reactor_journal_waiting 3"))
        let buckets = lines.filter { $0.hasPrefix("reactor_journal_commit_seconds_bucket") }
        // Each has the count of the previous ones too: a value at a bound counts as within.
        #expect(
            buckets.map { $0.split(separator: " ")[1] }
                == ["1", "1", "2", "2"] + Array(repeating: "4", count: 11) + ["5"])
        #expect(buckets.first == #"reactor_journal_commit_seconds_bucket{le="0.00025"} 1"#)
        #expect(buckets.last == #"reactor_journal_commit_seconds_bucket{le="+Inf"} 5"#)
        #expect(lines.contains("reactor_journal_commit_seconds_count 5"))
        #expect(lines.contains { $0.hasPrefix("reactor_journal_commit_seconds_sum 60.00") })
    }

    @Test func `the values of all loops are added`() {
        var one = Counters()
        var other = Counters()
        (one.requests, other.requests) = (1, 2)
        (one.present.sessions.awake, other.present.sessions.awake) = (3, 4)
        (one.present.sessions.readers.all, other.present.sessions.readers.all) = (5, 6)
        (one.present.sessions.readers.lagBytes, other.present.sessions.readers.lagBytes) = (9, 8)
        (one.dropped, other.dropped) = (7, 8)
        one.responses.record(nil, 404, nanoseconds: 1)
        other.responses.record(nil, 404, nanoseconds: 1)
        one.failures.count("a")
        other.failures.count("a", 2)
        one.add(other)
        #expect(one.requests == 3)
        #expect(one.present.sessions.awake == 7)
        #expect(one.present.sessions.readers.all == 11)
        #expect(one.present.sessions.readers.lagBytes == 9, "the most, not the sum")
        #expect(one.failures.values == ["a": 3])
        #expect(one.dropped == 15)
        var text = PrometheusWriter()
        one.responses.write(to: &text)
        #expect(text.text.contains("status=\"404\"} 2\n"))
    }

    @Test func `an invalid status does no harm`() {
        var counters = Counters()
        for status in [-1, 0, 99, 600, Int.max, Int.min] {
            counters.responses.record(nil, status, nanoseconds: .min)
        }
        var text = PrometheusWriter()
        counters.responses.write(to: &text)
        #expect(text.text.contains("status=\"other\"} 6\n"))
    }
}

@Suite("Draining waits for every loop, up to the grace time", .timeLimit(.minutes(60)))
struct DrainTests {
    @Test func `draining ends when every loop has reported, however often`() async {
        let drain = Drain(loops: 0..<3)
        drain.report(0)
        drain.report(0)
        drain.report(2)
        drain.report(1)
        await drain.wait()
    }

    @Test func `draining waits for a connection that is moving to another loop`() async {
        let drain = Drain(loops: 0..<2)
        drain.departed()
        drain.report(0)
        drain.report(1)
        #expect(!drain.isDone)
        drain.arrived(1)
        #expect(!drain.isDone)
        drain.report(1)
        await drain.wait()
    }

    @Test func `draining does not wait for a connection lost while moving`() async {
        let drain = Drain(loops: 0..<1)
        drain.departed()
        drain.report(0)
        drain.wasLost()
        await drain.wait()
    }

    @Test func `a cut before the wait counts`() async {
        let drain = Drain(loops: 0..<1)
        drain.cut()
        await drain.wait()
    }

    @Test func `a cut ends a wait`() async {
        let drain = Drain(loops: 0..<1)
        async let wait: Void = drain.wait()
        drain.cut()
        await wait
    }
}
