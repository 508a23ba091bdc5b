internal import ClientMachine

#if canImport(Darwin)
    internal import Darwin
#else
    internal import Glibc
#endif

struct DriverClock: Sendable {
    private let start = ContinuousClock.now

    var now: ClientInstant {
        ClientInstant(uptime: start.duration(to: .now), date: Int64(time(nil)))
    }

    func instant(_ uptime: Duration) -> ContinuousClock.Instant { start.advanced(by: uptime) }
}
