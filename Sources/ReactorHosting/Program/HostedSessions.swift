internal import Feeds
internal import JSONCoding
public import Reactors
internal import Sessions
internal import Sockets
internal import Wire

/// The sessions of a running server, for the program that hosts it.
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
/// A request is served like that of a client: by the session's own loop, and in a cluster by the
/// node that decides on the session. It needs no token, and may do everything.
///
/// At most 1024 requests are under way; further ones wait for their turn. When the server ends, it
/// waits for those under way, and later ones fail with ``HostedFailure/draining(_:)``. If a task
/// waits for an answer, its cancellation does not end the wait, because the request may be applied.
public final class HostedSessions: Sendable {
    private let service: Service
    let peers: Peers
    let calls = ProgramCalls()
    let readers = ProgramReaders()

    var work: WorkBudget { service.work }

    init(_ service: Service, _ peers: Peers) {
        self.service = service
        self.peers = peers
    }

    /// A session. This sends no request, so a missing session is noticed only when it is used.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - reactor: The type of its reactor. If the session has another one, each request fails
    ///     with ``HostedFailure/otherReactor(_:)``.
    /// - Throws: ``HostedFailure/invalid(code:_:)`` if the text is not a valid id, or this server
    ///   does not host the reactor.
    public func session<R: Reactor>(
        _ id: String, of reactor: R.Type
    ) throws(HostedFailure) -> HostedSession<R> {
        HostedSession(try Self.id(id), try hosting(reactor), in: self)
    }

    /// Creates a session, or confirms that it exists with the same reactor and the same input.
    ///
    /// - Parameters:
    ///   - id: The id. If the call is repeated with the same id, it finds the same session. Nil: a
    ///     new id of 128 random bits.
    ///   - reactor: The type of its reactor.
    ///   - input: The input of the session, if the reactor is hosted with `input:`. At most 64 KiB
    ///     of JSON.
    ///   - name: The name under which it is hosted. Nil: the server hosts the type once.
    ///   - subject: The client that owns it. Nil: none.
    /// - Throws: ``HostedFailure/otherReactor(_:)``, ``HostedFailure/otherInput(_:)`` and
    ///   ``HostedFailure/ended(_:)`` if the id has such a session; other cases as they say.
    @discardableResult
    public func create<R: Reactor>(
        _ id: String? = nil, of reactor: R.Type, input: (any Encodable)? = nil,
        named name: String? = nil, subject: String? = nil
    ) async throws(HostedFailure) -> HostedSession<R> {
        let type = try hosting(reactor)
        guard let name = name ?? (type.names.count == 1 ? type.names.first : nil),
            type.names.contains(name)
        else {
            throw .invalid(
                code: "unknown_reactor",
                "the server hosts \(reactor) as \(type.names.sorted().joined(separator: ", "))")
        }
        var randomness = SystemRandomNumberGenerator()
        let id = if let id { try Self.id(id) } else { SessionID.random(using: &randomness) }
        try await request(
            ProgramRequest(
                "PUT", "/v1/sessions/\(id.text)", PutSession.self, for: id,
                by: try Self.access(subject),
                body: try encode(Creation(reactor: name, input: input))))
        return HostedSession(id, type, in: self)
    }

    private struct Creation: Encodable {
        let reactor: String
        let input: (any Encodable)?

