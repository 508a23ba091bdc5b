internal import Feeds
internal import JSONCoding
public import Reactors
internal import Sessions
internal import Synchronization
internal import Wire

/// A session of the program's own server: what a `ReactorHost` is without a server, and a
/// `RemoteReactor` in another program.
///
/// Each use finds the session anew, wherever it is: in memory, in the journal, at another node. So
/// this object costs nothing, and stays valid while the session moves.
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

    /// Sends an action of no client, as ``send(_:key:subject:)`` does.
    @discardableResult
    public func send(_ action: R.Action) async throws(HostedFailure) -> SendResult {
        try await send(action, key: nil)
    }

    /// Sends an action, and returns when the journal has it, as durably as it can.
    ///
    /// If the reactor refuses the action, the result has its reason (`SendResult.refusal`), as that
    /// of a `ReactorHost`. Sends of one task are applied in order.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - key: The `Idempotency-Key`, 1 to 255 visible ASCII characters: an action that is sent
    ///     again with its key, also after a restart, is applied once and has the first result. It
    ///     is kept for 24 hours. A refused action leaves no key. Nil: each send is applied.
    ///   - subject: The client for whom the program acts. Keys belong to their client. Default
    ///     none.
    @discardableResult
    public func send(
        _ action: R.Action, key: String?, subject: String? = nil
    ) async throws(HostedFailure) -> SendResult {
        let answer = try await server.exchange(
            ProgramRequest(
                "POST", "/v1/sessions/\(id)/actions", PostActions.self, for: sessionID,
                by: try access(subject), key: key, body: try server.encode(action)))
        if answer.code == "action_refused", let problem = ProblemReading(answer),
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
    /// - Parameter version: The version of the state, if the server keeps it. Nil: the present one,
    ///   after every action whose send has returned.
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

    /// The shown state. It waits while the session cannot be read for a reason that passes.
    ///
    /// If there is none (the session does not exist, has ended or has another reactor, or the
    /// server ends), it is the last one that this object has read, at first the initial state of
    /// an example; ``read(at:)`` throws the reason.
    public var currentState: R.State { get async { await present.state } }

    /// The number of mutations since the initial state, as ``currentState``.
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
                // Cancelled, it reads once more.
                try? await Task.sleep(for: .milliseconds(250))
            }
        }
    }

    // MARK: The session

    /// Makes a session that begins with this one's state. Effects do not run there.
    ///
    /// If the outcome is unknown, it may have been made, and nobody knows its id.
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
    ///   - position: The position after which it begins. Nil: the oldest kept entry.
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
    /// Where the session's history was. Nil only for a state that was not read.
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
    /// The entries, each the line of JSON that `GET /v1/sessions/{id}/log` has for it.
    public let entries: [String]
    /// The position after which the next page begins; nil: there is none yet.
    public let next: String?
    /// Whether entries before the page are missing, because they are not kept.
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
