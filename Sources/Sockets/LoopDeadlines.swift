/// The deadlines of a loop's connections and its few named timers, on one scale of coarse ticks.
struct LoopDeadlines {
    /// 2²⁶ ns, about 67 ms: fine enough for time-outs and heartbeats, coarse enough that many fire
    /// together.
    static let tickShift = Int64(26)

    private(set) var connections: TimerWheel
    private var timers: TimerWheel
    /// The wheel keys of the set tokens, and the inverse.
    private var keys: [UInt64: Int] = [:]
    private var tokens: [UInt64] = []
    private var freeKeys: [Int] = []
    private var due: [Int] = []

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

    /// Slots that are due at `now`; each must be confirmed by `claim(slot:)` before it is handled.
    mutating func dueSlots(at now: LoopInstant) -> [Int] {
        due.removeAll(keepingCapacity: true)
        connections.advance(to: Self.tick(now), collecting: &due)
        return due
    }

    /// Clears the slot's deadline if it is still due; returns whether it was.
    mutating func claim(slot: Int, at now: LoopInstant) -> Bool {
        connections.claim(slot, at: Self.tick(now))
    }

    /// Tokens that are due at `now`; each must be confirmed by `claim(token:)` before it is
    /// handled.
    mutating func dueTokens(at now: LoopInstant) -> [UInt64] {
        due.removeAll(keepingCapacity: true)
        timers.advance(to: Self.tick(now), collecting: &due)
        return due.map { tokens[$0] }
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