        private enum CodingKeys: CodingKey { case reactor, input }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(reactor, forKey: .reactor)
            if let input { try members.encode(input, forKey: .input) }
        }
    }

    /// Publishes a value. Returns when the journal has the value, and the listening sessions at the
    /// node that decides on the topic have applied it.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - topic: The topic. Its values have to be `Codable`, and a hosted reactor has to listen
    ///     to it.
    ///   - key: As for an action, in `send` of ``HostedSession``.
    /// - Returns: The number of sessions that have applied it.
    @discardableResult
    public func publish<Value: Encodable & Sendable>(
        _ value: Value, to topic: Topic<Value>, key: String? = nil
    ) async throws(HostedFailure) -> Int {
        guard let id = SessionID(topic: topic.name) else {
            throw .invalid(code: "bad_topic", "\(topic.name) is not a name of a topic")
        }
        let answer = try await request(
            ProgramRequest(
                "POST", "/v1/topics/\(topic.name)", PublishTopic.self, for: id,
                by: Access(program: nil), key: key, body: try encode(value)))
        return try Self.decode(Publication.self, from: answer).sessions
    }

    private struct Publication: Decodable {
        let sessions: Int
    }

    /// From now on no request begins, and the streams end. Called when the server ends.
    func close() {
        calls.close()
        readers.close()
    }
}

/// A reactor of a server: the names under which it is hosted, and its initial state.
struct HostedReactorType<R: Reactor>: Sendable {
    let names: Set<String>
    let initialState: R.State
}

extension HostedSessions {
    fileprivate func hosting<R: Reactor>(
        _ reactor: R.Type
    ) throws(HostedFailure) -> HostedReactorType<R> {
        let hosted = service.reactors.filter { $0.reactor.map { $0.type == reactor } ?? false }
        guard let initial = hosted.first?.reactor?.initialState as? R.State else {
            throw .invalid(
                code: "unknown_reactor", "this server does not host the reactor \(reactor)")
        }
        return HostedReactorType(names: Set(hosted.map(\.name)), initialState: initial)
    }

    private static func id(_ text: String) throws(HostedFailure) -> SessionID {
        guard let id = SessionID(text) else {
            throw .invalid(
                code: "bad_session_id", "a session id has 1 to 128 characters of A-Z a-z 0-9 _ -")
        }
        return id
    }

    /// - Parameter reactors: The names that the session's reactor may have; nil for any.
    static func access(
        _ subject: String?, _ reactors: Set<String>? = nil
    ) throws(HostedFailure) -> Access {
        if let subject, let fault = Principal.fault(inSubject: subject) {
            throw .invalid(code: "bad_subject", "the subject \(fault)")
        }
        return Access(program: subject, reactors: reactors)
    }

    func encode(_ value: some Encodable) throws(HostedFailure) -> [UInt8] {
        var body: [UInt8] = []
        do throws(JSONEncodingFailure) {
            try JSON.encode(value, into: &body)
        } catch {
            throw .invalid(code: "not_encodable", "the value cannot be encoded as JSON: \(error)")
        }
        let limit = service.configuration.bodyLimitBytes
        guard body.count <= limit else {
            throw .invalid(
                code: "body_too_large", "the value has more than \(limit) bytes (--body-limit)")
        }
        return body
    }

    static func decode<Value: Decodable>(
        _ type: Value.Type, from answer: LinkAnswer
    ) throws(HostedFailure) -> Value {
        do {
            return try JSON.decode(type, from: answer.body)
        } catch {
            throw .invalid(code: "undecodable", "the answer cannot be decoded: \(error.sentence)")
        }
    }

    /// Sends a request, and returns its answer if it succeeds.
    @discardableResult
    func request(_ request: ProgramRequest) async throws(HostedFailure) -> LinkAnswer {
        let answer = try await exchange(request)
        guard answer.status < 300 else { throw HostedFailure(answer) }
        return answer
    }

    /// Sends a request, and returns its answer.
    func exchange(_ request: ProgramRequest) async throws(HostedFailure) -> LinkAnswer {
        guard await calls.enter() else { throw HostedFailure(Problem.draining) }
        defer { calls.leave() }
        let loop =
            request.session?.owner(of: peers.count) ?? Int.random(in: 0..<peers.count)
        return await withCheckedContinuation { waiter in
            let call = ProgramCall(waiter)
            let isRunning = peers.enqueue(on: loop) { $0.begin(request, call) }
            if !isRunning { call.end(LinkAnswer(.problem(.draining))) }
        }
    }
}
