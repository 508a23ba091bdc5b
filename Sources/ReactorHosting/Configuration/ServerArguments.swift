internal import ArgumentParser

/// The options as they were typed. What they mean is decided by ``Setting``, where environment
/// and options meet, so that every bad value is told at once.
struct ServerArguments: ParsableArguments {
    @Option(help: help("host")) var host: String?
    @Option(help: help("port")) var port: String?
    @Option(help: help("unix")) var unix: String?
    @Option(help: help("loops")) var loops: String?
    @Option(help: help("poller")) var poller: String?
    @Option(help: help("journal")) var journal: String?
    @Option(help: help("head-limit")) var headLimit: String?
    @Option(help: help("body-limit")) var bodyLimit: String?
    @Option(help: help("body-budget")) var bodyBudget: String?
    @Option(help: help("batch-limit")) var batchLimit: String?
    @Option(help: help("state-limit")) var stateLimit: String?
    @Option(help: help("connection-limit")) var connectionLimit: String?
    @Option(help: help("session-limit")) var sessionLimit: String?
    @Option(help: help("keep-records")) var keepRecords: String?
    @Option(help: help("keep-bytes")) var keepBytes: String?
    @Option(help: help("history-records")) var historyRecords: String?
    @Option(help: help("history-bytes")) var historyBytes: String?
    @Option(help: help("history-age")) var historyAge: String?
    @Option(help: help("session-idle")) var sessionIdle: String?
    @Option(help: help("heartbeat")) var heartbeat: String?
    @Option(help: help("connection-age")) var connectionAge: String?
    @Option(help: help("stall-timeout")) var stallTimeout: String?
    @Option(help: help("idle-timeout")) var idleTimeout: String?
    @Option(help: help("request-timeout")) var requestTimeout: String?
    @Option(help: help("retry")) var retry: String?
    @Option(help: help("grace")) var grace: String?
    @Option(help: help("allow-origin")) var allowOrigin: String?
    @Option(help: help("admin")) var admin: String?
    @Option(help: help("log-level")) var logLevel: String?

    /// The typed text by option name.
    var typed: [String: String] {
        let pairs: [(String, String?)] = [
            ("host", host), ("port", port), ("unix", unix), ("loops", loops),
            ("poller", poller), ("journal", journal), ("head-limit", headLimit),
            ("body-limit", bodyLimit), ("body-budget", bodyBudget), ("batch-limit", batchLimit),
            ("state-limit", stateLimit), ("connection-limit", connectionLimit),
            ("session-limit", sessionLimit),
            ("keep-records", keepRecords), ("keep-bytes", keepBytes),
            ("history-records", historyRecords), ("history-bytes", historyBytes),
            ("history-age", historyAge),
            ("session-idle", sessionIdle), ("heartbeat", heartbeat),
            ("connection-age", connectionAge), ("stall-timeout", stallTimeout),
            ("idle-timeout", idleTimeout), ("request-timeout", requestTimeout),
            ("retry", retry), ("grace", grace), ("allow-origin", allowOrigin),
            ("admin", admin), ("log-level", logLevel),
        ]
        return pairs.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }

    /// The row of the table, as `--help` shows it.
    private static func help(_ name: String) -> ArgumentHelp {
        guard let setting = Setting.table.first(where: { $0.name == name }) else {
            preconditionFailure("the option --\(name) has no row in the table of settings")
        }
        return ArgumentHelp(
            "\(setting.help) (\(setting.environmentName); default: \(setting.defaultText))",
            valueName: setting.placeholder)
    }
}
