import Testing

@testable import Sockets

@Suite(
    "Every deadline is reported once, at its tick, never early",
    .timeLimit(.minutes(60)))
struct DeadlineTableTests {
    /// Advances the table and claims the collected keys, like a loop.
    private func expect(
        _ deadlines: inout DeadlineTable, at tick: Int64, _ wanted: [Int],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var collected: [Int] = []
        deadlines.advance(to: tick, collecting: &collected)
        let due = collected.filter { deadlines.claim($0, at: tick) }.sorted()
        #expect(due == wanted, "at tick \(tick)", sourceLocation: sourceLocation)
    }

    /// (deadlines set, in this order, at tick 100) → (tick to which it advances → keys due)
    private static let table: [(set: [(Int, Int64?)], turns: [(Int64, [Int])])] = [
        ([], [(101, []), (5_000, [])]),
        ([(0, 105)], [(104, []), (105, [0]), (106, []), (1_000, [])]),
        // In the past or now: with the next tick.
        ([(0, 100), (1, 3), (2, -5)], [(101, [0, 1, 2])]),
        ([(0, 105), (1, 105), (2, 106)], [(105, [0, 1]), (106, [2])]),
        // Moved later, earlier, cleared, set again.
        ([(0, 105), (0, 110)], [(105, []), (109, []), (110, [0])]),
        ([(0, 110), (0, 105)], [(104, []), (105, [0]), (110, [])]),
        ([(0, 105), (0, nil)], [(105, []), (110, [])]),
        ([(0, 105), (0, nil), (0, 107)], [(105, []), (106, []), (107, [0])]),
        ([(0, 105), (0, nil), (0, 103)], [(102, []), (103, [0]), (105, [])]),
        // Several at one tick, of which one is moved.
        ([(0, 150), (1, 150), (2, 150), (1, 120)], [(120, [1]), (150, [0, 2])]),
        ([(0, 150), (1, 150), (2, 150), (2, 120)], [(120, [2]), (150, [0, 1])]),
        ([(0, 150), (1, 150), (2, 150), (0, 120)], [(120, [0]), (150, [1, 2])]),
        // Neighbours in time, and far ahead.
        ([(0, 163), (1, 164), (2, 165)], [(162, []), (163, [0]), (164, [1]), (165, [2])]),
        ([(0, 1_000)], [(164, []), (228, []), (999, []), (1_000, [0])]),
        ([(0, 1_000)], [(999, []), (1_000, [0])]),
        // A leap misses nothing.
        ([(0, 101), (1, 130), (2, 700), (3, 90_000)], [(10_000, [0, 1, 2]), (90_000, [3])]),
        // A sparse key.
        ([(500, 105)], [(105, [500])]),
        ([(0, .max), (1, .max - 1)], [(1_000_000, [])]),
    ]

    @Test(arguments: table.indices)
    func `deadlines fire at their ticks`(_ row: Int) {
        var deadlines = DeadlineTable(at: 100)
        for (key, tick) in Self.table[row].set { deadlines.set(key, to: tick) }
        for (tick, wanted) in Self.table[row].turns {
            expect(&deadlines, at: tick, wanted)
        }
    }

    @Test func `an empty table has no next tick`() {
        var deadlines = DeadlineTable(at: 0)
        #expect(deadlines.nextTick == nil)
        deadlines.set(3, to: 10)
        #expect(deadlines.nextTick == 10)
        expect(&deadlines, at: 10, [3])
        #expect(deadlines.nextTick == nil)
        deadlines.set(3, to: 20)
        deadlines.set(3, to: nil)
        // A cleared deadline counts until it would have been due.
        expect(&deadlines, at: 20, [])
        #expect(deadlines.nextTick == nil)
    }

    @Test func `the next tick is the earliest deadline, and never in the past`() {
        var deadlines = DeadlineTable(at: 100)
        for (key, tick) in [(0, 900), (700, 300), (64, 200), (3, 250)] as [(Int, Int64)] {
            deadlines.set(key, to: tick)
        }
        #expect(deadlines.nextTick == 200)
        expect(&deadlines, at: 200, [64])
        #expect(deadlines.nextTick == 250)
        expect(&deadlines, at: 299, [3])
        #expect(deadlines.nextTick == 300)
        deadlines.set(9, to: 5)
        #expect(deadlines.nextTick == 300)
        expect(&deadlines, at: 300, [9, 700])
        #expect(deadlines.nextTick == 900)
    }

    @Test func `a key that waits to be handled is not collected again`() {
        var deadlines = DeadlineTable(at: 0)
        var collected: [Int] = []
        deadlines.set(0, to: 5)
        deadlines.set(1, to: 6)
        deadlines.advance(to: 5, collecting: &collected)
        deadlines.advance(to: 6, collecting: &collected)
        #expect(collected == [0, 1])
        let isDue = deadlines.claim(0, at: 6)
        #expect(isDue)
    }

    @Test func `a collected deadline that was cleared or moved meanwhile is not due`() {
        var deadlines = DeadlineTable(at: 0)
        for key in 0..<3 { deadlines.set(key, to: 5) }
        var collected: [Int] = []
        deadlines.advance(to: 5, collecting: &collected)
        #expect(collected.sorted() == [0, 1, 2])
        deadlines.set(1, to: nil)
        deadlines.set(2, to: 9)
        let taken = [0, 0, 1, 2].map { deadlines.claim($0, at: 5) }
        #expect(taken == [true, false, false, false])
        expect(&deadlines, at: 9, [2])
    }

    /// Compared with a dictionary that checks every entry each time.
    @Test(arguments: 0..<20)
    func `a table and a plain list agree over ten thousand random steps`(_ seed: UInt64) {
        var random = Sequence(seed: seed)
        var now: Int64 = random.next(1_000)
        var deadlines = DeadlineTable(at: now)
        var list: [Int: Int64] = [:]
        for _ in 0..<10_000 {
            let key = Int(random.next(50))
            switch random.next(10) {
            case 0..<6:
                let tick = now + random.next(random.next(8) == 0 ? 1_000 : 40) - 3
                deadlines.set(key, to: tick)
                list[key] = tick
            case 6:
                deadlines.set(key, to: nil)
                list[key] = nil
            default:
                let leap = random.next(random.next(50) == 0 ? 500 : 5)
                if let next = deadlines.nextTick, let earliest = list.values.min() {
                    #expect(next <= max(earliest, now + 1))
                }
                #expect(list.isEmpty || deadlines.nextTick != nil)
                now += leap
                let wanted = leap == 0 ? [] : list.filter { $0.value <= now }.keys.sorted()
                expect(&deadlines, at: now, wanted)
                for key in wanted { list[key] = nil }
            }
        }
    }

    /// A linear congruential generator (Knuth's MMIX constants): the same numbers in every run.
    private struct Sequence {
        var state: UInt64
        init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }
        mutating func next(_ bound: Int64) -> Int64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int64(state >> 33) % bound
        }
    }
}
