import Testing

@testable import Sockets

@Suite(
    "A wheel reports every deadline once, at its tick, never early",
    .timeLimit(.minutes(60)))
struct TimerWheelTests {
    /// Turns the wheel and claims the collected keys, like a loop.
    private func expect(
        _ wheel: inout TimerWheel, at tick: Int64, _ wanted: [Int],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var collected: [Int] = []
        wheel.advance(to: tick, collecting: &collected)
        let due = collected.filter { wheel.claim($0, at: tick) }.sorted()
        #expect(due == wanted, "at tick \(tick)", sourceLocation: sourceLocation)
    }

    /// (deadlines set, in this order, at tick 100) → (tick to which the wheel is turned → keys due)
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
        // In one bucket, unlinked from head, middle and tail.
        ([(0, 150), (1, 150), (2, 150), (1, 120)], [(120, [1]), (150, [0, 2])]),
        ([(0, 150), (1, 150), (2, 150), (2, 120)], [(120, [2]), (150, [0, 1])]),
        ([(0, 150), (1, 150), (2, 150), (0, 120)], [(120, [0]), (150, [1, 2])]),
        // At, just before and beyond one revolution of the wheel (64), and many revolutions.
        ([(0, 163), (1, 164), (2, 165)], [(162, []), (163, [0]), (164, [1]), (165, [2])]),
        ([(0, 1_000)], [(164, []), (228, []), (999, []), (1_000, [0])]),
        ([(0, 1_000)], [(999, []), (1_000, [0])]),
        // A leap over many revolutions misses nothing.
        ([(0, 101), (1, 130), (2, 700), (3, 90_000)], [(10_000, [0, 1, 2]), (90_000, [3])]),
        // A sparse key.
        ([(500, 105)], [(105, [500])]),
        ([(0, .max), (1, .max - 1)], [(1_000_000, [])]),
    ]

    @Test(arguments: table.indices)
    func `deadlines fire at their ticks`(_ row: Int) {
        var wheel = TimerWheel(bucketCount: 64, at: 100)
        for (key, tick) in Self.table[row].set { wheel.set(key, to: tick) }
        for (tick, wanted) in Self.table[row].turns {
            expect(&wheel, at: tick, wanted)
        }
    }

    @Test func `an empty wheel has no next tick`() {
        var wheel = TimerWheel(bucketCount: 64, at: 0)
        #expect(wheel.nextTick == nil)
        wheel.set(3, to: 10)
        #expect(wheel.nextTick == 10)
        expect(&wheel, at: 10, [3])
        #expect(wheel.nextTick == nil)
        wheel.set(3, to: 20)
        wheel.set(3, to: nil)
        // Cleared entries are removed when their bucket comes round.
        expect(&wheel, at: 20, [])
        #expect(wheel.nextTick == nil)
    }

    @Test(arguments: [Int64(0), 1, 62, 63, 64, 65, 127, 1_000])
    func `the next tick is the earliest bucket, from any position of the wheel`(_ start: Int64) {
        for distance in Int64(1)...64 {
            var wheel = TimerWheel(bucketCount: 64, at: start)
            wheel.set(0, to: start + distance)
            #expect(wheel.nextTick == start + distance)
        }
        for distance in stride(from: Int64(1), through: 512, by: 7) {
            var wheel = TimerWheel(at: start)
            wheel.set(0, to: start + distance)
            #expect(wheel.nextTick == start + distance)
        }
    }

    @Test func `a collected deadline that was cleared or moved meanwhile is not due`() {
        var wheel = TimerWheel(bucketCount: 64, at: 0)
        for key in 0..<3 { wheel.set(key, to: 5) }
        var collected: [Int] = []
        wheel.advance(to: 5, collecting: &collected)
        #expect(collected.sorted() == [0, 1, 2])
        wheel.set(1, to: nil)
        wheel.set(2, to: 9)
        let taken = [0, 0, 1, 2].map { wheel.claim($0, at: 5) }
        #expect(taken == [true, false, false, false])
        expect(&wheel, at: 9, [2])
    }

    /// Compared with a dictionary that checks every entry each time.
    @Test(arguments: 0..<20)
    func `a wheel and a plain list agree over ten thousand random steps`(_ seed: UInt64) {
        var random = Sequence(seed: seed)
        var now: Int64 = random.next(1_000)
        var wheel = TimerWheel(bucketCount: 64, at: now)
        var list: [Int: Int64] = [:]
        for _ in 0..<10_000 {
            let key = Int(random.next(50))
            switch random.next(10) {
            case 0..<6:
                let tick = now + random.next(random.next(8) == 0 ? 1_000 : 40) - 3
                wheel.set(key, to: tick)
                list[key] = tick
            case 6:
                wheel.set(key, to: nil)
                list[key] = nil
            default:
                let leap = random.next(random.next(50) == 0 ? 500 : 5)
                if let next = wheel.nextTick, let earliest = list.values.min() {
                    #expect(next <= max(earliest, now + 1))
                }
                #expect(list.isEmpty || wheel.nextTick != nil)
                now += leap
                let wanted = leap == 0 ? [] : list.filter { $0.value <= now }.keys.sorted()
                expect(&wheel, at: now, wanted)
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
