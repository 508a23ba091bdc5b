internal import ClientMachine
internal import JSONCoding
public import Reactors

/// A session on a server, of which a program knows the shapes: a Cycler's, or one of a reactor that
/// the program does not have.
///
/// It shows the confirmed state; ``RemoteReactor`` predicts as well. The session is followed until
/// ``leave()``, or until the last object that uses it is released. Sends that are in the outbox are
/// sent all the same.
public final class RemoteSession<Action, State, Activity>: Sendable
where
    Action: Codable & Sendable, State: Codable & Sendable, Activity: Codable & Sendable
{
    typealias Core = SessionCore<Action, State, Activity>

    let name: SessionName
    let core: Core
    let hold: SessionHold
    let life: ClientLife
    /// Nil if the program has joined the session without naming its reactor.
    let reactor: String?

    init(_ core: Core, _ hold: SessionHold, _ life: ClientLife, reactor: String?) {
        name = hold.session
        self.core = core
        self.hold = hold
        self.life = life
        self.reactor = reactor
    }

    /// The id.
    public var id: String { name.text }

    /// The client's events have had a state since this object exists; it is never forgotten.
    private func known(_ state: State?) -> State {
        guard let state else { preconditionFailure("a session is returned with its first state") }
        return state
    }

    /// The shown state. The last one, when the session has ended.
    public var currentState: State {
        get async { known(await caughtUp.shown) }
    }

    /// The typed part, when what is known is in it. A send may have returned before.
    private var caughtUp: Core {
        get async {
            await life.driver.catchUp()
            return core
        }
    }

    /// The server's state, as this program knows it: without its own unconfirmed actions.
    public var confirmedState: State { get async { known(await caughtUp.confirmed) } }

    /// The number of mutations in ``confirmedState``.
    ///
    /// Streams do not say it: if no answer has, it is read from the server; 0 if that fails.
    public var version: UInt64 {
        get async {
            if let version = await caughtUp.version { return version }
            if let read = try? await read(version: nil) {
                await core.learn(read.version, at: read.position)
            }
            return await core.version ?? 0
        }
    }

    /// The position up to which the session's events have come: to save, and to continue after
    /// (``SessionStart/after(_:)``).
    public var position: Position? { get async { await caughtUp.position.map(Position.init) } }

    /// How the session is followed.
    public var status: LinkStatus { core.status }

    /// The present status, then each change.
    public var statuses: ReactorStream<LinkStatus> { get async { await caughtUp.statuses(256) } }

    /// The readers of the session that the server sent last; nil if it has sent none, or if
    /// ``ClientConfiguration/presence`` is off. Keeps its value while the client reconnects.
    public var presence: Presence? { get async { await caughtUp.presence } }

    /// The newest presence, if there is one, and then each later one: at most one a second.
    public var presences: ReactorStream<Presence> { get async { await caughtUp.presences(256) } }

    /// The number of this session's actions that are not done.
    public var pending: Int { life.driver.pending(name) }

    // MARK: Sending

    /// Sends an action, and returns when the shown state contains its effect; if no events arrive,
    /// when the answer is there.
    ///
    /// It waits as long as it takes: over a lost connection the action is sent again, and applied
    /// once. Cancelling the task ends the wait, not the action.
    ///
    /// If the reactor refuses the action, `SendResult.refusal` has the reason, as with a
    /// `ReactorHost`.
    @discardableResult
    public func send(_ action: Action) async throws(SendFailure) -> SendResult {
        let receipt: Receipt
        do throws(SendFailure) {
            receipt = try await send([action])
        } catch {
            guard case .refused(let problem) = error, let refusal = problem.refusal else {
                throw error
            }
            return SendResult(
                accepted: false, version: await caughtUp.version ?? 0, refusal: refusal)
        }
        var version = receipt.version
        if version == nil { version = await caughtUp.version }
        return SendResult(
            accepted: receipt.rejected.isEmpty, version: version ?? 0,
            refusal: receipt.refusals[0], failure: receipt.failures[0])
    }

    /// Sends several actions, which are applied together, or one under a condition.
    ///
    /// If the reactor refuses one of them, none is applied, and the failure is `refused` with the
    /// reactor's `refusal`.
    ///
    /// - Parameters:
    ///   - actions: the actions, in their order.
    ///   - condition: the position that the session must have.
    ///   - limit: how long the server waits for the effects that the actions start, at most ten
    ///     minutes; nil: not at all. Effects that take longer continue.
    @discardableResult
    public func send(
        _ actions: [Action], if condition: SendCondition = .always,
        settled limit: Duration? = nil
    ) async throws(SendFailure) -> Receipt {
        let options = SendOptions(
            expects: condition.position,
            settledMilliseconds: limit.map { limit in
                Int(min(max(limit, .zero), .seconds(600)) / .milliseconds(1))
            })
        return try await submit(actions, options).receipt()
    }

    /// Puts an action into the outbox and returns at once, without a network too.
    @discardableResult
    public func submit(_ action: Action) throws(SendFailure) -> Ticket {
        try submit([action], SendOptions())
    }

    private func submit(
        _ actions: [Action], _ options: SendOptions
    ) throws(SendFailure) -> Ticket {
        var encoded: [[UInt8]] = []
        for action in actions {
            var bytes: [UInt8] = []
            do throws(JSONEncodingFailure) {
                try JSON.encode(action, into: &bytes)
            } catch {
                throw .notEncodable(error.description)
            }
            encoded.append(bytes)
        }
        return try life.driver.submit(encoded, options, to: name)
    }

    // MARK: Reading

    /// The shown state: the current one, then each later one.
    public func state(buffer limit: Int = 256) async -> ReactorStream<State> {
        await readShown { await core.states(limit) }
    }

    /// A part of the shown state: its current value, then each change.
    public func state<Part: Equatable & Sendable>(
        _ path: any KeyPath<State, Part> & Sendable, buffer limit: Int = 256
    ) async -> ReactorStream<Part> { await readShown { await core.parts(path, limit) } }

    /// Makes a reader of shown states. Those of a moment ago, and of a send during the call, may
    /// wait for one.
    private func readShown<Stream>(_ make: () async -> Stream) async -> Stream {
        await life.driver.catchUp()
        defer { life.driver.signal() }
        return await make()
    }

    /// The values of a pulse: the present one, then one for each assignment.
    ///
    /// Assignments come from the server alone, each once. After a reset, when some may have been
    /// lost, the present value comes once more; ``events(buffer:)`` keeps both apart.
    ///
    /// - Parameters:
    ///   - path: the pulse, a field of the state itself. Another path is a programming error.
    ///   - limit: how far the reader may fall behind, at least 1. Default: 256 values.
    public func pulse<Value: Sendable>(
        _ path: any KeyPath<State, Pulse<Value>> & Sendable, buffer limit: Int = 256
    ) async -> ReactorStream<Value> { await caughtUp.pulses(path, limit) }

    /// The values of a pulse, as ``pulse(_:buffer:)``, by its name.
    ///
    /// - Parameters:
    ///   - name: the pulse, as in ``HostedReactor/pulses``. Of an unknown one nothing comes.
    ///   - type: a value that cannot be decoded is left out.
    ///   - limit: how far the reader may fall behind, at least 1. Default: 256 values.
    public func pulse<Value: Decodable & Sendable>(
        _ name: String, as type: Value.Type, buffer limit: Int = 256
    ) async -> ReactorStream<Value> { await caughtUp.pulses(name, as: type, limit) }

    /// The activities from now on.
    public func activities(buffer limit: Int = 256) async -> ReactorStream<Activity> {
        await caughtUp.activities(limit)
    }

    /// Everything that comes: what is present, and what has happened.
    ///
    /// If the session was begun elsewhere than at its present, the first reader gets the
    /// events since then, up to 4096; if there were more until it was called, it gets
    /// `ReaderTooSlow` after those.
    public func events(
        buffer limit: Int = 1024
    ) async -> ReactorStream<RemoteEvent<State, Activity>> { await caughtUp.events(limit) }

    /// The action log: each entry once and in order, over a connection that resumes exactly.
    ///
    /// The reader sets the pace: while it has not read `limit` entries, or 16 MiB of them, the
    /// client closes the connection, and resumes when it has read half of that. If the server keeps
    /// too little history to continue, ``RemoteLogEvent/reset(reason:)`` says so, and the entries
    /// from then on follow. The stream ends after ``RemoteLogEvent/ended(_:)`` or
    /// ``RemoteLogEvent/failed(_:)``, and when the session is left. It never throws.
    ///
    /// - Parameters:
    ///   - start: where it begins.
    ///   - limit: entries that wait for the reader, at least 1. Default: 1024.
    /// - Throws: `exhausted` if the client reads 32 logs already; `ended(left)` if the session was
    ///   left; `closed`. For ``LogStart/version(_:)`` also as a request does: `refused` with
    ///   `unknown_version` if the server does not keep it.
    public func log(
        from start: LogStart = .now, buffer limit: Int = 1024
    ) async throws(ClientFailure) -> ReactorStream<RemoteLogEvent> {
        let begin: LogReading.Start
        switch start {
        case .now: begin = await caughtUp.position.map { .after($0.recordBefore) } ?? .now
        case .start: begin = .start
        case .after(let position): begin = .after(position.value)
        case .version(let version):
            begin = .after(try await life.driver.position(of: name, at: version))
        }
        return try life.driver.readLog(of: hold, from: begin, limit: limit)
    }

    // MARK: Beside the stream

    /// The state as it was at a version, if the server keeps it.
    public func state(at version: UInt64) async throws(ClientFailure) -> State {
        try await read(version: version).state
    }

    /// Makes a session that begins with this one's state, and follows it. Effects do not run there.
    ///
    /// It is made once or not at all; if the answer is lost, nobody follows it.
    ///
    /// - Parameter version: the version of the state; nil: the present one.
    public func fork(
        at version: UInt64? = nil
    ) async throws(ClientFailure) -> RemoteSession<Action, State, Activity> {
        let id = try await makeFork(at: version)
        return try await life.follow(id, of: nil, Projection(), predicts: false, from: .present)
    }

    func makeFork(at version: UInt64?) async throws(ClientFailure) -> String {
        var reactor = reactor
        if reactor == nil { reactor = try await read(version: nil).reactor }
        return try await life.driver.fork(name, of: reactor ?? "", at: version)
    }

    /// Deletes the session for everybody. Its id cannot be used again.
    ///
    /// The request is repeated until the service itself says that the session is gone, because
    /// something in between may answer anything with 204.
    ///
    /// - Throws: `refused` if the service refuses the deletion; `unreachable` if it has not said
    ///   that the session is gone.
    public func delete() async throws(ClientFailure) { try await life.driver.delete(name) }

    /// Ends every stream of the session in this client, and the session's connection. Sends in the
    /// outbox continue.
    public func leave() async { await life.driver.leave(hold) }

    private func read(version: UInt64?) async throws(ClientFailure) -> SessionReading<State> {
        try await life.driver.read(name, version: version)
    }
}

extension SendCondition {
    var position: StreamPosition? {
        switch self {
        case .always: nil
        case .position(let position): position.value
        }
    }
}
