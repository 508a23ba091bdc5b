internal import Cluster
internal import Clustering
internal import Dispatch
internal import Feeds
internal import Logging
internal import Sessions
internal import Sockets
internal import Storage
internal import Synchronization

/// A server that hosts reactors.
///
/// ```swift
/// try await ReactorServer(hosting: [Hosted("alerts") { Alerts() }]).run()
/// ```
///
/// ``main(hosting:authenticator:metrics:tracer:journals:beside:)`` does the same with options,
/// environment and signals, as `reactor-server`.
public struct ReactorServer: Sendable {
    let hosted: [Hosted]
    let configuration: Configuration
    let authenticator: (any Authenticator)?
    let metrics: (any MetricsSource)?
    let tracer: (any RequestTracer)?
    let journals: [JournalEngine]
    /// Whether the page `/demo` is served where the console is.
    package var hasDemo = false
    /// Runs beside the server; nil for none.
    var program: HostingProgram?

    /// Describes a server; it starts with ``run(started:)``.
    ///
    /// - Parameters:
    ///   - hosted: The reactors, each under a different name.
    ///   - configuration: Default: 127.0.0.1:8080, and the file `reactor.sqlite`.
    ///   - authenticator: Verifies the tokens of clients. Default none: every client may make every
    ///     request.
    ///   - metrics: More metrics for `/metrics`. Default none.
    ///   - tracer: Gets the spans of requests, commits and effects. Default none.
    ///   - journals: Kinds of journals beside memory and a file. Default none.
    public init(
        hosting hosted: [Hosted], configuration: Configuration = Configuration(),
        authenticator: (any Authenticator)? = nil, metrics: (any MetricsSource)? = nil,
        tracer: (any RequestTracer)? = nil, journals: [JournalEngine] = []
    ) {
        self.journals = journals
        self.metrics = metrics
        self.tracer = tracer
        self.hosted = hosted
        self.configuration = configuration
        self.authenticator = authenticator
    }

    /// Serves until the task is cancelled, then drains: stops accepting, completes requests in
    /// flight, ends the streams, and closes the journal.
    ///
    /// It returns within ``Configuration/grace`` and 30 seconds of the cancellation, even if the
    /// journal's disk or a reactor does not respond; in a cluster after
    /// ``Configuration/drainDelay`` in addition.
    ///
    /// - Parameter started: Called once, when connections are accepted, with the address:
    ///   `http://127.0.0.1:8080`, with the actual port, or `unix:/path`.
    /// - Throws: ``ConfigurationFailure`` for reactors that cannot be hosted, all at once, and for
    ///   an address that other machines can reach without ``Configuration/allowsPublic``;
    ///   ``StartFailure`` if the journal cannot be opened or the address cannot be bound;
    ///   ``StopFailure`` if the time above is exceeded.
    public func run(started: @Sendable (String) -> Void = { _ in }) async throws {
        try await run(reloading: nil) { started($0.main) }
    }

    /// Serves, and runs a program beside the server that uses the server's own sessions.
    ///
    /// ```swift
    /// try await server.run { server in
    ///     for await payment in payments {
    ///         try await server.session(payment.order, of: Order.self)
    ///             .send(.paid(payment.id), key: payment.id)
    ///     }
    /// }
    /// ```
    ///
    /// The program begins when connections are accepted. If it returns, the server continues. If it
    /// throws, the server drains, and this method throws the error. When the server begins to end,
    /// the program is cancelled, and the drain waits for it as for requests in flight: at most
    /// ``Configuration/grace``, and in a cluster ``Configuration/drainDelay`` in addition.
    /// Meanwhile it may still use its sessions. After that its requests fail with
    /// ``HostedFailure/draining(_:)``. If a cancelled program throws this error or
    /// `CancellationError`, that does not count as a failure.
    ///
    /// The rest is as for ``run(started:)``.
    ///
    /// - Parameters:
    ///   - started: As for ``run(started:)``; called before the program begins.
    ///   - program: The program. It may keep its argument, even after it has returned.
    /// - Throws: The program's error; otherwise like ``run(started:)``.
    public func run(
        started: @Sendable (String) -> Void = { _ in },
        _ program: @escaping @Sendable (HostedSessions) async throws -> Void
    ) async throws {
        var server = self
        server.program = program
        try await server.run(started: started)
    }

    /// As above, with settings that may be reloaded.
    func run(
        reloading reload: SettingsReload?, started: @Sendable (ServerAddresses) -> Void
    ) async throws {
        try checkJournal()
        try await run(
            started: started, closingTime: Self.closingTime, reloading: reload
        ) { (member) async throws(StartFailure) in
            try await RunningServer.open(configuration, journals, as: member)
        }
    }

