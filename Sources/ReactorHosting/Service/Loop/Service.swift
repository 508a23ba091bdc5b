internal import Logging
internal import Reactors
internal import Sessions
internal import Sockets
internal import Storage
internal import Synchronization
internal import Wire

/// Constant state that all loops share: settings, reactors, routes, the journal.
final class Service: Sendable {
    let configuration: Configuration
    let reactors: [Registration]
    let router = Router()
    let authenticator: (any Authenticator)?
    let limits: RequestLimits
    let hosts: AllowedHosts
    let origins: AllowedOrigins
    let clientAddress: ClientAddress
    /// Nil without a limit.
    let rates: RequestRates?
    let gate: ConnectionGate
    let journal: any Journal
    var journalName: String { journal.name }
    let logger: Logger
    /// The logger's level; reading it from the logger costs a copy of the logger.
    let logLevel: Logger.Level
    /// Invariant: changes only from false to true.
    private let draining = Atomic<Bool>(false)
    let drain: Drain
    let bodies: BodyBudget
    let topics = TopicBus()
    let watch: LoopWatch
    let lastCounters = LastCounters()

    init(
        configuration: Configuration, reactors: [Registration], journal: any Journal,
        logger: Logger, authenticator: (any Authenticator)? = nil
    ) {
        self.configuration = configuration
        self.reactors = reactors
        self.journal = journal
        self.logger = logger
        self.authenticator = authenticator
        self.logLevel = logger.logLevel
        // A page that reaches the server by a name of its own has no token.
        self.hosts = AllowedHosts(authenticator == nil ? configuration.allowedHosts : ["*"])
        self.origins = AllowedOrigins(configuration.allowedOrigins)
        self.clientAddress = ClientAddress(
            behind: configuration.trustedProxies, configuration.clientAddressField)
        self.rates =
            configuration.requestRate == 0
            ? nil : RequestRates(rate: configuration.requestRate, burst: configuration.requestBurst)
        self.gate = ConnectionGate(
            maximumPerNetwork: configuration.addressConnectionLimit,
            exempt: AddressRange.loopback
                + configuration.trustedProxies.compactMap { AddressRange($0) })
        self.watch = LoopWatch(limit: configuration.stuckLimit, logger: logger)
        self.drain = Drain(loops: configuration.loops)
        // There is always room for one body of the maximum size.
        self.bodies = BodyBudget(
            limitBytes: max(configuration.bodyBudgetBytes, 2 * configuration.bodyLimitBytes))
        var limits = RequestLimits()
        limits.headBytes = configuration.headLimitBytes
        limits.bodyBytes = configuration.bodyLimitBytes
        self.limits = limits
        // Only administrators can publish.
        guard configuration.administration == .on else { return }
        for reactor in reactors { reactor.announceTopics(topics) }
    }

    /// Whether the server accepts no new work and completes its current work.
    var isDraining: Bool { draining.load(ordering: .relaxed) }

    func beginDraining() {
        draining.store(true, ordering: .relaxed)
    }

    /// Topics and stubs are for administrators (`--admin on`).
    func requireAdministration() throws(Problem) {
        guard configuration.administration == .on else { throw .administrationOff }
    }

    func registration(named name: String) -> Registration? {
        reactors.first { $0.name == name }
    }
}
