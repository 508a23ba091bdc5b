// The reasons why a run cannot be made. A fault of the server that a run finds is not an error: it
// is part of the report, and decides the exit status.

/// An error that ends the tool before or during a run.
enum BenchError: Error, CustomStringConvertible {
    /// A system call failed: its name and `errno`.
    case system(operation: String, code: Int32)
    /// The host of a URL resolves to no address.
    case unresolvable(host: String)
    /// An option or a combination of options cannot be used.
    case usage(String)
    /// The server did not reach the state in which the measurement can start.
    case setup(String)
    /// The platform lacks a feature that the tool needs.
    case unsupportedPlatform

    var description: String {
        switch self {
        case .system(let operation, let code):
            "\(operation): \(SystemText.message(for: code))"
        case .unresolvable(let host): "no address for host \(host)"
        case .usage(let text): text
        case .setup(let text): text
        case .unsupportedPlatform: "reactor-bench drives its sockets with epoll: it runs on Linux."
        }
    }
}
