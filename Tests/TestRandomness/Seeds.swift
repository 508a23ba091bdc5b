#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The seeds that a simulation tries.
///
/// Each run tries a quarter of them, and starts at another seed each day (UTC), so the runs of
/// several days try more than one run can. A failure names its seed.
///
/// | variable | |
/// |---|---|
/// | `REACTOR_SIMULATION_SEEDS=all` | all of them, from 0 |
/// | `REACTOR_SIMULATION_SEEDS=5000` | as many |
/// | `REACTOR_SIMULATION_FIRST=1555` | from this seed |
package enum Seeds {
    /// - Parameter count: How many seeds a complete run tries.
    package static func range(_ count: UInt64) -> Range<UInt64> {
        let wanted = variable("REACTOR_SIMULATION_SEEDS")
        let first = variable("REACTOR_SIMULATION_FIRST").flatMap { UInt64($0) }
        guard let wanted else {
            let first = first ?? today * 10_000
            return first..<first + max(count / 4, 1)
        }
        return (first ?? 0)..<(first ?? 0) + (UInt64(wanted) ?? count)
    }

    /// Days since 1970.
    private static var today: UInt64 { UInt64(max(time(nil), 0)) / 86_400 }

    private static func variable(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}
