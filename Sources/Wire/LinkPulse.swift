/// Whether the other side of a link is alive: it sends something at least every quarter of a second,
/// and is silent after a second without anything.
///
/// A node that is paused, or cut off, closes nothing. Its silence is the only sign.
package struct LinkPulse: Sendable {
    package static let pingNanoseconds: Int64 = 250_000_000
    package static let silenceNanoseconds: Int64 = 1_000_000_000

    private var lastReceived: Int64
    private var lastSent: Int64

    /// - Parameter now: The monotonic clock; the link is new.
    package init(at now: Int64) {
        lastReceived = now
        lastSent = now
    }

    package mutating func received(at now: Int64) { lastReceived = now }

    package mutating func sent(at now: Int64) { lastSent = now }

    package func isSilent(at now: Int64) -> Bool {
        now - lastReceived >= Self.silenceNanoseconds
    }

    package func isPingDue(at now: Int64) -> Bool { now - lastSent >= Self.pingNanoseconds }

    /// When to look again.
    package var next: Int64 {
        min(lastReceived + Self.silenceNanoseconds, lastSent + Self.pingNanoseconds)
    }
}
