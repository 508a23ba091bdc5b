internal import Feeds
internal import JSONCoding
internal import Sessions
internal import Wire

/// A session endpoint whose response is an event stream (contract §3.2).
protocol StreamEndpoint: SessionEndpoint {
    /// The part of the session's events that the stream carries.
    ///
    /// - Parameter pulses: a bit for each of the reactor's pulses that the query chooses.
    static func selection(_ items: QueryItems, pulses: UInt64) throws(Problem) -> Selection
}

extension StreamEndpoint {
    static func wantsStream(_ request: Request) -> Bool { true }

    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        try subscribe(request, target, connection)
    }

    static func subscribe(
        _ request: Request, _ target: SessionTarget, _ connection: HTTPConnection
    ) throws(Problem) -> Response? {
        guard !target.isHidden else { throw .unknownSession(target.id.text, to: target.access) }
        let session: any ReadableSession
        switch target.found {
        case .session(let present): session = present
        case .copy(let copy): session = copy
        // 204 stops EventSource (contract §3.2). It has no body, so something in between may have
        // sent it. A client that accepts no stream gets a problem instead.
        case .ended where !request.accepts(.eventStream): throw .endedSession(target.id.text)
        case .ended: return .noContent()
        case .nothing, .notInMemory: throw .unknownSession(target.id.text, to: target.access)
        // Any status except 200 would stop it too, but this problem may be temporary.
        case .quarantined, .unreadable, .noRoom, .overBudget, .elsewhere, .noNode:
            return .endedStream(target.problem)
        }
        try request.requireAccepted(.eventStream)
        connection.setOptions { $0.wantsStream = true }
        let query = try StreamQuery(Self.self, request, session.registration)
        if let access = request.access {
            connection.setOptions { $0.accessEnd = access.end(on: connection.loop) }
        }
        guard request.head.method != .head else { return .streamHead }
        guard !connection.loop.service.isDraining else { return .endedStream(.draining) }
        if query.heartbeatIsEvent { connection.setOptions { $0.heartbeatIsEvent = true } }
        var selection = query.selection
        // RFC 9112 §6.1: chunks only in response to HTTP/1.1.
        selection.isChunked = request.head.minorVersion > 0
        session.subscribe(
            SubscriptionRequest(
                token: connection.token, selection: selection, start: query.start,
                presence: query.presence))
        return nil
    }
}

/// `GET /v1/sessions/{id}/pulses`.
enum StreamPulses: StreamEndpoint {
    static func selection(_ items: QueryItems, pulses: UInt64) throws(Problem) -> Selection {
        Selection(pulses: pulses, wantsPulses: true)
    }
}

/// `GET /v1/sessions/{id}/activities`.
enum StreamActivities: StreamEndpoint {
    static func selection(_ items: QueryItems, pulses: UInt64) throws(Problem) -> Selection {
        Selection(activities: true)
    }
}

/// `GET /v1/sessions/{id}/states`: whole states, or the part of them that `?select=` names.
enum StreamStates: StreamEndpoint {
    static func selection(_ items: QueryItems, pulses: UInt64) throws(Problem) -> Selection {
        var selection = Selection(states: try states(items))
        selection.asPatches = try StateForm(items, hasStates: true) == .patches
        return selection
    }

    static func states(_ items: QueryItems) throws(Problem) -> Selection.States {
        guard let text = items.first("select") else { return .whole }
        do {
            return .part(try JSONPointer(text))
        } catch {
            throw Problem(
                400, "bad_select",
                "select is not a JSON pointer such as /countText: \(error.reason)")
        }
    }
}

/// `GET /v1/sessions/{id}/events`: pulses, activities and states, or those that `?only=` names.
enum StreamEvents: StreamEndpoint {
    static func selection(_ items: QueryItems, pulses: UInt64) throws(Problem) -> Selection {
        let kinds = try EventKinds(items)
        // Also without states: a malformed pointer is refused.
        let chosen = try StreamStates.states(items)
        var selection = Selection(
            pulses: kinds.pulses ? pulses : 0, wantsPulses: kinds.pulses,
            activities: kinds.activities, states: kinds.states ? chosen : .none)
        selection.asPatches = try StateForm(items, hasStates: kinds.states) == .patches
        return selection
    }
}

/// `?form=`: the form of states on a stream.
enum StateForm {
    case states
    case patches

    /// - Parameter hasStates: whether the stream has any.
    init(_ items: QueryItems, hasStates: Bool) throws(Problem) {
        self = try items.word("form", of: ["state", "patch"]) == "patch" ? .patches : .states
        guard self == .patches else { return }
        guard hasStates else {
            throw .badParameter("form", "patch", "the stream has no states; add states to only")
        }
        // A patch is relative to a state that the client holds.
        if let from = items.first("from") {
            throw .badParameter(
                "form", "patch",
                "with from=\(from), the client has no state to apply a patch to")
        }
    }
}

struct EventKinds: Sendable {
    let pulses: Bool
    let activities: Bool
    let states: Bool

    init(pulses: Bool = false, activities: Bool = false, states: Bool = false) {
        (self.pulses, self.activities, self.states) = (pulses, activities, states)
    }

    init(_ items: QueryItems) throws(Problem) {
        let only = items.values("only").flatMap {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        for word in only where !["pulses", "activities", "states"].contains(word) {
            throw .badParameter("only", word, "send pulses, activities or states")
        }
        let wants = { (word: String) in only.isEmpty || only.contains(word) }
        (pulses, activities, states) = (wants("pulses"), wants("activities"), wants("states"))
    }
}
