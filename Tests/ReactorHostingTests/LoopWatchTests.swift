import Sockets
import Storage
import TestLogging
import Testing

@testable import ReactorHosting

@Suite("LoopWatch — occupied loops are found from outside", .timeLimit(.minutes(60)))
struct LoopWatchTests {
    private let passes = [PassClock(), PassClock()]
    private let slots = [CrashSlot(), CrashSlot()]
    private let lines = LogLines()
    private let watch: LoopWatch

    init() {
        watch = LoopWatch(limit: .seconds(10), logger: lines.logger)
        for loop in 0..<2 { watch.add(loop, passes[loop], slots[loop].reader) }
    }

    private func second(_ number: Int64) -> LoopInstant {
        LoopInstant(nanoseconds: number * 1_000_000_000)
    }

    @Test func `a loop is occupied from the beginning of its pass to the end`() {
        #expect(watch.occupied(for: .zero, at: second(5)) == [])
        passes[1].begin(second(5))
        #expect(watch.occupied(for: .seconds(1), at: second(6)) == [])
        let occupied = watch.occupied(for: .seconds(1), at: second(7))
        #expect(occupied.map(\.loop) == [1])
        #expect(occupied.map(\.time) == [.seconds(2)])
        #expect(occupied.map(\.work) == [nil])
        #expect(watch.times(at: second(7)).map(\.time) == [.zero, .seconds(2)])
        passes[1].end()
        #expect(watch.occupied(for: .zero, at: second(9)) == [])
    }

    @Test func `the call of a reactor's code is named while it lasts`() {
        passes[0].begin(second(1))
        slots[0].name("alice", "alerts", owner: 7)
        #expect(watch.occupied(for: .zero, at: second(2)).first?.work == nil)
        slots[0].begin(.action, action: 3)
        #expect(
            watch.occupied(for: .zero, at: second(2)).first?.work
                == InterruptedWork(
                    session: "alice", reactor: "alerts", action: 3, trace: .loop(.action)))
        slots[0].end()
        #expect(watch.occupied(for: .zero, at: second(2)).first?.work == nil)
    }

    @Test func `a pass beyond the limit is logged once, and the next one again`() {
        slots[1].name("bob", "counter", owner: 1)
        slots[1].begin(.effect, action: 9)
        for begin: Int64 in [100, 200] {
            passes[1].begin(second(begin))
            watch.look(at: second(begin + 10))
            #expect(lines.all.isEmpty == (begin == 100), "the limit is not exceeded")
            for second in begin + 11...begin + 15 { watch.look(at: self.second(second)) }
            #expect(lines.all.count == Int(begin / 100))
            passes[1].end()
            watch.look(at: second(begin + 20))
        }
        #expect(lines.all.count == 2)
        #expect(
            lines.all.first
                == "a loop is stuck action=9 duration_ms=11000.000 loop=1 reactor=counter "
                + "session=bob work=effect")
    }

    @Test func `a journal's log that has grown long is logged once`() {
        let watch = LoopWatch(
            limit: .seconds(10), logger: lines.logger,
            logBytes: { LogSizeWatch.limitBytes + 1 })
        for time: Int64 in 1...3 { watch.look(at: second(time)) }
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.hasSuffix("bytes=134217729") == true)
    }

    @Test func `the counters of a loop that is left out are those of its last scrape`() {
        let last = LastCounters()
        var counters = Counters()
        counters.requests = 4
        _ = last.store(counters, of: 1)
        #expect(last.of([0, 1]).map(\.requests) == [4])
        #expect(last.of([]).isEmpty)
    }
}
