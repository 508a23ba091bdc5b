internal import Feeds
internal import Reactors
internal import Sessions
internal import Sockets
internal import Storage
internal import Synchronization
internal import Wire

/// State that all loops share: the settings of the start, reactors, routes, the journal. The
/// present settings are those of each loop (``LoopResources``).
final class Service: Sendable {
    let configuration: Configuration
    let reactors: [Registration]
    let reactorList: ReactorList
    /// The routes of the clients' address: all of them without an operations address.
    let router: Router
    private let linkRouter = Router(routes: Route.links)
    private let operationsRouter = Router(routes: Route.operations)
    let authenticator: (any Authenticator)?
    /// The program's own metrics; nil without any.
    let metrics: (any MetricsSource)?
    /// Nil without one.
    let tracer: (any RequestTracer)?
    let tickets: TicketSeal
    /// This server as a node of a cluster; nil if it is none.
    let node: LocalNode?
    let dialler = Dialler()
    let clientAddress: ClientAddress
    /// Networks that stand for many clients: this machine and the trusted proxies.
    private let exempt: [AddressRange]
    let rates = RequestRates()
    let console: ConsoleAccess
    /// Whether the program hosts the reactors of the demonstration page.
    let hasDemo: Bool
    /// Whether a program uses the sessions.
    private let hasProgram: Bool
    /// Nil without a limit.
    let owners: SessionOwners?
    /// The gates of the clients' listener and of the operations listener.
    private let gate: ConnectionGate
    private let operationsGate = ConnectionGate(maximum: Service.operationsConnectionLimit)
    let journal: any Journal
    var journalName: String { journal.name }
    /// Invariant: changes only from false to true.
    private let draining = Atomic<Bool>(false)
    /// Invariant: changes only from false to true.
    private let leaving = Atomic<Bool>(false)
    /// The drain of the session loops.
    let drain: Drain
    /// The drain of the loop of the operations address, which is the last.
    let operationsDrain: Drain
    let bodies: BodyBudget
    let work: WorkBudget
    let topics = TopicBus()
    let tagChanges = TagChanges()
    let watch: LoopWatch
    let lastCounters = LastCounters()

    init(
        _ server: ReactorServer, _ reactors: [Registration], journal: any Journal,
        console: ConsoleAccess = .nobody, node: LocalNode? = nil
    ) throws(JournalFailure) {
        let configuration = server.configuration
        self.node = node
        tickets = TicketSeal(secrets: node?.secrets ?? [])
        self.console = console
        let hasDemo = server.hasDemo
        self.hasDemo = hasDemo
        hasProgram = server.program != nil
        metrics = server.metrics
        tracer = server.tracer
        self.configuration = configuration
        self.reactors = reactors
        self.reactorList = ReactorList(reactors)
        self.journal = journal
        authenticator = server.authenticator
        self.clientAddress = ClientAddress(behind: configuration.trustedProxies)
        let proxies = configuration.trustedProxies.compactMap { AddressRange($0) }
        exempt = AddressRange.loopback + proxies
        let ownedLimit = configuration.subjectSessionLimit
        self.owners =
            ownedLimit == 0
            ? nil
            : SessionOwners(
                limit: ownedLimit,
                counts: journal.ownership == nil ? try journal.ownedSessions() : nil)
        if let owners, !owners.isShared { journal.watchHistory { _ in owners.beginRecount() } }
        self.gate = ConnectionGate(
            maximumPerNetwork: configuration.addressConnectionLimit, exempt: exempt)
        self.watch = LoopWatch(
            limit: configuration.stuckLimit, logger: configuration.logger,
            logBytes: { journal.figures?.logBytes })
        let routes = configuration.operationsAddress == nil ? Route.table : Route.clients
        self.router = Router(
            routes: routes.filter { route in
                guard route.isOfConsole else { return true }
                if case .nobody = console { return false }
                return hasDemo || !route.path.hasPrefix("/demo")
            })
        self.drain = Drain(loops: 0..<configuration.loops)
        self.operationsDrain = Drain(loops: configuration.loops..<configuration.loops + 1)
        self.bodies = BodyBudget(configuration, exempt: exempt)
        self.work = WorkBudget(configuration)
        guard hasTopics else { return }
        for reactor in reactors { reactor.announceTopics(topics) }
    }

    /// Whether values may be published: by the program, by administrators, or at another node.
    var hasTopics: Bool { hasProgram || configuration.administration == .on || node != nil }

    /// Adopts the limits that all loops share.
    func adopt(_ configuration: Configuration) {
        bodies.adopt(configuration)
        work.adopt(configuration)
        gate.limitNetworks(to: configuration.addressConnectionLimit)
    }

    /// Connections of the operations address: some scrapers, load balancers and administrators.
    static let operationsConnectionLimit = 64

    /// The client whose share of ``work`` a request uses; nil if it uses no client's share.
    func workClient(of identity: RequestIdentity) -> WorkClient? {
        if let access = identity.access {
            return access.isProgram ? nil : WorkClient(subject: access.principal.subject)
        }
        return sharingNetwork(identity.client).map { WorkClient(network: $0.text) }
    }

    func gate(of listener: ListenerRole) -> ConnectionGate {
        switch listener {
        case .main: gate
        case .operations: operationsGate
        }
    }

    /// The number of connections that were refused at either address.
    func refusedConnections(_ why: ConnectionGate.Refusal) -> UInt64 {
        gate.count(why) + operationsGate.count(why)
    }

    func match(_ head: borrowing RequestHead, at listener: ListenerRole) -> Router.Match {
        switch listener {
        case .main: router.match(head.method, head.bytes, head.path)
        case .operations: operationsRouter.match(head.method, head.bytes, head.path)
        }
    }

    /// Finds the route of a request that came over a link.
    func matchForwarded(_ head: borrowing RequestHead) -> Router.Match {
        linkRouter.match(head.method, head.bytes, head.path)
    }

    /// By which a client shares common limits; nil for addresses that stand for many clients.
    func sharingNetwork(_ address: PeerAddress) -> AddressNetwork? {
        exempt.contains { $0.contains(address) } ? nil : address.network
    }

    /// Whether the server accepts no new work and completes its current work.
    var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// Whether it is about to drain: balancers should send requests elsewhere. It accepts any.
    var isLeaving: Bool { leaving.load(ordering: .relaxed) }

    func beginLeaving() {
        leaving.store(true, ordering: .relaxed)
    }

    func beginDraining() {
        draining.store(true, ordering: .relaxed)
    }

    /// Topics and stubs are for administrators (`--admin on`).
    func requireAdministration() throws(Problem) {
        guard configuration.administration == .on else { throw .administrationOff }
    }

    func registration(named name: String) -> Registration? {
        reactors.first { $0.name.utf8.elementsEqual(name.utf8) }
    }
}
