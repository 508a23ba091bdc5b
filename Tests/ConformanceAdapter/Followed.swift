import JSONCoding
import ReactorClient
import Reactors

/// A followed session, whatever its types are.
protocol FollowedSession: Sendable {
    func submit(_ action: JSONValue) throws(SendFailure) -> Ticket
    func send(
        _ actions: [JSONValue], if condition: SendCondition, settled limit: Duration?
    ) async throws(SendFailure) -> Receipt
    func present() async -> [String: JSONValue]
    func delete() async throws(ClientFailure)
    func leave() async
    /// Returns when nothing that comes from now on is missed.
    func report(to output: Output, shown: Bool) async
}

/// A session with its types.
struct Followed<Action, State, Activity>: FollowedSession
where
    Action: Codable & Sendable, State: Codable & Sendable, Activity: Codable & Sendable
{
    let session: RemoteSession<Action, State, Activity>
    /// More than any case has at once: this reader is never too slow.
    private static var buffer: Int { 65_536 }

    func submit(_ action: JSONValue) throws(SendFailure) -> Ticket {
        try session.submit(try decoded(action))
    }

    func send(
        _ actions: [JSONValue], if condition: SendCondition, settled limit: Duration?
    ) async throws(SendFailure) -> Receipt {
        var decoded: [Action] = []
        for action in actions { decoded.append(try self.decoded(action)) }
        return try await session.send(decoded, if: condition, settled: limit)
    }

    func present() async -> [String: JSONValue] {
        let position = await session.position
        return await [
            "shown": encoded(session.currentState), "confirmed": encoded(session.confirmedState),
            "position": JSONValue(position?.text), "pending": .integer(Int64(session.pending)),
            "status": .string(session.status.name),
        ]
    }

    func delete() async throws(ClientFailure) { try await session.delete() }

    func leave() async { await session.leave() }

    func report(to output: Output, shown: Bool) async {
        let id = session.id
        let events = await session.events(buffer: Self.buffer)
        let statuses = await session.statuses
        let states = shown ? await session.state(buffer: Self.buffer) : nil
        follow(events, output) { event in report(event, to: output) }
        follow(statuses, output) { status in
            output.report(
                "status",
                ["session": .string(id), "status": .string(status.name), "why": status.why])
        }
        if let states {
            follow(states, output) { state in
                output.report("shown", ["session": .string(id), "state": encoded(state)])
            }
        }
    }

    private func follow<Element: Sendable>(
        _ stream: ReactorStream<Element>, _ output: Output,
        _ report: @escaping @Sendable (Element) -> Void
    ) {
        let id = session.id
        Task {
            do {
                for try await element in stream { report(element) }
            } catch {
                output.report("fault", ["session": .string(id), "detail": .string("\(error)")])
            }
        }
    }

    private func report(_ event: RemoteEvent<State, Activity>, to output: Output) {
        var members: [String: JSONValue] = ["session": .string(session.id)]
        let name: String
        switch event {
        case .present(let state, let position):
            name = "present"
            members["state"] = encoded(state)
            members["position"] = .string(position.text)
        case .reset(let reason):
            name = "reset"
            members["reason"] = .string(reason)
        case .state(let state, let position):
            name = "state"
            members["state"] = encoded(state)
            members["position"] = .string(position.text)
        case .pulse(let pulse):
            name = "happened"
            members["name"] = .string(pulse.name)
            members["value"] = (try? pulse.value(as: JSONValue.self)) ?? .null
            members["position"] = .string(pulse.position.text)
        case .activity(let activity, let position):
            name = "happened"
            members["value"] = encoded(activity)
            members["name"] = members["value"]?["type"] ?? .null
            members["position"] = .string(position.text)
        case .ended(let reason):
            name = "ended"
            members["reason"] = .string("\(reason)")
        }
        output.report(name, members)
    }

    private func decoded(_ action: JSONValue) throws(SendFailure) -> Action {
        do {
            var bytes: [UInt8] = []
            try JSON.encode(action, into: &bytes)
            return try JSON.decode(Action.self, from: bytes)
        } catch {
            throw .notEncodable("\(error)")
        }
    }

    private func encoded(_ value: some Encodable) -> JSONValue {
        var bytes: [UInt8] = []
        do {
            try JSON.encode(value, into: &bytes)
            return try JSON.decode(JSONValue.self, from: bytes)
        } catch {
            return .failure("not_encodable", "\(error)")
        }
    }
}

extension LinkStatus {
    var name: String {
        switch self {
        case .idle: "idle"
        case .connecting: "connecting"
        case .live: "live"
        case .undecodable: "undecodable"
        case .waiting: "waiting"
        case .stopped: "stopped"
        case .failed: "failed"
        case .ended: "ended"
        }
    }

    var why: JSONValue {
        switch self {
        case .idle, .connecting, .live: .null
        case .undecodable(let reason), .waiting(_, let reason), .stopped(let reason):
            .string(reason)
        case .failed(let problem): .string("\(problem)")
        case .ended(let reason): .string("\(reason)")
        }
    }
}
