/// The listener that accepted a connection; it decides which routes the connection has
/// (ADR-0031).
enum ListenerRole: UInt8, Sendable {
    /// The clients' listener. Without an operations address it has all routes.
    case main
    /// The listener of `--ops-listen`: only ``Route/operations``.
    case operations
}
