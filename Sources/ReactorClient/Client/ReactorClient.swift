internal import ClientMachine
public import Reactors

/// A client of one server: sessions there, used as if they ran here.
///
/// ```swift
/// let client = try ReactorClient("https://api.example.com")
/// let room = try await client.session("room-7", of: "chat", predicting: Chat())
/// try await room.send(.say(author: "ada", text: "Hi"))
/// ```
///
/// Every action is applied once, whatever the network does: it is in the outbox before it is sent,
/// and sent again under the same key until the server has answered. The client lives as long as a
/// session of it is in use, or until ``close()``.
public final class ReactorClient: Sendable {
    private let life: ClientLife

    /// Makes a client. Nothing is connected before the first session.
    ///
    /// - Parameters:
    ///   - server: the address below which the server's paths begin: `http` or `https`, without
    ///     user, query and fragment.
    ///   - configuration: credentials and the outbox. Default: none, in memory.
    /// - Throws: `badAddress` with a sentence that names the fault,
    ///   `outboxUnavailable`, `exhausted`.
    public init(
        _ server: String, _ configuration: ClientConfiguration = .init()
    ) throws(ClientFailure) {
        let address = try ServerAddress(parsing: server)
        let transport: any ClientTransport
        if let own = configuration.transport {
            transport = own
        } else {
            transport = try makeTransport()
        }
        life = ClientLife(
            try ClientDriver(
                address, configuration, transport: transport, outbox: configuration.outbox.make()))
    }

    // MARK: Sessions

    /// Makes sure that a session is there, and follows it.
    ///
    /// It returns with the first state. If there is no network it waits, until the task is
    /// cancelled. A session that this client follows already is shared, if both follow it in
    /// the same way.
    ///
    /// - Parameters:
    ///   - id: 1 to 128 of `A-Z a-z 0-9 _ -`.
    ///   - reactor: the name under which the server hosts it.
    ///   - input: the input of the session, if the reactor takes one. A session that exists must
    ///     have been created with an equal input; ``join(_:as:predicting:from:)`` needs none.
    ///   - type: the reactor's type.
    ///   - instance: an instance that predicts, and is used for nothing else; nil: no prediction.
    ///   - start: where the session's events begin.
    /// - Throws: `refused` if the server refuses it, for example because the session has another
    ///   reactor (`other_reactor`) or input (`other_input`), or because its reactor needs another
    ///   input (`not_an_input`); `undecodable` if the state is not an `R.State`, or the input
    ///   cannot be encoded as JSON.
    public func session<R: Reactor>(
        _ id: String, of reactor: String, input: (any Encodable)? = nil, as type: R.Type = R.self,
        predicting instance: sending R? = nil, from start: SessionStart = .present
    ) async throws(ClientFailure) -> RemoteReactor<R>
    where R.Action: Codable, R.State: Codable, R.Activity: Codable {
        let making = try SessionMaking(reactor, encoding: input)
        return try await life.reactor(id, of: making, instance, from: start)
    }

    /// Makes a new session under an id of 128 random bits, and follows it.
    ///
    /// - Parameters:
    ///   - reactor: as for ``session(_:of:input:as:predicting:from:)``.
    ///   - input: the input with which the session is created, if the reactor takes one.
    ///   - type: as for ``session(_:of:input:as:predicting:from:)``.
    ///   - instance: as for ``session(_:of:input:as:predicting:from:)``.
    public func create<R: Reactor>(
        of reactor: String, input: (any Encodable)? = nil, as type: R.Type = R.self,
        predicting instance: sending R? = nil
    ) async throws(ClientFailure) -> RemoteReactor<R>
    where R.Action: Codable, R.State: Codable, R.Activity: Codable {
        var generator = SystemRandomNumberGenerator()
        // The server's own ids are random as well; ours can be asked for again if an
        // answer is lost.
        let id = RequestKey(using: &generator).text
        let making = try SessionMaking(reactor, encoding: input)
        return try await life.reactor(id, of: making, instance, from: .present)
    }

