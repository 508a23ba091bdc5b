internal import Feeds
internal import Sessions
internal import Wire

/// The parameters of a request for the stream of several sessions, from query and fields.
struct JointQuery {
    let sessions: [SessionID]
    /// Nil: the client's text is not a vector of these sessions.
    let vector: StreamVector?
    /// For a session of which the vector says nothing.
    let start: SubscriptionRequest.Start
    let idsAreOwn: Bool
    let heartbeatIsEvent: Bool
    /// The pulses that the request names.
    let pulses: [String]
    let kinds: EventKinds
    let form: StateForm
    let presence: ReaderPresence?

    /// Items besides the sessions.
    private static let otherItems = 100

    init(_ request: Request, limit: Int) throws(Problem) {
        // One session too many has an error of its own.
        let items = try request.queryItems(limit: limit + 1 + Self.otherItems)
        sessions = try Self.sessions(items, limit: limit)
        kinds = try EventKinds(items)
        form = try StateForm(items, hasStates: kinds.states)
        pulses = items.values("pulse")
        heartbeatIsEvent = try items.word("ping", of: ["events", "comments"]) == "events"
        presence = try ReaderPresence(items, for: request.access)
        idsAreOwn = try items.word("ids", of: ["vector", "own"]) == "own"
        switch try StreamQuery.start(items, request.head) {
        case .after(let text):
            vector = StreamVector(text, count: sessions.count)
            start = StreamQuery.start(from: items.first("from"))
        case let start:
            vector = StreamVector(count: sessions.count)
            self.start = start
        }
    }

    private static func sessions(
        _ items: QueryItems, limit: Int
    ) throws(Problem) -> [SessionID] {
        let texts = items.values("session")
        guard !texts.isEmpty else {
            throw Problem(400, "missing_session", "session is missing; name 1 to \(limit) sessions")
        }
        guard texts.count <= limit else {
            throw Problem(
                400, "too_many_sessions",
                "session occurs more than \(limit) times, which is the limit")
        }
        var sessions: [SessionID] = []
        var seen: Set<SessionID> = []
        for text in texts {
            guard let session = SessionID(text) else {
                throw Problem(
                    400, "bad_session_id",
                    "session is \(text); a session id has 1 to 128 characters of A-Z a-z 0-9 _ -")
            }
            guard seen.insert(session).inserted else {
                throw Problem(400, "repeated_session", "session is \(text) more than once")
            }
            sessions.append(session)
        }
        return sessions
    }
}
