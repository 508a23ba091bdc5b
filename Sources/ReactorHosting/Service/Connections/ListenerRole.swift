/// The listener of a connection, which decides the connection's routes (ADR-0031).
enum ListenerRole: UInt8, Sendable {
    /// The clients' listener. Without an operations address it has all routes.
    case main
    /// The listener of `--ops-listen`: only ``Route/operations``.
    case operations
}