    /// Follows a session that must exist: `ended(unknown)` is thrown if it does not.
    public func join<R: Reactor>(
        _ id: String, as type: R.Type = R.self, predicting instance: sending R? = nil,
        from start: SessionStart = .present
    ) async throws(ClientFailure) -> RemoteReactor<R>
    where R.Action: Codable, R.State: Codable, R.Activity: Codable {
        try await life.reactor(id, of: nil, instance, from: start)
    }

    /// Follows a session of which the program knows the shapes alone.
    ///
    /// - Parameters:
    ///   - id: 1 to 128 of `A-Z a-z 0-9 _ -`.
    ///   - reactor: the reactor of which it is made if it is missing; nil: it must exist.
    ///   - input: the input with which it is created, if the reactor takes one.
    ///   - actions: the type of its actions.
    ///   - state: the type of its state.
    ///   - activities: the type of its activities.
    ///   - start: where the session's events begin.
    public func session<Action, State, Activity>(
        _ id: String, of reactor: String?, input: (any Encodable)? = nil, actions: Action.Type,
        state: State.Type,
        activities: Activity.Type = Never.self, from start: SessionStart = .present
    ) async throws(ClientFailure) -> RemoteSession<Action, State, Activity>
    where
        Action: Codable & Sendable, State: Codable & Sendable, Activity: Codable & Sendable
    {
        var making: SessionMaking?
        if let reactor { making = try SessionMaking(reactor, encoding: input) }
        return try await life.follow(id, of: making, Projection(), predicts: false, from: start)
    }

    // MARK: The server

    /// The reactors that the server hosts.
    public func reactors() async throws(ClientFailure) -> [HostedReactor] {
        struct Answer: Decodable { let reactors: [HostedReactor] }
        return try await life.driver.get("/v1/reactors", as: Answer.self).reactors
    }

    /// The sessions that this client may see, in pages, by id.
    ///
    /// - Parameters:
    ///   - prefix: only those whose id begins with it.
    ///   - reactor: only those of this reactor.
    public func sessions(prefix: String = "", reactor: String? = nil) -> SessionPages {
        SessionPages(driver: life.driver, prefix: prefix, reactor: reactor)
    }

    // MARK: The client

    /// The sends that are not done, in order, including those of an earlier program.
    public var pendingSends: [PendingSend] { life.driver.pendingSends() }

    /// The failed sends that nobody has seen, and then each later one that its sender does not see,
    /// because nothing awaits it or the program that sent it is gone.
    ///
    /// Each takes room in the outbox until ``dismiss(_:)`` or ``retry(_:)``: a program that ignores
    /// them cannot send any more after 10 000 refused actions.
    public var refusals: ReactorStream<RefusedSend> { get async { life.driver.refusals() } }

    /// The program has seen a refusal.
    public func dismiss(_ refusal: RefusedSend) { life.driver.see(TicketNumber(refusal.ticket)) }

    /// Sends the actions of a refusal once more, after all actions that wait now, and dismisses it.
    ///
    /// It expects no position. After ``SendFailure/inDoubt`` the actions may be applied twice.
    ///
    /// - Throws: `dismissed`, if it was dismissed or retried before; otherwise as any send.
    @discardableResult
    public func retry(_ refusal: RefusedSend) throws(SendFailure) -> Ticket {
        guard let session = SessionName(refusal.session), !refusal.actions.isEmpty else {
            throw .empty
        }
        return try life.driver.resend(TicketNumber(refusal.ticket), of: session)
    }

    /// Replaces silent connections, and ends every wait. Call this when the app becomes active, or
    /// the network is back.
    public func wake() { life.driver.post(.wake) }

    /// Stops following, ends what is under way, and returns when it has ended.
    ///
    /// Sends that are not done fail with `closed`: they may have been applied or not.
    public func close() async { await life.driver.close() }
}

/// Ends a driver when the client and its last session are gone.
final class ClientLife: Sendable {
    let driver: ClientDriver

    init(_ driver: ClientDriver) { self.driver = driver }

    deinit { driver.beginClosing() }
}

private func makeTransport() throws(ClientFailure) -> any ClientTransport {
    #if os(Linux)
        do throws(TransportFailure) {
            return try CurlTransport()
        } catch {
            throw .exhausted(error.message)
        }
    #else
        return URLSessionTransport()
    #endif
}
