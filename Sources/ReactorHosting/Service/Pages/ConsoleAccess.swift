internal import Wire

/// Which requests get the console and the demonstration page.
enum ConsoleAccess: Sendable {
    case nobody
    /// Requests to a loopback name that no proxy has forwarded.
    case loopback
    case everybody

    /// - Parameters:
    ///   - isLoopback: Whether only this machine can reach the server's address.
    ///   - authenticates: Whether clients need tokens. Then the console has to be asked for: such a
    ///     server is used by others.
    init(_ choice: ConsoleChoice, isLoopback: Bool, authenticates: Bool) {
        switch choice {
        case .off: self = .nobody
        case .on, .readOnly: self = .everybody
        case .loopback: self = isLoopback && !authenticates ? .loopback : .nobody
        }
    }

    func admits(_ head: borrowing RequestHead) -> Bool {
        switch self {
        case .nobody: false
        case .everybody: true
        case .loopback: Self.isLocal(head)
        }
    }

    /// Whether the request names this machine, and no proxy says that it comes from another one: a
    /// proxy on this machine has a loopback address, too.
    private static func isLocal(_ head: borrowing RequestHead) -> Bool {
        guard let host = head.host,
            head.matches(host, ignoringCase: "localhost") || head.matches(host, "127.0.0.1")
                || head.matches(host, "[::1]")
        else { return false }
        for (name, _) in head.fieldLines {
            let start = name.lowerBound..<min(name.lowerBound + forwarded.count, name.upperBound)
            if head.matches(start, ignoringCase: forwarded) { return false }
            if head.matches(name, ignoringCase: "forwarded") { return false }
            if head.matches(name, ignoringCase: "via") { return false }
        }
        return true
    }

    private static let forwarded = Array("x-forwarded-".utf8)
}
