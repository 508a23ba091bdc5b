/// The deadlines of a loop's connections, in coarse ticks, and its few named timers, in finer ones.
struct LoopDeadlines {
    /// 2²⁶ ns, about 67 ms: fine enough for time-outs, coarse enough that many fire together.
    static let tickShift = Int64(26)
    /// 2²³ ns, about 8 ms: the timers of sessions are to be on time.
    static let timerShift = Int64(23)

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
        guard let instant else { return }
        timers.append((token, (instant.nanoseconds >> Self.timerShift) + 1))
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
        let tick = now.nanoseconds >> Self.timerShift
        return timers.filter { $0.tick <= tick }.sorted { $0.tick < $1.tick }.map(\.token)
    }

    /// Clears the timer if it is still due; returns whether it was.
    mutating func claim(token: UInt64, at now: LoopInstant) -> Bool {
        let tick = now.nanoseconds >> Self.timerShift
        let due = timers.firstIndex { $0.token == token && $0.tick <= tick }
        guard let due else { return false }
        timers.remove(at: due)
        return true
    }

    private var earliestTimer: Int64 { timers.reduce(.max) { min($0, $1.tick) } }

    /// The time of the next check; nil if nothing is set, or for the end of time only.
    var next: LoopInstant? {
        let next = min(
            Self.nanoseconds(connections.nextTick ?? .max, Self.tickShift),
            Self.nanoseconds(earliestTimer, Self.timerShift))
        return next == .max ? nil : LoopInstant(nanoseconds: next)
    }

    private static func nanoseconds(_ tick: Int64, _ shift: Int64) -> Int64 {
        tick > Int64.max >> shift ? .max : tick << shift
    }

    private static func tick(_ instant: LoopInstant) -> Int64 {
        instant.nanoseconds >> tickShift
    }

    /// Rounded up, so that nothing is due early.
    private static func tickAfter(_ instant: LoopInstant) -> Int64 {
        (instant.nanoseconds >> tickShift) + 1
    }
}
