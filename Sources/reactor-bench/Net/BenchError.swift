// Why a run could not be made. What a run found wrong with the server is no error but part of its
// report, and decides the exit status.

/// An error that ends the tool before or within a run.
enum BenchError: Error, CustomStringConvertible {
    /// A system call failed: its name and `errno`.
    case system(operation: String, code: Int32)
    /// The host of a URL has no address.
    case unresolvable(host: String)
    /// An option or a combination of options cannot be used.
    case usage(String)
    /// The server did not get the run to where measuring could begin.
    case setup(String)
    /// The platform lacks what the tool is built on.
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
