/// The deadlines of a loop's connections and its few named timers, on one scale of coarse ticks.
struct LoopDeadlines {
    /// 2²⁶ ns, about 67 ms: fine enough for time-outs, coarse enough that many fire together.
    static let tickShift = Int64(26)

    private var connections: DeadlineTable
    /// The tokens of the few timers that are set, with the ticks at which they are due.
    private var timers: [(token: UInt64, tick: Int64)] = []
    /// The slots that were due and are not handed out. Invariant: a slot is in it once for
    /// each time that it was collected, so it is bounded by the slots and by their new deadlines.
    private var dueSlots: [Int] = []

    init(at now: LoopInstant) {
        connections = DeadlineTable(at: Self.tick(now))
    }

    mutating func set(slot: Int, _ instant: LoopInstant?) {
        connections.set(slot, to: instant.map(Self.tickAfter))
    }

    mutating func set(token: UInt64, _ instant: LoopInstant?) {
        timers.removeAll { $0.token == token }
        if let instant { timers.append((token, Self.tickAfter(instant))) }
    }

    /// Takes at most `limit` slots that are due at `now`, those that have waited longest
    /// first; the others wait for the next call. Each must be confirmed by `claim(slot:)`
    /// before it is handled.
    mutating func takeDueSlots(_ limit: Int, at now: LoopInstant) -> [Int] {
        connections.advance(to: Self.tick(now), collecting: &dueSlots)
        let taken = Array(dueSlots.prefix(limit))
        dueSlots.removeFirst(taken.count)
        return taken
    }

    /// Whether slots wait that were due at the last call.
    var hasDueSlots: Bool { !dueSlots.isEmpty }

    /// Clears the slot's deadline if it is still due; returns whether it was.
    mutating func claim(slot: Int, at now: LoopInstant) -> Bool {
        connections.claim(slot, at: Self.tick(now))
    }

    /// Tokens that are due; each must be confirmed by `claim(token:)` before it is handled.
    func dueTokens(at now: LoopInstant) -> [UInt64] {
        timers.filter { $0.tick <= Self.tick(now) }.sorted { $0.tick < $1.tick }.map(\.token)
    }

    /// Clears the timer if it is still due; returns whether it was.
    mutating func claim(token: UInt64, at now: LoopInstant) -> Bool {
        let due = timers.firstIndex { $0.token == token && $0.tick <= Self.tick(now) }
        guard let due else { return false }
        timers.remove(at: due)
        return true
    }

    private var earliestTimer: Int64 { timers.reduce(.max) { min($0, $1.tick) } }

    /// The time of the next check; nil if nothing is set, or for the end of time only.
    var next: LoopInstant? {
        let tick = min(connections.nextTick ?? .max, earliestTimer)
        guard tick <= Int64.max >> Self.tickShift else { return nil }
        return LoopInstant(nanoseconds: tick << Self.tickShift)
    }

    private static func tick(_ instant: LoopInstant) -> Int64 {
        instant.nanoseconds >> tickShift
    }

    /// Rounded up, so that nothing is due early.
    private static func tickAfter(_ instant: LoopInstant) -> Int64 {
        (instant.nanoseconds >> tickShift) + 1
    }
}
