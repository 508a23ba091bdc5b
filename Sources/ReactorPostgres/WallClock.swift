#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The clock of this machine, by which tokens expire and logs are written.
package enum WallClock {
    /// Milliseconds since 1970 (UTC).
    package static func milliseconds() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
