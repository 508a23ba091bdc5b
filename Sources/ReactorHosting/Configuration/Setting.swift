/// A row of the one table of settings: options, environment, `--help` and README show the same.
package struct Setting: Sendable {
    /// The option without its dashes.
    package let name: String
    /// What stands for the value in `--help`.
    package let placeholder: String
    package let defaultText: String
    package let help: String
    /// Writes the value; nil, or what was expected instead.
    let apply: @Sendable (_ text: String, _ configuration: inout Configuration) -> String?

    /// `REACTOR_` and the option's name in upper case, with underscores.
    package var environmentName: String {
        "REACTOR_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    /// Every setting, in the order in which a person would look for it.
    package static let table: [Setting] = listening + limits + times + manners

    private static let listening: [Setting] = [
        text("host", "address", "127.0.0.1", "address to listen on", \.host),
        number(
            "port", "8080", "TCP port; 0 lets the system choose", 0...65_535,
            set: { $0.port = UInt16($1) }),
        text("unix", "path", "none", "listen on a Unix socket instead", \.unixPath),
        number(
            "loops", "half the processors", "event loops", 1...256, set: { $0.loops = $1 }),
        choice("poller", "platform", "how loops ask the kernel", \.poller),
        Setting(
            name: "journal", placeholder: "journal", defaultText: "file:reactor.sqlite",
            help: "what holds the records: memory, or file:PATH"
        ) { text, configuration in
            guard let choice = JournalChoice(text), isPrintable(text) else {
                return "memory or file:PATH"
            }
            configuration.journal = choice
            return nil
        },
    ]

    private static let limits: [Setting] = [
        bytes(
            "head-limit", "16384", "bytes of a request head", 1_024...1_048_576, \.headLimitBytes),
        bytes(
            "body-limit", "1048576", "bytes of a request body", 2...1_073_741_824, \.bodyLimitBytes),
        bytes(
            "body-budget", "268435456", "bytes of all request bodies that are arriving",
            65_536...Int.max / 4, \.bodyBudgetBytes),
        number(
            "batch-limit", "1000", "actions in one batch", 1...1_000_000,
            set: { $0.batchLimit = $1 }),
        bytes(
            "state-limit", "16777216", "bytes of a state as JSON", 1_024...Int.max,
            \.stateLimitBytes),
        number(
            "connection-limit", "65536", "open connections", 1...10_000_000,
            set: { $0.connectionLimit = $1 }),
        number(
            "session-limit", "1000000", "sessions in memory", 1...1_000_000_000,
            set: { $0.sessionLimit = $1 }),
        number(
            "keep-records", "1000", "records kept per session to resume from",
            1...100_000_000, set: { $0.keptRecords = $1 }),
        number(
            "history-records", "100000", "records kept per session in the journal's file",
            1...1_000_000_000, set: { $0.historyRecords = $1 }),
        bytes(
            "history-bytes", "268435456", "bytes kept per session in the journal's file",
            65_536...Int.max / 4, \.historyBytes),
        bytes(
            "keep-bytes", "1048576", "bytes of history kept per session", 0...Int.max, \.keptBytes),
    ]

    private static let times: [Setting] = [
        time("history-age", "168h", "how long the journal's file keeps records", \.historyAge),
        time("session-idle", "5m", "unused time before a session leaves memory", \.sessionIdle),
        time("heartbeat", "15s", "silence after which a heartbeat is written", \.heartbeat),
        time("connection-age", "10m", "life of a stream, ±20 %", \.connectionAge),
        time("stall-timeout", "30s", "how long a reader may take no byte", \.stallTimeout),
        time("idle-timeout", "75s", "how long a connection may be idle", \.idleTimeout),
        time("request-timeout", "30s", "how long a request may take to arrive", \.requestTimeout),
        time("retry", "2s", "reconnection time told to EventSource, ±25 %", \.retry),
        time("grace", "10s", "how long SIGTERM waits for what is under way", \.grace),
    ]

    private static let manners: [Setting] = [
        text(
            "allow-origin", "origin", "none", "browser origin that may call: * or one origin",
            \.allowedOrigin),
        choice(
            "admin", "off", "whether anybody may publish to topics and stub sessions",
            \.administration),
        choice("log-level", "info", "least severe line that is logged", \.logLevel),
    ]
}

// The kinds of rows.
extension Setting {
    private static func text(
        _ name: String, _ placeholder: String, _ defaultText: String, _ help: String,
        _ key: any WritableKeyPath<Configuration, String> & Sendable
    ) -> Setting {
        Setting(name: name, placeholder: placeholder, defaultText: defaultText, help: help) {
            text, configuration in
            guard isPrintable(text) else { return "text without control characters" }
            configuration[keyPath: key] = text
            return nil
        }
    }

    private static func text(
        _ name: String, _ placeholder: String, _ defaultText: String, _ help: String,
        _ key: any WritableKeyPath<Configuration, String?> & Sendable
    ) -> Setting {
        Setting(name: name, placeholder: placeholder, defaultText: defaultText, help: help) {
            text, configuration in
            guard isPrintable(text) else { return "text without control characters" }
            configuration[keyPath: key] = text
            return nil
        }
    }

    private static func number(
        _ name: String, _ defaultText: String, _ help: String, _ range: ClosedRange<Int>,
        set: @escaping @Sendable (inout Configuration, Int) -> Void
    ) -> Setting {
        Setting(name: name, placeholder: "number", defaultText: defaultText, help: help) {
            text, configuration in
            guard let value = Int(text), range.contains(value) else {
                return "a whole number from \(range.lowerBound) to \(range.upperBound)"
            }
            set(&configuration, value)
            return nil
        }
    }

    private static func bytes(
        _ name: String, _ defaultText: String, _ help: String, _ range: ClosedRange<Int>,
        _ key: any WritableKeyPath<Configuration, Int> & Sendable
    ) -> Setting {
        let row = number(name, defaultText, help, range) { $0[keyPath: key] = $1 }
        return Setting(
            name: name, placeholder: "bytes", defaultText: defaultText, help: help,
            apply: row.apply)
    }

    private static func time(
        _ name: String, _ defaultText: String, _ help: String,
        _ key: any WritableKeyPath<Configuration, Duration> & Sendable
    ) -> Setting {
        Setting(name: name, placeholder: "time", defaultText: defaultText, help: help) {
            text, configuration in
            guard let value = DurationText.parse(text), value > .zero else {
                return "a time such as 500ms, 15s, 10m or 1h"
            }
            configuration[keyPath: key] = value
            return nil
        }
    }

    private static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, _ defaultText: String, _ help: String,
        _ key: any WritableKeyPath<Configuration, Choice> & Sendable
    ) -> Setting {
        let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        return Setting(
            name: name, placeholder: name, defaultText: defaultText, help: "\(help): \(words)"
        ) { text, configuration in
            guard let choice = Choice(rawValue: text) else { return "one of \(words)" }
            configuration[keyPath: key] = choice
            return nil
        }
    }

    private static func isPrintable(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}
