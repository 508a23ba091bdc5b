internal import Feeds
internal import Logging
internal import Sockets
internal import Wire

/// Checks the bearer tokens of one loop's requests (RFC 6750), and tickets and cookies in their
/// place, before their connection moves and their session is looked up.
///
/// Exists only if the server has an authenticator.
final class AccessGate {
    /// Requests of the loop that wait for the authenticator; further ones are refused with 503.
    private static let waitingLimit = 256
    /// The limit of one client. With all places, it could have the tokens of all others refused.
    static let clientWaitingLimit = waitingLimit / 4
    /// The maximum number of verified tokens that are kept.
    private static let verifiedLimit = 4_096

    private var authenticator: any Authenticator
    /// The number of authenticators before this one.
    private var generation = 0
    private var verified = VerifiedTokens(limit: verifiedLimit)
    private var waiting = 0
    /// Of these, the requests of each client.
    private var waitingOf: [AddressNetwork: Int] = [:]

    init(_ authenticator: any Authenticator) {
        self.authenticator = authenticator
    }

    /// Replaces the authenticator: no token is accepted because the one before has verified it.
    func adopt(_ authenticator: any Authenticator) {
        self.authenticator = authenticator
        generation += 1
        verified = VerifiedTokens(limit: Self.verifiedLimit)
    }

    /// Admits the request, or has its token verified. Returns false if the response follows later,
    /// because the authenticator was called.
    func admit(
        _ request: inout Request, on connection: HTTPConnection
    ) throws(Problem) -> Bool {
        request.access = nil
        guard let route = request.route, route.access != .open else { return true }
        if request.head.query != nil, let text = try Ticket.find(in: request.head) {
            let token = try open(text, for: &request, on: connection.loop)
            return try admit(&request, token, on: connection)
        }
        let token: Range<Int>
        if request.head.range(of: .authorization) == nil,
            let cookie = try TokenCookie.find(in: request.head)
        {
            try TokenCookie.checkOrigin(of: request, connection.loop.settings.origins)
            token = cookie
        } else {
            token = try Self.token(of: request.head)
        }
        return try admit(&request, request.head.bytes[token], on: connection)
    }

    private func admit(
        _ request: inout Request, _ token: ArraySlice<UInt8>, on connection: HTTPConnection
    ) throws(Problem) -> Bool {
        let now = connection.loop.table.wallClockMilliseconds
        guard let access = verified.find(token, at: now) else {
            try verify(&request, token, on: connection)
            return false
        }
        connection.identity.access = access
        try Self.check(&request, with: access)
        return true
    }

    // MARK: Tickets

    /// - Returns: The token in the ticket. It is verified as if it were in the head.
    private func open(
        _ text: ArraySlice<UInt8>, for request: inout Request, on loop: LoopResources
    ) throws(Problem) -> ArraySlice<UInt8> {
        guard request.head.method == .get, let route = request.route,
            route.endpoint.wantsStream(request)
        else { throw .ticketNotAccepted }
        guard request.head.range(of: .authorization) == nil else { throw .ticketBesideToken }
        let session = route.concernsSession ? try request.readSessionID() : nil
        let query = Ticket.rest(of: request.head.bytes[request.head.query ?? 0..<0])
        return try loop.service.tickets.open(
            text, for: TicketStream(route: route, session: session, query: query))
    }

    // MARK: The grants

    /// - Throws: The same refusal for a session that exists and for one that does not.
    static func check(_ request: inout Request, with access: Access) throws(Problem) {
        guard let route = request.route else { throw .forbidden }
        let session = route.concernsSession ? try request.readSessionID().text : nil
        guard access.grants.permits(route, session: session) else { throw .forbidden }
        if access.grants.pulses != nil, request.head.query != nil, route.concernsSession {
            for pulse in try request.queryItems().values("pulse")
            where !access.grants.permits(pulse: pulse) {
                throw .forbidden
            }
        }
        if access.grants.pulses != nil, case .verb(_, shows: .chosenKinds) = route.access {
            let kinds = try EventKinds(request.queryItems())
            guard !kinds.states, !kinds.activities else { throw .forbidden }
        }
        request.access = access
    }

    // MARK: The token

