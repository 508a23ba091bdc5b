package import Storage

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A call of a reactor's code on a loop: an action, a value of an effect, or the restoring or
/// reading of a state.
package struct Turn: Sendable, Equatable {
    package let work: CrashSlot.Work
    /// The number of its action; 0: none.
    package let action: UInt64
    package let nanoseconds: Int64
}

/// Records the present turn of one loop, and measures each.
///
/// Why the coarse clock: two readings of it cost a tenth of a percent of a POST. It ticks every 1
/// to 10 ms, so a single time is wrong by up to a tick; the sum of many is not.
final class TurnMeter {
    /// The work that is being carried out, for other threads and for the next start.
    let slot: CrashSlot
    private(set) var times = TimeHistogram()
    private var work = CrashSlot.Work.action
    private var action: UInt64 = 0
    private var began: Int64 = 0

    init(_ slot: CrashSlot) { self.slot = slot }

    var isOpen: Bool { slot.isBusy }

    /// Whether the open turn is this action's.
    func isOpen(for action: UInt64) -> Bool { slot.isBusy && self.action == action }

    func begin(_ work: CrashSlot.Work, action: UInt64) {
        (self.work, self.action) = (work, action)
        began = Self.now()
        slot.begin(work, action: action)
    }

    /// - Returns: The turn if the clock has ticked since its beginning.
    func end() -> Turn? {
        guard slot.isBusy else { return nil }
        slot.end()
        let time = Self.now() &- began
        times.record(nanoseconds: time)
        return time > 0 ? Turn(work: work, action: action, nanoseconds: time) : nil
    }

    private static func now() -> Int64 {
        var time = timespec()
        #if os(Linux)
            _ = unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        #else
            _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        #endif
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
