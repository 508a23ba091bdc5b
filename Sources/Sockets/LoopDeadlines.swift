/// The deadlines of a loop's connections and its few named timers, on one scale of coarse ticks.
struct LoopDeadlines {
    /// 2²⁶ ns, about 67 ms: fine enough for time-outs, coarse enough that many fire together.
    static let tickShift = Int64(26)

    private(set) var connections: TimerWheel
    private var timers: TimerWheel
    /// The wheel keys of the set tokens, and the inverse.
    private var keys: [UInt64: Int] = [:]
    private var tokens: [UInt64] = []
    private var freeKeys: [Int] = []
    /// The slots that were due and are not handed out. Invariant: a slot is in it once for
    /// each time that the wheel has reported it, so it is bounded by the slots and by their
    /// new deadlines.
    private var dueSlots: [Int] = []
    private var dueKeys: [Int] = []

    init(at now: LoopInstant) {
        let tick = Self.tick(now)
        self.connections = TimerWheel(at: tick)
        self.timers = TimerWheel(bucketCount: 64, at: tick)
    }

    mutating func set(slot: Int, _ instant: LoopInstant?) {
        connections.set(slot, to: instant.map(Self.tickAfter))
    }

    mutating func set(token: UInt64, _ instant: LoopInstant?) {
        guard let instant else {
            guard let key = keys[token] else { return }
            timers.set(key, to: nil)
            forget(key)
            return
        }
        timers.set(key(of: token), to: Self.tickAfter(instant))
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
    mutating func dueTokens(at now: LoopInstant) -> [UInt64] {
        dueKeys.removeAll(keepingCapacity: true)
        timers.advance(to: Self.tick(now), collecting: &dueKeys)
        return dueKeys.map { tokens[$0] }
    }

    /// Clears the timer if it is still due; returns whether it was.
    mutating func claim(token: UInt64, at now: LoopInstant) -> Bool {
        guard let key = keys[token], timers.claim(key, at: Self.tick(now)) else { return false }
        forget(key)
        return true
    }

    /// The time of the next check; nil if nothing is set.
    var next: LoopInstant? {
        let tick = min(connections.nextTick ?? .max, timers.nextTick ?? .max)
        return tick == .max ? nil : LoopInstant(nanoseconds: tick << Self.tickShift)
    }

    private static func tick(_ instant: LoopInstant) -> Int64 {
        instant.nanoseconds >> tickShift
    }

    /// Rounded up, so that nothing is due early.
    private static func tickAfter(_ instant: LoopInstant) -> Int64 {
        (instant.nanoseconds >> tickShift) + 1
    }

    private mutating func key(of token: UInt64) -> Int {
        if let key = keys[token] { return key }
        let key = freeKeys.popLast() ?? tokens.count
        if key == tokens.count { tokens.append(token) } else { tokens[key] = token }
        keys[token] = key
        return key
    }

    private mutating func forget(_ key: Int) {
        keys[tokens[key]] = nil
        freeKeys.append(key)
    }
}