    /// The maximum time for a drained server to close its journal.
    private static let closingTime = Duration.seconds(30)

    /// - Parameters:
    ///   - reload: Reloads the settings on demand; nil if they never change.
    ///   - open: Opens the journal once the addresses are bound: a server whose address is in
    ///     use creates no file. Its argument is this server as a member of a cluster; nil
    ///     without links.
    func run(
        started: @Sendable (ServerAddresses) -> Void = { _ in }, closingTime: Duration,
        reloading reload: SettingsReload? = nil,
        opening open: (Member?) async throws(StartFailure) -> any Journal
    ) async throws {
        try checkStart()
        let registrations = try RunningServer.registrations(hosted)
        let socket = try bind(configuration.publicAddress)
        let console = ConsoleAccess(
            configuration.console, isLoopback: socket.isLoopback,
            authenticates: authenticator != nil)
        var operations: BoundSocket?
        if let address = configuration.operationsAddress {
            operations = try bind(address.listenAddress)
        }
        var links: BoundSocket?
        let node = try bindLinks(registrations, &links)
        let server = try RunningServer(
            self, registrations, journal: try await open(node?.member), console: console,
            node: node)
        let listeners: Listeners
        do {
            listeners = try await server.listen(
                socket, operations: operations.take(), links: links.take())
        } catch {
            try await server.end(nil, within: closingTime)
            throw error
        }
        started(listeners.addresses(console))
        let reloading = reload.map { reload in
            Task { await reload.run { await server.adopt($0, $1, listeners) } }
        }
        let searching = server.work.map { work in
            Task { await Self.search(work, server.timers) }
        }
        let running = ProgramRun(program, server.sessions)
        await running.untilFailure()
        reloading?.cancel()
        searching?.cancel()
        let present = reload?.present ?? configuration
        let delay = server.hasSuccessor ? present.drainDelay : .zero
        try await server.end(
            listeners, running, after: delay, grace: present.grace,
            within: delay + present.grace + closingTime)
        if let failure = running.failure { throw failure }
    }

    /// - Throws: ``ConfigurationFailure`` for an address that other machines can reach without
    ///   permission, ``StartFailure`` for one that cannot be bound.
    private func bind(_ address: ListenAddress) throws -> BoundSocket {
        let socket = try RunningServer.bind(address, configuration)
        guard socket.isLoopback || configuration.allowsPublic || authenticator != nil else {
            throw ConfigurationFailure(sentences: [configuration.publicRefusal(address)])
        }
        return socket
    }

    /// Binds the address for other nodes; nil without one. Throws ``ConfigurationFailure`` for an
    /// address at which there can be no links, ``StartFailure`` for one that cannot be bound.
    private func bindLinks(
        _ registrations: [Registration], _ bound: inout BoundSocket?
    ) throws -> LocalNode? {
        guard let address = configuration.link?.listenAddress else { return nil }
        let socket = try RunningServer.bind(address, configuration)
        let node = try LocalNode(
            configuration, boundTo: socket.address, isLoopback: socket.isLoopback, registrations)
        bound = consume socket
        return node
    }

    /// Wakes the sessions whose effects or sources rest, at the start and then each minute. Twice a
    /// minute, finds the timers that are due within the next minute, and the sessions that may
    /// expire then.
    private static func search(_ work: WorkSearch, _ timers: [TimerSearch]) async {
        try? await Task.sleep(for: work.firstPause)
        while !Task.isCancelled {
            work.begin()
            for _ in 0..<2 where !Task.isCancelled {
                for search in timers { search.begin() }
                try? await Task.sleep(for: TimerSearch.period)
            }
        }
    }
}

/// The reason why a server could not start: a fault of the environment.
public struct StartFailure: Error, CustomStringConvertible, Sendable {
    /// One sentence: the operation, and the system's message.
    public let description: String
}

/// The reason why a server ended without closing its journal: the disk does not respond, or a
/// reactor does not return.
///
/// Acknowledged records are in the journal. The file is closed and its lock released as soon as the
/// disk responds, or when the process ends.
public struct StopFailure: Error, CustomStringConvertible, Sendable {
    /// One sentence.
    public let description: String
}