    private static func token(of head: RequestHead) throws(Problem) -> Range<Int> {
        let values = head.values(of: .authorization)
        guard let value = values.first else { throw .tokenMissing }
        // Which of two counts would depend on the reader.
        guard values.count == 1 else { throw .tokenInvalid }
        let scheme = value.lowerBound + 6
        guard value.count > 7, head.bytes[scheme] == UInt8(ascii: " "),
            head.matches(value.lowerBound..<scheme, ignoringCase: "bearer")
        else { throw .tokenMissing }
        var start = scheme
        while start < value.upperBound, head.bytes[start] == UInt8(ascii: " ") { start += 1 }
        let token = start..<value.upperBound
        guard (1...8_192).contains(token.count) else { throw .tokenInvalid }
        return token
    }

    // MARK: Verification

    private func verify(
        _ request: inout Request, _ bytes: ArraySlice<UInt8>, on connection: HTTPConnection
    ) throws(Problem) {
        guard bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .tokenInvalid }
        let client = connection.identity.client
        let network = connection.loop.service.sharingNetwork(client)
        guard waiting < Self.waitingLimit,
            network.map({ waitingOf[$0, default: 0] < Self.clientWaitingLimit }) ?? true
        else { return connection.respond(RequestDispatcher.refusal(.tooManyTokens, of: request)) }
        let token = String(decoding: bytes, as: UTF8.self)
        let loop = connection.loop
        guard connection.park(&request) else {
            return connection.respond(RequestDispatcher.refusal(.tooManyBodies, of: request))
        }
        waiting += 1
        if let network { waitingOf[network, default: 0] += 1 }
        call(
            for: Verification(token: token, id: connection.id, client: client, network: network),
            loop)
    }

    private func call(for verification: Verification, _ loop: LoopResources) {
        let (home, peers) = (loop.index, loop.peers)
        Task { [authenticator, generation] in
            let outcome: Result<Principal, AuthenticationFailure>
            do throws(AuthenticationFailure) {
                outcome = .success(try await authenticator.authenticate(bearer: verification.token))
            } catch {
                outcome = .failure(error)
            }
            peers.enqueue(on: home) { loop in
                loop.resources.gate?.finish(verification, outcome, of: generation, on: loop)
            }
        }
    }

    /// Continues the request of the connection, if the client still waits for it.
    private func finish(
        _ verification: Verification, _ outcome: Result<Principal, AuthenticationFailure>,
        of generation: Int, on loop: ServerLoop
    ) {
        let resources = loop.resources
        // The keys have changed meanwhile.
        guard generation == self.generation else { return call(for: verification, resources) }
        waiting -= 1
        if let network = verification.network {
            let rest = waitingOf[network, default: 1] - 1
            waitingOf[network] = rest > 0 ? rest : nil
        }
        let connection = loop.connection(verification.id)
        let access = access(outcome, of: verification, connection, resources)
        guard let connection, let request = connection.buffers?.removeParked(resources) else {
            return
        }
        RequestDispatcher.resume(request, access, on: connection)
    }

    private func access(
        _ outcome: Result<Principal, AuthenticationFailure>, of verification: Verification,
        _ connection: HTTPConnection?, _ loop: LoopResources
    ) -> Result<Access, Problem> {
        func metadata() -> Logger.Metadata {
            connection?.requestMetadata() ?? ["client": "\(verification.client.host)"]
        }
        let now = loop.table.wallClockMilliseconds
        let logger = loop.settings.logger
        switch outcome {
        case .success(let principal):
            if let fault = Principal.fault(inSubject: principal.subject) {
                logger.info("a token was refused: its subject \(fault)", metadata: metadata())
                return .failure(.tokenInvalid)
            }
            let access = Access(verification.token, principal, at: now)
            // It may have expired since it was verified.
            guard now < access.expiresAtMilliseconds else { return .failure(.tokenInvalid) }
            verified.insert(access, at: now)
            return .success(access)
        case .failure(.invalid(let reason)):
            logger.info("a token was refused: \(reason)", metadata: metadata())
            return .failure(.tokenInvalid)
        case .failure(.unavailable(let reason)):
            logger.error("a token could not be verified: \(reason)", metadata: metadata())
            return .failure(.tokensUnavailable)
        }
    }
}

/// A token that the authenticator verifies, for the request that the connection has parked.
private struct Verification: Sendable {
    let token: String
    let id: ConnectionID
    let client: PeerAddress
    /// The client's network; nil if it stands for many clients.
    let network: AddressNetwork?
}
