/// Whether the other side of a link is alive.
///
/// A node that is paused, or cut off, closes nothing. Its silence is the only sign, and a node that
/// is silent loses its sessions. So only the time counts in which the node itself was asked.
package struct LinkPulse: Sendable {
    package enum Sign: Equatable, Sendable {
        case alive
        /// The lookup of the node's name takes long, which is no sign of the node.
        case overdue
        case silent
    }

    package static let pingNanoseconds: Int64 = 250_000_000
    /// The time for the lookup of a name: as long as a request is tried (`Forwarding`). Nobody
    /// waits for the link any longer.
    package static let resolvingNanoseconds: Int64 = 2_000_000_000
    /// The time from the first packet of the connection to the first bytes of the other side. A
    /// lost SYN is sent again after one second (RFC 6298 §2), and its answer needs a moment.
    package static let openingNanoseconds: Int64 = 1_500_000_000

    private enum Phase: Sendable {
        /// The name of the other node is looked up.
        case resolving
        /// The connection was dialled, and nothing has come.
        case opening
        case open
    }

    /// The time without any bytes on a link that has had some. Four pings are due in it, or more.
    private let silence: Duration
    private var phase: Phase
    /// The beginning of the phase; of an open link, the time of the last bytes.
    private var since: Int64
    private var lastSent: Int64

    /// A link that is begun.
    ///
    /// - Parameter now: The monotonic clock.
    package init(resolvingAt now: Int64, silence: Duration = .seconds(1)) {
        self.init(.resolving, now, silence)
    }

    /// A link whose other side has sent something.
    package init(openAt now: Int64) { self.init(.open, now, .seconds(1)) }

    private init(_ phase: Phase, _ now: Int64, _ silence: Duration) {
        self.phase = phase
        self.silence = silence
        since = now
        lastSent = now
    }

    /// The system has begun the connection.
    package mutating func dialled(at now: Int64) { (phase, since) = (.opening, now) }

    package mutating func received(at now: Int64) { (phase, since) = (.open, now) }

    package mutating func sent(at now: Int64) { lastSent = now }

    /// This process was itself paused, and has read nothing meanwhile: the time counts from now on.
    package mutating func resumed(at now: Int64) { since = now }

    package func sign(at now: Int64) -> Sign {
        let elapsed = now - since
        let silence = Int64(silence / .nanoseconds(1))
        return switch phase {
        case .resolving: elapsed >= Self.resolvingNanoseconds ? .overdue : .alive
        case .opening: elapsed >= max(Self.openingNanoseconds, silence) ? .silent : .alive
        case .open: elapsed >= silence ? .silent : .alive
        }
    }

    package func isPingDue(at now: Int64) -> Bool { now - lastSent >= Self.pingNanoseconds }
}