/// The loops of a server and their shared objects.
struct RunningServer {
    let service: Service
    let loops: [EventLoop<ServerLoop>]
    let operations: EventLoop<ServerLoop>?
    /// Nil if the server is no node of a cluster.
    let linkListener: LinkListener?
    /// Nil if the journal has no effects that rest, or with `--wake-on-demand`.
    let work: WorkSearch?
    let sessions: HostedSessions
    /// One search for each ``TimerKind``; empty if ``work`` is nil.
    let timers: [TimerSearch]
    /// The settings of the start.
    private let configuration: Configuration

    init(
        _ server: ReactorServer, _ registrations: [Registration], journal: any Journal,
        console: ConsoleAccess, node: LocalNode? = nil
    ) throws(StartFailure) {
        let configuration = server.configuration
        self.configuration = configuration
        let logger = configuration.logger
        let service: Service
        do throws(JournalFailure) {
            service = try Service(
                server, registrations, journal: journal, console: console, node: node)
        } catch {
            throw StartFailure(
                description: "the owners of sessions cannot be read: \(error.detail)")
        }
        self.service = service
        for work in journal.interrupted {
            logger.log(level: work.trace.isCause ? .error : .notice, "\(work)")
        }
        let peers = Peers(count: configuration.loops)
        sessions = HostedSessions(service, peers)
        func makeLoop(_ index: Int, _ name: String) throws(SystemFailure) -> EventLoop<ServerLoop> {
            try EventLoop<ServerLoop>(
                label: "reactor-server.\(name)", poller: configuration.poller
            ) { loop, table in
                ServerLoop(index: index, service: service, peers: peers, loop: loop, table: table)
            }
        }
        do throws(SystemFailure) {
            loops = try (0..<configuration.loops).map { index throws(SystemFailure) in
                try makeLoop(index, "loop-\(index)")
            }
            let hasOperations = configuration.operationsAddress != nil
            operations = hasOperations ? try makeLoop(configuration.loops, "operations") : nil
            if let node {
                linkListener = try LinkListener(node, loops, configuration)
            } else {
                linkListener = nil
            }
        } catch {
            throw StartFailure(description: "the event loops could not be made: \(error)")
        }
        let work =
            configuration.wakesOnDemand ? nil : WorkSearch(journal, registrations, waking: peers)
        let timers = [TimerKind.actions, .expiries].compactMap { kind in
            work.map { TimerSearch(kind, $0, of: journal, expectingIn: peers) }
        }
        let lives = registrations.compactMap { one in
            one.life(configuration.sessionExpiry).map { (one.name, $0) }
        }
        journal.expiries?.addMissing(Dictionary(lives) { first, _ in first })
        (self.work, self.timers) = (work, timers)
        peers.introduce(allLoops)
        let database = Mutex(journal.ownership?.members.database)
        journal.ownership?.watch { [ownership = journal.ownership] change in
            let isOther = database.withLock { known in
                defer { known = change.members.database }
                return known != change.members.database
            }
            for index in 0..<peers.count {
                peers.enqueue(on: index) { loop in
                    loop.sessions.ownershipChanged(change)
                    guard isOther, index == 0, let acquaintances = ownership?.acquaintances
                    else { return }
                    loop.resources.links?.outgoing.meet(acquaintances)
                }
            }
            if work?.membersChanged(change.members) == true {
                for search in timers { search.begin() }
            }
        }
        journal.watchDoubt { logger.critical("\($0)") }
        service.watch.start()
        // The last watcher: the loops have got the message when it is called.
        journal.watchHistory { [self] _ in Task { await historyWasLost() } }
        if let losses = journal.figures?.historyLosses, losses > 0 { logLostHistory() }
    }

    private func logLostHistory() {
        configuration.logger.critical(
            """
            the database has lost history: acknowledged requests may be lost. Every session has \
            another generation, and streams get a reset
            """)
    }

    /// Logs it, and counts the sessions of each owner again.
    private func historyWasLost() async {
        logLostHistory()
        guard let owners = service.owners, !owners.isShared else { return }
        // A loop that has not forgotten its sessions yet may still count for them.
        await Self.visit(loops) { _, done in done() }
        let counts = await countedOwners()
        await Self.visit(loops) { $0.sessions.afterSubmitted($1) }
        owners.endRecount(counts)
    }

    /// Runs `act` on the loops at the same time, and waits until each has called back.
    static func visit(
        _ loops: [EventLoop<ServerLoop>],
        _ act: @escaping @Sendable (ServerLoop, @escaping @Sendable () -> Void) -> Void
    ) async {
        let visits = DispatchGroup()
        for loop in loops {
            visits.enter()
            let isRunning = loop.enqueue { act($0) { visits.leave() } }
            if !isRunning { visits.leave() }
        }
        await withCheckedContinuation { continuation in
            visits.notify(queue: .global()) { continuation.resume() }
        }
    }

