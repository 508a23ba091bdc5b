internal import Feeds
internal import JSONCoding
public import Reactors
internal import Sessions
internal import Synchronization
internal import Wire

/// A session of the server that this program hosts. Without a server, use a `ReactorHost`; in
/// another program, use a `RemoteReactor`.
///
/// Each use looks the session up again: in memory, in the journal, or at another node. So this
/// object costs almost nothing, and stays valid when the session moves.
public final class HostedSession<R: Reactor>: ReactorStore
where R.Action: Codable, R.State: Codable, R.Activity: Codable {
    let sessionID: SessionID
    let type: HostedReactorType<R>
    let server: HostedSessions
    private let known: Mutex<HostedState<R.State>>

    init(_ id: SessionID, _ type: HostedReactorType<R>, in server: HostedSessions) {
        sessionID = id
        self.type = type
        self.server = server
        known = Mutex(HostedState(state: type.initialState, version: 0, position: nil))
    }

    /// The id.
    public var id: String { sessionID.text }

    // MARK: Sending

    /// Sends an action without a key or a subject, like ``send(_:key:subject:)``.
    @discardableResult
    public func send(_ action: R.Action) async throws(HostedFailure) -> SendResult {
        try await send(action, key: nil)
    }

    /// Sends an action, and returns when it is safe in the journal.
    ///
    /// If the reactor refuses the action, the result has the reason (`SendResult.refusal`), like
    /// the result of a `ReactorHost`. The sends of one task are applied in order.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - key: The `Idempotency-Key`, 1 to 255 visible ASCII characters. If an action is sent
    ///     again with its key, even after a restart, it is not applied again, and returns the first
    ///     result. A key is kept for 24 hours. A refused action leaves no key. Nil: each send is
    ///     applied.
    ///   - subject: The client for whom the program acts. Each client has its own keys. Default
    ///     none.
    @discardableResult
    public func send(
        _ action: R.Action, key: String?, subject: String? = nil
    ) async throws(HostedFailure) -> SendResult {
        let answer = try await server.exchange(
            ProgramRequest(
                "POST", "/v1/sessions/\(id)/actions", PostActions.self, for: sessionID,
                by: try access(subject), key: key, body: try server.encode(action)))
        if answer.code == "action_refused", let problem = ProblemReading(answer.body),
            let reason = problem.refusal
        {
            return SendResult(
                accepted: false, version: await version,
                refusal: Refusal(reason.code, problem.detail))
        }
        guard answer.status < 300 else { throw HostedFailure(answer) }
        let receipt = try HostedSessions.decode(Receipt.self, from: answer)
        return SendResult(
            accepted: receipt.accepted ?? true, version: receipt.version,
            failure: receipt.reason ?? receipt.failed)
    }

    private struct Receipt: Decodable {
        let version: UInt64
        let accepted: Bool?
        /// Why a hook has rejected the action.
        let reason: String?
        let failed: String?
    }

    func access(_ subject: String? = nil) throws(HostedFailure) -> Access {
        try HostedSessions.access(subject, type.names)
    }

    // MARK: Reading

    /// Reads the state, with its version and its position.
    ///
    /// - Parameter version: The version of the state, if the server keeps it. Nil: the present
    ///   one, which includes every action whose send has returned.
    public func read(
        at version: UInt64? = nil
    ) async throws(HostedFailure) -> HostedState<R.State> {
        let query = version.map { "?version=\($0)" } ?? ""
        let answer = try await server.request(
            ProgramRequest(
                "GET", "/v1/sessions/\(id)\(query)", ReadSession.self, for: sessionID,
                by: try access()))
        let reading = try HostedSessions.decode(HostedState<R.State>.self, from: answer)
        if version == nil { known.withLock { $0 = reading } }
        return reading
    }

    /// The shown state. While the session is temporarily unavailable, this waits and reads again.
    ///
    /// If the session cannot be read at all, for example because it has ended or has another
    /// reactor, this is the last state that this object has read, or else the initial state of an
    /// example. ``read(at:)`` throws the reason.
    public var currentState: R.State { get async { await present.state } }

    /// The number of mutations since the initial state. Read like ``currentState``.
    public var version: UInt64 { get async { await present.version } }

    private var present: HostedState<R.State> {
        get async {
            while true {
                do throws(HostedFailure) {
                    return try await read()
                } catch {
                    guard case .unavailable = error, !Task.isCancelled else {
                        return known.withLock { $0 }
                    }
                }
                // If the task is cancelled meanwhile, the session is read once more.
                try? await Task.sleep(for: .milliseconds(250))
            }
        }
    }

    // MARK: The session

    /// Creates a session that begins with the state of this one. Running effects are not copied.
    ///
    /// If the outcome is unknown, the new session may exist, but its id is lost.
    ///
    /// - Parameters:
    ///   - version: The version of the state, if the server keeps it. Nil: the present one.
    ///   - subject: The client that owns the new session. Nil: none.
    public func fork(
        at version: UInt64? = nil, subject: String? = nil
    ) async throws(HostedFailure) -> HostedSession<R> {
        let reactor = try await read().reactor
        let origin = ForkRequest(
            reactor: reactor ?? "", from: ForkRequest.Origin(session: id, version: version))
        let answer = try await server.request(
            ProgramRequest(
                "POST", "/v1/sessions", CreateSession.self, for: nil, by: try access(subject),
                body: try server.encode(origin)))
        let made = try HostedSessions.decode(Made.self, from: answer)
        return try server.session(made.id, of: R.self)
    }

    private struct Made: Decodable {
        let id: String
    }

    /// Reads a page of the action log, oldest entry first.
    ///
    /// - Parameters:
    ///   - position: The position after which the page begins. Nil: the oldest kept entry.
    ///   - limit: The maximum number of entries: 1 to 1000.
    public func log(
        after position: String? = nil, limit: Int = 100
    ) async throws(HostedFailure) -> HostedLogPage {
        let after = try position.map { text throws(HostedFailure) in
            guard let position = Position(text) else {
                throw HostedFailure.invalid(code: "bad_parameter", "\(text) is not a position")
            }
            return "&after=\(position.text)"
        }
        let answer = try await server.request(
            ProgramRequest(
                "GET", "/v1/sessions/\(id)/log?limit=\(limit)\(after ?? "")", ReadLog.self,
                for: sessionID, by: try access()))
        return try HostedLogPage(answer.body)
    }

    /// Deletes the session for everybody. Its id cannot be used again.
    public func delete() async throws(HostedFailure) {
        try await server.request(
            ProgramRequest(
                "DELETE", "/v1/sessions/\(id)", DeleteSession.self, for: sessionID,
                by: try access()))
    }
}

