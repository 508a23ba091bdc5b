import Dispatch

/// How a loop detects that a descriptor is ready.
package enum PollerKind: String, CaseIterable, Sendable {
    #if os(Linux)
        /// One epoll instance for all connections of the loop, under one Dispatch source.
        case epoll
    #endif
    /// A Dispatch source for each connection: portable, and about half as fast.
    case dispatch

    /// The fastest kind on this platform.
    package static var platformDefault: PollerKind {
        #if os(Linux)
            .epoll
        #else
            .dispatch
        #endif
    }
}

/// Readiness of one connection.
struct PollEvent {
    /// The possible operations; usually several at once.
    struct Readiness: OptionSet {
        let rawValue: UInt8
        /// A read would return bytes, the end, or an error.
        static let readable = Readiness(rawValue: 1)
        /// More may follow a short read: only the end or `EAGAIN` means that it is drained.
        static let readToEnd = Readiness(rawValue: 2)
        static let writable = Readiness(rawValue: 4)
        /// The connection is broken or closed in both directions.
        static let broken = Readiness(rawValue: 8)
    }

    let id: ConnectionID
    let readiness: Readiness
}

/// All that depends on the detection of readiness. Used only on its loop.
///
/// Two entry points, so that each kind costs only its own: `poll` for a poller that collects
/// events, `fired(event)` for a poller that reports each event by itself.
protocol Poller: AnyObject {
    /// Whether a short read means that the socket is empty, unless `readToEnd` was reported.
    var shortReadMeansDrained: Bool { get }

    /// Starts to call `fired` on `queue`: with nil if `poll` has events, else with the event.
    func start(on queue: DispatchQueue, fired: @escaping @Sendable (PollEvent?) -> Void)

    /// Appends the events of now or of the last wait. Returns true if there may be more at once.
    func poll(into events: inout [PollEvent]) -> Bool

    /// Ends a wait; nil for a poller that does not wait.
    var alarm: LoopAlarm? { get }

    /// Waits for an event, the alarm, or the end of the time. The next `poll` has the events.
    func wait(nanoseconds: Int64)

    /// Adds a connection. Existing readiness is reported like any other.
    func add(_ descriptor: Int32, _ id: ConnectionID) throws(SystemFailure)

    /// Sets whether the connection is read. A poller that reports only changes ignores it.
    func setReading(_ wanted: Bool, _ id: ConnectionID)

    /// Requests a report of room after a short write.
    func awaitRoom(_ id: ConnectionID)

    /// The loop knows that there is room: no further report is needed.
    func roomArrived(_ id: ConnectionID)

    /// Removes the connection and closes the descriptor as soon as that is safe.
    func close(_ descriptor: Int32, _ id: ConnectionID)

    /// Removes the connection and returns a descriptor for it that this poller does not use.
    func release(_ descriptor: Int32, _ id: ConnectionID) throws(SystemFailure) -> Int32

    /// Stops, and leaves `group` once everything is closed. No further call is allowed.
    func stop(_ group: DispatchGroup)
}
