/// The settings with which a storm starts its server: mostly small, so that each limit is reached.
struct StormSettings {
    /// The values of settings and constants for each round. A debug build of the server accepts
    /// constants if its environment has `REACTOR_CONSTANTS=adjustable`. A storm without random
    /// choice uses the first value of each. A test compares the names with the server's own table.
    static let choices: [(name: String, values: [String])] = [
        ("loops", ["2", "1", "3"]),
        ("poller", ["epoll", "dispatch"]),
        ("head-limit", ["4096", "1024", "16384"]),
        ("body-limit", ["65536", "4096", "1048576"]),
        ("body-budget", ["262144", "65536", "268435456"]),
        ("answer-budget", ["65536", "67108864"]),
        ("batch-limit", ["50", "10", "1000"]),
        ("state-limit", ["4096", "1024", "65536", "16777216"]),
        ("connection-limit", ["65536", "48"]),
        // Storms come from this machine, which has no limit of connections of its own; a rate would
        // keep them from reaching the others.
        ("address-connection-limit", ["10"]),
        ("request-rate", ["0", "1000000"]),
        ("request-burst", ["1000000"]),
        ("trusted-proxies", ["127.0.0.1", "10.0.0.0/8"]),
        ("session-limit", ["40", "10", "1000000"]),
        ("subscriber-limit", ["32768", "40"]),
        ("spread-from", ["2", "1", "256"]),
        ("stream-sessions", ["100", "3", "1"]),
        // Never reached: one subject creates all sessions of a storm.
        ("subject-session-limit", ["0", "1000000"]),
        ("keep-records", ["20", "1", "5", "100", "1000"]),
        ("keep-bytes", ["4096", "0", "65536", "1048576"]),
        ("history-records", ["60", "10", "1000", "100000"]),
        ("history-bytes", ["65536", "1048576"]),
        ("history-age", ["168h", "1s"]),
        ("slow-turn", ["100ms", "1ms"]),
        ("stuck-limit", ["10s"]),
        ("session-expiry", ["1h", "720h"]),
        ("session-idle", ["400ms", "100ms", "5m"]),
        ("wake-on-demand", ["off", "on"]),
        ("heartbeat", ["200ms", "20ms", "15s"]),
        ("connection-age", ["1s", "200ms", "10m"]),
        ("stall-timeout", ["1s", "3s"]),
        ("idle-timeout", ["1s", "300ms"]),
        ("body-rate", ["4096", "0", "1000000"]),
        ("retry", ["2s", "1ms"]),
        // A server that is alone has no delay.
        ("drain-delay", ["2s", "1ms"]),
        ("grace", ["500ms", "2s"]),
        ("allow-origin", ["*", "https://storm.example"]),
        ("allow-host", ["storm.example"]),
        ("admin", ["on"]),
        ("console", ["loopback", "on", "read-only", "off"]),
        ("log-level", ["critical"]),
        ("log-format", ["logfmt", "json"]),
        ("access-log", ["off", "on"]),
        ("auth", ["none", "jwt"]),
    ]

    /// Those of the choices that are options without a value.
    private static let flags: Set<String> = ["wake-on-demand"]

    /// Settings that are not chosen from this table: where the server listens, its files, and its
    /// clients: a storm has no proxy.
    static let others: Set<String> = [
        "config", "host", "port", "ops-listen", "journal", "allow-public",
        "jwt-secret-file", "jwt-key-file", "jwt-issuer", "jwt-audience", "jwt-leeway", "jwt-claim",
        "link", "link-address", "cluster-secret-file",
    ]

    let isFile: Bool
    private var values: [String: String] = [:]

    /// - Parameters:
    ///   - offered: The names of the server's options.
    ///   - limits: The values of an earlier server: its size limits, because later servers get the
    ///     same requests, and whether it has tokens, because a request that is repeated must come
    ///     from the same client.
    init(
        isFile: Bool, offered: Set<String>, limits: [String: String], _ random: inout SeededNumbers
    ) {
        self.isFile = isFile
        for (name, values) in Self.choices where offered.contains(name) {
            let drawn = values.randomElement(using: &random)
            self.values[name] = limits[name] ?? drawn
        }
    }

    /// The settings that limit the size of a post; a later server has the same.
    var limits: [String: String] {
        values.filter { ["batch-limit", "body-limit", "body-budget"].contains($0.key) }
    }

    /// Whether clients need a token (``StormTokens``).
    var hasTokens: Bool { values["auth"] == "jwt" }

    /// The arguments of the server's command.
    ///
    /// - Parameter secret: A file with the secret of the tokens.
    func words(journal: String, secret: String) -> [String] {
        var fixed = ["--port", "0", "--journal", isFile ? "file:\(journal)" : "memory"]
        if hasTokens { fixed += ["--jwt-secret-file", secret] }
        return values.sorted { $0.key < $1.key }.reduce(fixed) { words, setting in
            guard Self.flags.contains(setting.key) else {
                return words + ["--\(setting.key)", setting.value]
            }
            return setting.value == "on" ? words + ["--\(setting.key)"] : words
        }
    }

    private func number(_ name: String) -> Int { values[name].flatMap { Int($0) } ?? 1_000 }

    var keptRecords: Int { number("keep-records") }

    /// The number of actions in a batch that no limit refuses; an action has about 70 bytes.
    var batch: Int {
        let bytes = min(number("body-limit"), number("body-budget") / 4)
        return max(2, min(number("batch-limit"), bytes / 80))
    }

    /// The names of the options in the output of `--help`.
    static func offered(by help: String) -> Set<String> {
        Set(
            help.split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ")
                guard let option = words.first, option.hasPrefix("--") else { return nil }
                return String(option.dropFirst(2))
            })
    }
}
