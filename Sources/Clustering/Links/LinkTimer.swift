internal import Sockets

/// The timer of the links of one loop.
package final class LinkTimer {
    /// Its token, among the timers of the loop.
    package static let token: UInt64 = 4
    /// Half the interval of pings: none is late by more than half of one.
    private static let tick = Duration.milliseconds(125)
    /// Timers are late by up to 20 ms; this process was paused if this one is later by far.
    private static let lateness = Duration.milliseconds(475)

    private let table: ConnectionTable
    /// Nil while it is not set.
    private var due: LoopInstant?

    init(_ table: ConnectionTable) { self.table = table }

    /// Sets the timer, unless it is set: to set it again would move it, and links that are begun
    /// all the time would keep it from firing.
    func start() {
        guard due == nil else { return }
        let next = table.now + Self.tick
        due = next
        table.setTimer(token: Self.token, at: next)
    }

    /// The timer has fired, and is not set any more.
    ///
    /// - Returns: Whether this process was itself paused: what has arrived meanwhile is read first.
    func fired() -> Bool {
        defer { due = nil }
        return due.map { table.now - $0 > Self.lateness } ?? false
    }
}