/// A state that was read from a session.
public struct HostedState<State: Sendable>: Sendable {
    /// The state, decorated by the reactor's `transform(state:)`.
    public let state: State
    /// The number of mutations since the initial state.
    public let version: UInt64
    /// The position of the state in the session's history. Nil only for a state that was not read.
    public let position: String?
    /// The name of the reactor.
    private(set) var reactor: String?
}

extension HostedState: Decodable where State: Decodable {}

private struct ForkRequest: Encodable {
    let reactor: String
    let from: Origin

    struct Origin: Encodable {
        let session: String
        let version: UInt64?
    }
}

/// A page of an action log.
public struct HostedLogPage: Sendable {
    /// The entries. Each is a line of JSON, as in `GET /v1/sessions/{id}/log`.
    public let entries: [String]
    /// The position after which the next page begins. Nil: there is no next page yet.
    public let next: String?
    /// Whether entries before the page are missing, because they are no longer kept.
    public let isCut: Bool

    init(_ body: [UInt8]) throws(HostedFailure) {
        // The page is one line.
        let members = JSON.members(of: Array(body.dropLast())) ?? [:]
        guard let list = members["entries"], let elements = JSON.elements(of: list) else {
            throw .invalid(code: "undecodable", "the page cannot be decoded")
        }
        entries = elements.map { String(decoding: $0, as: UTF8.self) }
        next = members["next"].map { String(decoding: $0.dropFirst().dropLast(), as: UTF8.self) }
        isCut = members["reset"] != nil
    }
}
