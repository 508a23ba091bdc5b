import Testing

@testable import reactor_bench

@Suite("Figures — quantiles, medians, formats", .timeLimit(.minutes(60)))
struct MeasureTests {
    @Test func `small values are exact`() {
        var histogram = Histogram()
        for value in 1...100 { histogram.record(UInt64(value)) }
        #expect(histogram.quantile(0) == 1)
        #expect(histogram.quantile(0.5) == 50)
        #expect(histogram.quantile(0.99) == 99)
        #expect(histogram.quantile(1) == 100)
        #expect(histogram.count == 100)
    }

    @Test func `a quantile is never below the truth, and at most 0.8 per cent above`() {
        var value: UInt64 = 1
        while value < 1 << 60 {
            var histogram = Histogram()
            histogram.record(value)
            histogram.record(UInt64.max)
            let quantile = histogram.quantile(0.5)
            #expect(quantile >= value)
            #expect(Double(quantile) <= Double(value) * 1.008)
            value += value / 3 + 1
        }
    }

    @Test func `the largest value has a bucket`() {
        var histogram = Histogram()
        histogram.record(UInt64.max)
        histogram.record(0)
        #expect(histogram.quantile(1) == UInt64.max)
        #expect(histogram.quantile(0.5) == 0)
        #expect(histogram.max == UInt64.max)
    }

    @Test func `an empty histogram returns 0`() {
        #expect(Histogram().quantile(0.99) == 0)
    }

    @Test func `merging equals recording both`() {
        var first = Histogram()
        var second = Histogram()
        first.record(10)
        second.record(30)
        second.record(20)
        first.merge(second)
        #expect(first.count == 3)
        #expect(first.quantile(0.5) == 20)
        #expect(first.max == 30)
    }

    @Test func `medians`() {
        #expect(Statistics.median([]) == 0)
        #expect(Statistics.median([3, 1, 2]) == 2)
        #expect(Statistics.median([4, 1, 2, 3]) == 2.5)
    }

    @Test func `growth ignores the first third and single peaks`() {
        #expect(Statistics.growth([0, 5, 9, 10, 10, 99, 10, 10, 10]) == 0)
        #expect(Statistics.growth([1, 2, 3, 4, 5, 6, 7, 8, 9]) == 3)
        #expect(Statistics.growth([1, 2, 3]) == 0)
    }

    @Test(arguments: [
        (999.0, FigureUnit.nanoseconds, "999 ns"), (1500, .nanoseconds, "1.50 µs"),
        (2_345_678, .nanoseconds, "2.35 ms"), (1.5e9, .nanoseconds, "1.500 s"),
        (1_234_567, .perSecond, "1 234 567/s"), (999, .count, "999"), (-1000, .count, "-1 000"),
        (100_000, .bytes, "97.7 KB"), (20_971_520, .bytes, "20.0 MB"), (-5, .bytes, "-5 B"),
        (0.5, .share, "50.0 %"), (0.0625, .seconds, "0.063 s"),
    ])
    func `figures are formatted for reading`(_ value: Double, _ unit: FigureUnit, _ text: String) {
        #expect(Figure(name: "x", value: value, unit: unit).text == text)
    }

    @Test func `a report is a table and a JSON object`() {
        var report = Report(title: "a \"b\"\n")
        report.add("rate", 1234.5, .perSecond)
        report.add("never", .infinity, .seconds)
        report.problems = ["x\\y"]
        #expect(report.table.contains("rate"))
        #expect(report.table.contains("PROBLEM: x\\y"))
        #expect(
            report.json == #"{"title":"a \"b\"\u000a","passed":false,"figures":{"#
                + #""rate":{"value":1234.5,"unit":"1/s"},"never":{"value":null,"unit":"s"}},"#
                + #""notes":[],"problems":["x\\y"]}"#)
    }

    @Test func `a comparison has medians, ratios to the first and the noise`() {
        var comparison = Comparison(names: ["ours", "theirs"])
        for (run, value) in [(0, 10.0), (1, 5.0), (0, 30.0), (1, 5.0), (0, 20.0), (1, 8.0)] {
            var report = Report(title: "")
            report.add("rate", value, .perSecond)
            if run == 1 { report.add("other", 1, .count) }
            comparison.add(report, of: run)
        }
        #expect(comparison.median("rate", of: 0) == 20)
        #expect(comparison.ratio("rate", of: 1) == 0.25)
        #expect(comparison.spread("rate", of: 0) == 1)
        #expect(comparison.median("other", of: 0) == nil)
        #expect(comparison.ratio("other", of: 1) == nil)
        #expect(comparison.table.contains("(0.25×)"))
        #expect(
            comparison.json.contains(#""run ours":{"median":20,"ratio":1,"values":[10,30,20]}"#))
        #expect(comparison.problems == [])
    }

    @Test func `a problem in one run is the comparison's, with its name`() {
        var comparison = Comparison(names: ["ours", "theirs"])
        var report = Report(title: "")
        report.problems = ["3 gaps"]
        comparison.add(report, of: 1)
        #expect(comparison.problems == ["theirs: 3 gaps"])
    }
}

#if os(Linux)
    @Suite("Processes — read from /proc", .timeLimit(.minutes(60)))
    struct ProcessUsageTests {
        @Test func `CPU time is parsed for any command name`() {
            let stat = "12 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0"
            #expect(ProcessUsage.cpuNanoseconds(stat: stat, ticksPerSecond: 100) == 2_000_000_000)
            #expect(ProcessUsage.cpuNanoseconds(stat: "", ticksPerSecond: 100) == 0)
        }

        @Test func `a line is found by its whole label`() {
            let text = "Rss:                 100 kB\nPss_Anon: 7 kB\nPss:   42 kB\n"
            #expect(ProcessUsage.kilobytes("Pss:", in: text) == 42)
            #expect(ProcessUsage.kilobytes("Swap:", in: text) == 0)
        }

        @Test func `a process is among its own descendants, and its memory is known`() {
            let text = ProcFile.text("/proc/self/stat") ?? ""
            let own = text.split(separator: " ").first.flatMap { Int($0) } ?? 0
            #expect(own > 0)
            let usage = ProcessUsage.read([own])
            #expect(usage.resident > 0)
            #expect(usage.proportional > 0)
            #expect(usage.descriptors > 0)
            #expect(usage.sockets <= usage.descriptors)
            #expect(ProcessUsage.withDescendants([own]).contains(own))
        }
    }
#endif
