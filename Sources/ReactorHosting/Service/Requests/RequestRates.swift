internal import Sockets
internal import Synchronization

/// Limits the requests of each client to an average rate and a burst, which a reload may change.
///
/// Design: the generic cell rate algorithm (ITU-T I.371, annex A), which is a token bucket of one
/// number: the time at which the client's bucket is full again. All loops share the table, because
/// the connections of a client are on all of them; its parts have a lock each.
final class RequestRates: Sendable {
    /// The clients of one part. At most ``limit``; see ``admit(_:at:_:)``.
    private final class Part: Sendable {
        let fullAt = Mutex(Clients())
    }

    private struct Clients {
        /// Nanoseconds of the loops' clock.
        var fullAt: [AddressNetwork: Int64] = [:]
        /// The common bucket of clients for which there was no room.
        var othersFullAt: Int64 = 0
        var sweepAt: Int64 = 0
    }

    /// The maximum number of clients in each of the parts, together 65 536: 3 MB.
    static let limit = 4_096
    private let parts = (0..<16).map { _ in Part() }

    /// Counts a request.
    ///
    /// A table that is full removes clients whose bucket is full, at most once a second; those for
    /// which there still is no room share one bucket. Returns nil within the limit; otherwise,
    /// uncounted, the nanoseconds until it will be.
    func admit(_ client: AddressNetwork, at now: LoopInstant, _ limit: Limit) -> Int64? {
        let now = now.nanoseconds
        let part = parts[Int(UInt(bitPattern: client.hashValue) >> 60)]
        return part.fullAt.withLock { clients in
            if let fullAt = clients.fullAt[client] {
                return limit.count(fullAt, now) { clients.fullAt[client] = $0 }
            }
            if clients.fullAt.count >= Self.limit, clients.sweepAt <= now {
                clients.fullAt = clients.fullAt.filter { $0.value > now }
                clients.sweepAt = now + 1_000_000_000
            }
            guard clients.fullAt.count < Self.limit else {
                return limit.count(clients.othersFullAt, now) { clients.othersFullAt = $0 }
            }
            return limit.count(now, now) { clients.fullAt[client] = $0 }
        }
    }

    /// The average rate of a client, and its burst.
    struct Limit: Sendable {
        private let intervalNanoseconds: Int64
        private let burstNanoseconds: Int64
        /// `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10): requests and seconds.
        private let policy: String
    }
}

extension RequestRates.Limit {
    /// - Parameters:
    ///   - rate: Requests per second; nil for 0, which is no limit.
    ///   - burst: Requests at once, at least 1.
    init?(rate: Int, burst: Int) {
        guard rate > 0 else { return nil }
        intervalNanoseconds = 1_000_000_000 / Int64(rate)
        burstNanoseconds = Int64(max(1, burst)) * intervalNanoseconds
        policy = "\"requests\";q=\(burst);w=\(Self.seconds(burstNanoseconds))"
    }

    fileprivate func count(_ fullAt: Int64, _ now: Int64, _ set: (Int64) -> Void) -> Int64? {
        let next = max(fullAt, now) + intervalNanoseconds
        let excess = next - now - burstNanoseconds
        guard excess <= 0 else { return excess }
        set(next)
        return nil
    }

    func problem(waiting wait: Int64) -> Problem {
        let seconds = Self.seconds(wait)
        return Problem(
            429, "too_many_requests",
            "nothing was applied: this address has sent too many requests; wait \(seconds) s",
            fields: [
                ("Retry-After", "\(seconds)"), ("RateLimit-Policy", policy),
                ("RateLimit", "\"requests\";r=0;t=\(seconds)"),
            ])
    }

    /// Rounded up.
    private static func seconds(_ nanoseconds: Int64) -> Int64 {
        max(1, (nanoseconds + 999_999_999) / 1_000_000_000)
    }
}
