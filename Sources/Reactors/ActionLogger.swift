/// Receives the events of a session: every entry of its action log, in order.
///
/// ```swift
/// struct Printer<R: Reactor>: ActionLogger {
///     func log(_ entry: ActionLogEntry<R>) { print(entry.position, entry.event) }
/// }
///
/// let token = await host.add(Printer())
/// ```
///
/// It runs in a separate task, one entry after the other. A slow logger delays nothing: entries
/// that do not fit into its buffer are left out, and the logger gets their number.
public protocol ActionLogger<R>: Sendable {
    /// The reactor whose sessions are logged.
    associatedtype R: Reactor

    /// Receives one entry.
    func log(_ entry: ActionLogEntry<R>) async

    /// Called when entries were left out at this point, between the previous entry and the next
    /// one, because the buffer was full. Default: does nothing.
    func missed(_ count: Int) async
}

extension ActionLogger {
    /// Does nothing.
    public func missed(_ count: Int) async {}
}

/// Identifies a logger that was added to a host, to remove it.
public struct LoggerToken: Hashable, Sendable {
    let reader: UInt64
}
