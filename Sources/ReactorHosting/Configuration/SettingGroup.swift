/// A section of `--help`. Its cases name its settings, in the order in which they are shown.
protocol SettingGroup: OptionSource, RawRepresentable<String>, CaseIterable, Sendable {
    static var title: String { get }
    /// Whether its names are those of constants, which only tests change (``SettingConstants``).
    static var isOfConstants: Bool { get }
}

extension SettingGroup {
    static var isOfConstants: Bool { false }
    static var names: [String] { allCases.map(\.rawValue) }
}

/// The sections of `--help`, in their order.
///
/// Settings are declared under these names, so none is left out. A test finds unused names.
enum SettingGroups {
    static var all: [any SettingGroup.Type] {
        [
            First.self, Addresses.self, Tokens.self, Cluster.self, Requests.self, Sessions.self,
            History.self, Operation.self,
        ]
    }

    enum First: String, SettingGroup {
        static let title = "Settings that matter first"

        case journal
        case host
        case port
        case auth
        case config
    }

    enum Addresses: String, SettingGroup {
        static let title = "Addresses, browsers and proxies"

        case opsListen = "ops-listen"
        case allowPublic = "allow-public"
        case allowHost = "allow-host"
        case allowOrigin = "allow-origin"
        case trustedProxies = "trusted-proxies"
    }

    enum Tokens: String, SettingGroup {
        static let title = "Tokens"

        case jwtSecretFile = "jwt-secret-file"
        case jwtKeyFile = "jwt-key-file"
        case jwtIssuer = "jwt-issuer"
        case jwtAudience = "jwt-audience"
        case jwtClaim = "jwt-claim"
        case subjectSessionLimit = "subject-session-limit"
    }

    enum Cluster: String, SettingGroup {
        static let title = "Cluster"

        case link
        case linkAddress = "link-address"
        case clusterSecretFile = "cluster-secret-file"
        case drainDelay = "drain-delay"
    }

    enum Requests: String, SettingGroup {
        static let title = "Requests and connections"

        case bodyLimit = "body-limit"
        case bodyBudget = "body-budget"
        case connectionLimit = "connection-limit"
        case addressConnectionLimit = "address-connection-limit"
        case requestRate = "request-rate"
        case idleTimeout = "idle-timeout"
        case stallTimeout = "stall-timeout"
    }

    enum Sessions: String, SettingGroup {
        static let title = "Sessions and streams"

        case stateLimit = "state-limit"
        case sessionLimit = "session-limit"
        case sessionIdle = "session-idle"
        case heartbeat
        case connectionAge = "connection-age"
        case retry
        case wakeOnDemand = "wake-on-demand"
    }

    enum History: String, SettingGroup {
        static let title = "History"

        case keepBytes = "keep-bytes"
        case historyBytes = "history-bytes"
        case historyAge = "history-age"
    }

    enum Operation: String, SettingGroup {
        static let title = "Operation"

        case grace
        case logLevel = "log-level"
        case logFormat = "log-format"
        case accessLog = "access-log"
        case admin
        case console
        case loops
    }
    /// Not in ``all``: no settings (``SettingConstants``).
    enum Constants: String, SettingGroup {
        static let title = "Constants, which tests change"
        static let isOfConstants = true

        case jwtLeeway = "jwt-leeway"
        case poller
        case headLimit = "head-limit"
        case answerBudget = "answer-budget"
        case batchLimit = "batch-limit"
        case requestBurst = "request-burst"
        case subscriberLimit = "subscriber-limit"
        case spreadFrom = "spread-from"
        case streamSessions = "stream-sessions"
        case keepRecords = "keep-records"
        case historyRecords = "history-records"
        case slowTurn = "slow-turn"
        case stuckLimit = "stuck-limit"
        case bodyRate = "body-rate"
    }
}