    /// Nil if the journal cannot be read for a minute.
    private func countedOwners() async -> [ExactText: Int]? {
        let journal = service.journal
        for _ in 0..<60 {
            let counts = await withCheckedContinuation { continuation in
                DispatchQueue.global(qos: .utility).async {
                    continuation.resume(returning: try? journal.ownedSessions())
                }
            }
            if let counts { return counts }
            try? await Task.sleep(for: .seconds(1))
        }
        return nil
    }

    private var allLoops: [EventLoop<ServerLoop>] { loops + (operations.map { [$0] } ?? []) }

    /// Listens at all addresses, or at none.
    func listen(
        _ socket: consuming BoundSocket, operations bound: consuming BoundSocket?,
        links: consuming BoundSocket? = nil
    ) async throws(StartFailure) -> Listeners {
        var entry: Listener<LinkHandshakes>?
        var opened: [Listener<ServerLoop>] = []
        do throws(SystemFailure) {
            // First: a node that is no member yet is not dialled, and one that is has sessions.
            if let linkListener, let links = links.take() {
                entry = try linkListener.listen(links)
            }
            await meetAcquaintances()
            await beginTopics()
            let main = try Listener(
                socket, loops: loops, maximumConnections: connectionLimit(configuration),
                gate: service.gate(of: .main))
            opened.append(main)
            if let operations, let bound = bound.take() {
                // The gate has the limit: connections of administrators move to the session loops.
                opened.append(
                    try Listener(
                        bound, loops: [operations], maximumConnections: .max,
                        gate: service.gate(of: .operations)))
            }
            return Listeners(main: main, operations: opened.dropFirst().first, links: entry)
        } catch {
            entry?.close()
            for listener in opened { listener.close() }
            await entry?.untilClosed()
            for listener in opened { await listener.untilClosed() }
            throw StartFailure(description: "can't listen: \(error)")
        }
    }

    /// Asks the other nodes that it can reach whether one believes a newer database, and waits.
    private func meetAcquaintances() async {
        guard service.node != nil, let first = loops.first,
            let acquaintances = service.journal.ownership?.acquaintances
        else { return }
        await Self.visit([first]) { loop, done in
            guard let links = loop.resources.links else { return done() }
            links.outgoing.meet(acquaintances, then: done)
        }
    }

    /// Returns once the newest values of topics are known: new sessions begin with them.
    private func beginTopics() async {
        guard service.hasTopics else { return }
        let topics = Set(service.reactors.flatMap(\.topics))
        await Self.visit(loops) { loop, done in
            let (index, count) = (loop.resources.index, loop.resources.peers.count)
            loop.sessions.topics.begin(
                topics.filter { SessionID(topic: $0)?.owner(of: count) == index }, then: done)
        }
    }

    /// The configured limit or less: the process fails without a free descriptor.
    private func connectionLimit(_ configuration: Configuration) -> Int {
        let descriptors = DescriptorLimit.present
        let links =
            linkListener == nil
            ? 0 : DescriptorLimit.links(descriptors: descriptors, loops: loops.count)
        let room = DescriptorLimit.connections(
            descriptors: descriptors, loops: allLoops.count + (linkListener == nil ? 0 : 1),
            operations: operations == nil ? 0 : Service.operationsConnectionLimit, links: links)
        guard room < configuration.connectionLimit else { return configuration.connectionLimit }
        // The default is an upper bound and not a request; but a very low limit deserves a warning.
        let isAsked = configuration.connectionLimit != Configuration().connectionLimit
        configuration.logger.log(
            level: isAsked || room < 1_000 ? .warning : .debug,
            """
            connections are limited to \(room), not \(configuration.connectionLimit): the process \
            may have \(descriptors) descriptors (ulimit -n), and keeps some for itself
            """)
        return room
    }

    /// Adopts the settings that are reloaded, and the authenticator. Returns when each
    /// loop uses them.
    func adopt(
        _ configuration: Configuration, _ authenticator: (any Authenticator)?,
        _ listeners: Listeners
    ) async {
        listeners.main.limitConnections(to: connectionLimit(configuration))
        await listeners.giveUp(after: configuration.kernelTimeout)
        await adopt(configuration, authenticator)
    }

    /// Makes the service and all loops adopt the settings. Returns when each loop uses them.
    func adopt(_ configuration: Configuration, _ authenticator: (any Authenticator)?) async {
        service.adopt(configuration)
        await Self.visit(allLoops) { loop, done in
            loop.adopt(configuration, authenticator)
            done()
        }
    }
}
