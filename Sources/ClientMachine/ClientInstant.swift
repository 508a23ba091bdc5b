/// A moment, as the owner of a machine reads it from its clocks.
///
/// Why two clocks: waits inside one life of the program must not depend on a clock that people set,
/// and the age of a request from an earlier life can be known from no other.
package struct ClientInstant: Sendable, Equatable {
    /// Time since some moment of this process. Never decreases, and continues during sleep.
    package var uptime: Duration
    /// Seconds since 1970-01-01T00:00:00Z.
    package var date: Int64

    package init(uptime: Duration, date: Int64) {
        self.uptime = uptime
        self.date = date
    }
}
