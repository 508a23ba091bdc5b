internal import Feeds
internal import Logging
internal import Sessions
internal import Wire

/// The present settings of one loop, and the values that are derived from them.
///
/// Design: each loop has its own, so that a request reads them without a lock. A reload replaces
/// all of them at once, between two requests (``ServerLoop/adopt(_:)``).
struct LoopSettings {
    let configuration: Configuration
    let requestLimits: RequestLimits
    let hosts: AllowedHosts
    let origins: AllowedOrigins
    let requestRate: RequestRates.Limit?
    let logger: Logger
    /// The logger's level; reading it from the logger costs a copy of the logger.
    let logLevel: Logger.Level
    let accessLogger: Logger
    let hasAccessLog: Bool

    init(_ configuration: Configuration, for service: Service) {
        self.configuration = configuration
        requestLimits = configuration.requestLimits
        // A page that reaches the server by a name of its own has no token.
        hosts = AllowedHosts(
            service.authenticator == nil ? configuration.allowedHosts : ["*"])
        origins = AllowedOrigins(
            configuration.allowedOrigins, hasCookies: service.authenticator != nil)
        requestRate = RequestRates.Limit(
            rate: configuration.requestRate,
            // A new client may send at once what it may later send in one second.
            burst: max(configuration.requestBurst, configuration.requestRate))
        logger = configuration.logger
        logLevel = logger.logLevel
        accessLogger = configuration.accessLogger
        hasAccessLog = configuration.accessLog == .on
    }
}

extension Configuration {
    /// The logger of a server with this configuration.
    var logger: Logger {
        var logger = Logger(label: "reactor-server")
        logger.logLevel = Logger.Level(rawValue: logLevel.rawValue) ?? .info
        return logger
    }

    /// Its lines are written at any level.
    fileprivate var accessLogger: Logger {
        var logger = Logger(label: "reactor-server.access")
        logger.logLevel = .trace
        return logger
    }

    fileprivate var requestLimits: RequestLimits {
        var limits = RequestLimits()
        limits.headBytes = headLimitBytes
        limits.bodyBytes = bodyLimitBytes
        return limits
    }

    /// There is always room for one body of the maximum size.
    var actualBodyBudgetBytes: Int { max(bodyBudgetBytes, 2 * bodyLimitBytes) }

    /// The part of one client, with room for a body of the maximum size, too.
    var clientBodyBudgetBytes: Int { max(actualBodyBudgetBytes / 4, 2 * bodyLimitBytes) }
}

extension WorkBudget {
    convenience init(_ configuration: Configuration) {
        self.init(
            limit: configuration.actualAnswerBudgetBytes,
            clientLimit: configuration.clientAnswerBudgetBytes)
    }

    /// Changes the limits. Counted bytes stay, even if there are more.
    func adopt(_ configuration: Configuration) {
        adopt(
            limit: configuration.actualAnswerBudgetBytes,
            clientLimit: configuration.clientAnswerBudgetBytes)
    }
}

extension Configuration {
    /// There is always room to rebuild a state of the maximum size and to send another one, and for
    /// the events that a reader gets from the journal at once.
    fileprivate var actualAnswerBudgetBytes: Int {
        max(answerBudgetBytes, 4 << 20, 3 * min(stateLimitBytes, Int.max / 16))
    }

    /// The part of one client, with room to rebuild such a state, too.
    fileprivate var clientAnswerBudgetBytes: Int {
        max(actualAnswerBudgetBytes / 4, 2 << 20, 2 * min(stateLimitBytes, Int.max / 16))
    }
}

extension SessionLimits {
    /// The settings for one of `loops` loops: its share of the limits.
    init(_ configuration: Configuration, loops: Int) {
        self.init(
            sessions: max(1, configuration.sessionLimit / max(1, loops)),
            batch: configuration.batchLimit,
            retention: Retention(
                records: configuration.keptRecords, bytes: configuration.keptBytes),
            stateBytes: configuration.stateLimitBytes,
            snapshotBytes: configuration.historyBytes / 8)
        slowTurnNanoseconds = configuration.slowTurn.nanoseconds
        subscribers = configuration.subscriberLimit
        timerBytes = configuration.bodyLimitBytes
        sessionExpiry = configuration.sessionExpiry
    }
}
