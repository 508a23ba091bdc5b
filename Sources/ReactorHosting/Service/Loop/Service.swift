internal import Reactors
internal import Sessions
internal import Sockets
internal import Storage
internal import Synchronization
internal import Wire

/// State that all loops share: the settings of the start, reactors, routes, the journal. The present
/// settings are those of each loop (``LoopResources``).
final class Service: Sendable {
    let configuration: Configuration
    let reactors: [Registration]
    let router = Router()
    let authenticator: (any Authenticator)?
    let tickets = Tickets()
    let clientAddress: ClientAddress
    /// Nil without a limit.
    let rates: RequestRates?
    let gate: ConnectionGate
    let journal: any Journal
    var journalName: String { journal.name }
    /// Invariant: changes only from false to true.
    private let draining = Atomic<Bool>(false)
    let drain: Drain
    let bodies: BodyBudget
    let topics = TopicBus()
    let watch: LoopWatch
    let lastCounters = LastCounters()

    init(
        configuration: Configuration, reactors: [Registration], journal: any Journal,
        authenticator: (any Authenticator)? = nil
    ) {
        self.configuration = configuration
        self.reactors = reactors
        self.journal = journal
        self.authenticator = authenticator
        self.clientAddress = ClientAddress(
            behind: configuration.trustedProxies, configuration.clientAddressField)
        self.rates =
            configuration.requestRate == 0
            ? nil : RequestRates(rate: configuration.requestRate, burst: configuration.requestBurst)
        self.gate = ConnectionGate(
            maximumPerNetwork: configuration.addressConnectionLimit,
            exempt: AddressRange.loopback
                + configuration.trustedProxies.compactMap { AddressRange($0) })
        self.watch = LoopWatch(limit: configuration.stuckLimit, logger: configuration.logger)
        self.drain = Drain(loops: configuration.loops)
        self.bodies = BodyBudget(limitBytes: configuration.actualBodyBudgetBytes)
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
