#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A time on this machine's monotonic clock; it never jumps with the wall clock.
package struct LoopInstant: Comparable, Hashable, Sendable {
    /// Nanoseconds since an arbitrary start, the same for all loops of the process.
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func < (left: LoopInstant, right: LoopInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant `duration` later; saturates at the end of time instead of trapping.
    package static func + (instant: LoopInstant, duration: Duration) -> LoopInstant {
        let sum = Int128(instant.nanoseconds) + duration.attoseconds / 1_000_000_000
        return LoopInstant(nanoseconds: Int64(clamping: sum))
    }

    /// The time from `right` to this instant; negative if this instant is earlier.
    package static func - (left: LoopInstant, right: LoopInstant) -> Duration {
        .nanoseconds(left.nanoseconds - right.nanoseconds)
    }

    /// Reads the clock (no system call on Linux: the vDSO provides it).
    package static func read() -> LoopInstant {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return LoopInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Milliseconds since 1970 (UTC) by the wall clock, for `Date` fields and records.
    package static func readWallClockMilliseconds() -> Int64 {
        var time = timespec()
        #if os(Linux)
            // The coarse clock is accurate to a timer interrupt (at most 10 ms) at half the cost.
            _ = unsafe clock_gettime(CLOCK_REALTIME_COARSE, &time)
        #else
            _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        #endif
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
