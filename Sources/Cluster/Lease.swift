/// The time for which this node may believe that the others count it among the members.
///
/// The database's clock alone decides which members are late. A node that cannot reach the database
/// has only its own: it counts from the moment at which it *sent* its last beat that was answered,
/// which is before the moment that the database has written down. So it stops believing first.
///
/// Time is an argument. It is the clock that also counts while the machine sleeps: CLOCK_BOOTTIME,
/// which `ContinuousClock` is on Linux.
package struct Lease: Sendable {
    package typealias Time = ContinuousClock.Instant

    package let duration: Duration
    private var heard: Time?

    package init(_ duration: Duration) { self.duration = duration }

    /// A beat was answered. Answers may come in any order.
    package mutating func renew(sentAt time: Time) { heard = max(heard ?? time, time) }

    /// When it ends unless it is renewed; nil before the first beat.
    package var end: Time? { heard.map { $0 + duration } }

    package func isHeld(at now: Time) -> Bool { end.map { now < $0 } ?? false }
}
