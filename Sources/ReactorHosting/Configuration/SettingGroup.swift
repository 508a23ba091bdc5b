/// A section of `--help`.
protocol SettingGroup {
    static var title: String { get }
    /// The names of its settings, in the order in which they are shown.
    static var names: [String] { get }
}

// Invariant: each setting is in one group. A test compares them with ``Setting/table``.
enum SettingGroups {
    static var all: [any SettingGroup.Type] {
        [
            First.self, Addresses.self, Tokens.self, Cluster.self, Requests.self, Sessions.self,
            History.self, Operation.self,
        ]
    }

    enum First: SettingGroup {
        static let title = "Settings that matter first"
        static let names = ["journal", "host", "port", "auth", "config"]
    }

    enum Addresses: SettingGroup {
        static let title = "Addresses, browsers and proxies"
        static let names = [
            "unix", "ops-listen", "allow-public", "allow-host", "allow-origin", "trusted-proxies",
            "proxy-protocol", "client-address-field",
        ]
    }

    enum Tokens: SettingGroup {
        static let title = "Tokens"
        static let names = [
            "jwt-secret-file", "jwt-key-file", "jwt-jwks-file", "jwt-issuer", "jwt-audience",
            "jwt-leeway", "jwt-claim", "subject-session-limit",
        ]
    }

    enum Cluster: SettingGroup {
        static let title = "Cluster"
        static let names = ["link", "link-address", "cluster-secret-file", "drain-delay"]
    }

    enum Requests: SettingGroup {
        static let title = "Requests and connections"
        static let names = [
            "head-limit", "body-limit", "body-budget", "answer-budget", "body-rate", "batch-limit",
            "connection-limit", "address-connection-limit", "request-rate", "request-burst",
            "request-timeout", "idle-timeout", "stall-timeout",
        ]
    }

    enum Sessions: SettingGroup {
        static let title = "Sessions and streams"
        static let names = [
            "state-limit", "session-limit", "session-idle", "subscriber-limit", "stream-sessions",
            "spread-from", "heartbeat", "connection-age", "retry", "wake-on-demand",
        ]
    }

    enum History: SettingGroup {
        static let title = "History"
        static let names = [
            "keep-records", "keep-bytes", "history-records", "history-bytes", "history-age",
        ]
    }

    enum Operation: SettingGroup {
        static let title = "Operation"
        static let names = [
            "grace", "log-level", "log-format", "access-log", "admin", "console",
            "console-read-only", "slow-turn", "stuck-limit", "loops", "poller",
        ]
    }
}
