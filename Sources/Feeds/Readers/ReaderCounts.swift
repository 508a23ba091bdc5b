/// Subscribers of all sessions of a loop.
package struct ReaderCounts: Sendable {
    package var all = 0
    /// The connection accepts no bytes now.
    package var stalled = 0
    package var catchingUp = 0
    package var behind = 0
    /// On another loop than that of the session.
    package var moved = 0
    /// The most bytes of a stream that a subscriber has not got. The events that only the
    /// journal has do not count: nobody knows their size.
    package var lagBytes = 0

    package init() {}

    package mutating func add(_ other: Self) {
        all += other.all
        stalled += other.stalled
        catchingUp += other.catchingUp
        behind += other.behind
        moved += other.moved
        lagBytes = max(lagBytes, other.lagBytes)
    }
}
