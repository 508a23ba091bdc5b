internal import Cluster
internal import Clustering
internal import Cyclers
internal import Feeds
internal import Reactors
internal import Sessions
internal import Sockets
internal import Wire

/// `POST /parts/{id}`: a part's action for its parent. Only nodes send it.
///
/// Design: an action is applied at most once. The request has no key, so it is not repeated after
/// its link has ended (``Forwarding``).
enum PostPart: SessionEndpoint {
    /// The limit of the action's JSON.
    static let bodyLimitBytes = 8 << 20

    static let isForwarded = true

    /// Sends an action to the node that decides on the parent.
    ///
    /// - Parameters:
    ///   - owner: The node that probably decides on the parent; nil if none is known.
    ///   - connection: A vacant connection without a socket.
    static func begin(
        _ part: PartAction, to owner: Node?, on connection: HTTPConnection, as id: ConnectionID
    ) {
        let forward = ForwardedRequest(
            of: id, for: part.parent,
            Forwarding(at: connection.loop.now.nanoseconds, isRepeatable: false, .part), part: part)
        connection.begin(id, .forwarded(forward, Self.self))
        send(part, forward, to: owner, on: connection)
    }

    private static func send(
        _ part: PartAction, _ forward: ForwardedRequest, to owner: Node?,
        on connection: HTTPConnection
    ) {
        var request = Request()
        do {
            request.body = try part.encode()
        } catch {
            return end(
                part, .unavailable("the action cannot be encoded as JSON: \(error)"),
                on: connection)
        }
        guard request.body.count <= bodyLimitBytes else {
            let reason = "the action has more than \(bodyLimitBytes) bytes"
            return end(part, .unavailable(reason), on: connection)
        }
        guard connection.park(&request) else {
            let reason = "waiting requests have used up their memory"
            return end(part, .unavailable(reason), on: connection)
        }
        RequestForwarder.tryEnded(forward, .moved(owner), on: connection)
    }

    static func end(_ part: PartAction, _ outcome: PartOutcome, on connection: HTTPConnection) {
        let loop = connection.loop
        loop.links?.way.counts.count(outcome)
        loop.socketless.free(connection.id)
        connection.release()
        part.end(outcome)
    }

    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let id = connection.id
        if case .forwarded(let forward, _)? = connection.linkPart, let part = forward.part {
            // This node decides after all: no JSON is needed, and errors keep their types.
            part.deliver(to: target.found) { outcome in
                // The server may have ended the action meanwhile.
                guard connection.id == id else { return }
                guard case .moved(let member) = outcome else {
                    return end(part, outcome, on: connection)
                }
                send(part, forward, to: member?.node, on: connection)
            }
            return nil
        }
        let reactors = try request.queryItems().first("reactors") ?? ""
        connection.loop.sessions.receivePart(
            target.found, by: request.access?.principal.subject,
            reactors.split(separator: ",").map(String.init), .json(request.body)
        ) { outcome in
            // The link may have ended meanwhile.
            if connection.id == id { connection.respond(Response(outcome)) }
        }
        return nil
    }
}

extension LinkRequest {
    init(_ part: PartAction, body: [UInt8]) {
        // Names of reactors need no escaping. The other node uses only the client's name.
        let target = "/parts/\(part.parent.text)?reactors=\(part.reactors.joined(separator: ","))"
        self.init(
            waitMilliseconds: .max,
            access: part.subject.map {
                LinkAccess(
                    subject: $0, expiresAt: .max, verbs: 0, sessions: [], ownSessions: false,
                    reactors: nil, pulses: nil, actions: nil)
            },
            head: Array("POST \(target) HTTP/1.1\r\nHost: link\r\n\r\n".utf8), body: body)
    }
}

extension Response {
    /// Longer error texts are truncated.
    private static let errorLimitBytes = 4_096

    /// The response to the part's node.
    fileprivate init(_ outcome: PartOutcome) {
        switch outcome {
        case .applied: self.init(status: 200)
        case .failed(is CyclerParentMissing): self.init(status: 409, code: "no_parent")
        case .failed(let refusal as Refusal):
            // The first space ends the code: a code has none.
            self.init(422, "action_refused", "\(refusal.code) \(refusal.detail)")
        case .failed(let error): self.init(422, "action_failed", String(describing: error))
        case .unavailable(let reason): self.init(503, PartOutcome.unavailableCode, reason)
        case .moved: self.init(status: 503, code: Problem.movedCode)
        case .unknown: self.init(status: 504, code: "outcome_unknown")
        }
    }

    private init(_ status: Int, _ code: String, _ text: String) {
        let body = Array(text.utf8.prefix(Self.errorLimitBytes))
        self.init(status: status, body: .bytes(body), code: code)
    }
}

extension PartOutcome {
    fileprivate static let unavailableCode = "parent_unavailable"

    init(_ response: Response) {
        let text = String(decoding: response.body.bytes, as: UTF8.self)
        switch (response.status, response.code) {
        case (200, _): self = .applied
        case (409, "no_parent"): self = .missing
        case (422, "action_refused"):
            let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            self = .failed(Refusal(String(parts[0]), parts.count > 1 ? String(parts[1]) : ""))
        case (422, "action_failed"): self = .failed(CyclerParentError(text))
        case (503, Self.unavailableCode): self = .unavailable(text)
        // A node of an earlier release does not have this route.
        case (503, "owner_unreachable"):
            self = .unavailable("its node cannot be reached, or runs an earlier release")
        case (400..<500, let code), (503, let code):
            self = .unavailable("its node answered \(response.status) \(code ?? "")")
        // A newer program may answer differently.
        default: self = .unknown
        }
    }
}
