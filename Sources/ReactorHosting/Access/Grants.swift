internal import Feeds

/// The requests that a client may make: which verbs, on which sessions, of which reactors.
///
/// A value without state: the same grants and the same request always give the same result. All
/// parts restrict; a request is permitted only if each part permits it.
public struct Grants: Sendable, Equatable {
    /// A kind of request. None includes another one.
    public enum Verb: String, Sendable, CaseIterable {
        /// Create sessions.
        case create
        /// Post actions.
        case act
        /// Read states and follow pulses, activities and states; list sessions and reactors.
        case read
        /// Read the action log, which contains every action.
        case log
        /// Delete sessions.
        case delete
        /// Read the metrics, publish to topics, and stub sessions.
        case admin
    }

    /// Session ids: one, or all that begin alike.
    public enum SessionPattern: Sendable, Equatable {
        /// The session with exactly this id.
        case id(String)
        /// All sessions whose id begins with this text; every session if it is empty.
        case prefix(String)

        /// Reads a pattern: an id, or the beginning of ids and `*`.
        ///
        /// Nil for any other text: ids have 1 to 128 characters of `A-Z a-z 0-9 _ -`.
        public init?(_ text: String) {
            let isPrefix = text.hasSuffix("*")
            let name = isPrefix ? String(text.dropLast()) : text
            guard SessionID.canBegin(with: name), isPrefix || !name.isEmpty else { return nil }
            self = isPrefix ? .prefix(name) : .id(name)
        }

        func matches(_ session: String) -> Bool {
            switch self {
            case .id(let id): session.utf8.elementsEqual(id.utf8)
            case .prefix(let prefix): session.utf8.starts(with: prefix.utf8)
            }
        }
    }

    /// The permitted verbs.
    public var verbs: Set<Verb>
    /// The permitted sessions; none if it is empty.
    public var sessions: [SessionPattern]
    /// Whether the sessions that the client has created are permitted, too. Other sessions are then
    /// treated as if they did not exist.
    public var ownSessions: Bool
    /// The names of the permitted reactors; nil for all. A session of another reactor is treated as
    /// if it did not exist.
    public var reactors: Set<String>?
    /// The names of the permitted pulses; nil for all. A client with a restriction reads nothing
    /// but streams of these pulses: a state would contain the others.
    public var pulses: Set<String>?
    /// The names of the permitted action cases; nil for all. A batch with another one is refused.
    public var actions: Set<String>?

    /// Describes permissions.
    public init(
        verbs: Set<Verb>, sessions: [SessionPattern], ownSessions: Bool = false,
        reactors: Set<String>? = nil, pulses: Set<String>? = nil, actions: Set<String>? = nil
    ) {
        self.verbs = verbs
        self.sessions = sessions
        self.ownSessions = ownSessions
        self.reactors = reactors
        self.pulses = pulses
        self.actions = actions
    }

    /// Every verb on every session.
    public static let all = Grants(verbs: Set(Verb.allCases), sessions: [.prefix("")])
}

// The evaluation.
extension Grants {
    /// Whether the route may be used at all, on this session.
    ///
    /// Depends on the request alone: a refusal does not reveal whether the session exists.
    ///
    /// - Parameter session: Nil for a route that does not name one.
    package func permits(_ route: Route, session: String?) -> Bool {
        let shows: Route.Content
        switch route.access {
        case .open, .client: return true
        case .verb(let verb, let content):
            guard verbs.contains(verb) else { return false }
            shows = content
        }
        if shows == .state, pulses != nil { return false }
        switch shows {
        case .anySession: guard permitsEverySession else { return false }
        case .newSession: guard permitsEverySession || ownSessions else { return false }
        // The gate looks at the query.
        case .part, .state, .chosenKinds: break
        }
        guard route.concernsSession else { return true }
        guard let session else { return false }
        // Whose it is, is known when it is looked up.
        return ownSessions || permits(session: session)
    }

    /// Whether the session is permitted by its id, independently of its owner.
    package func permits(session: String) -> Bool {
        sessions.contains { $0.matches(session) }
    }

    /// Whether every session is permitted, by its id.
    package var permitsEverySession: Bool {
        sessions.contains { $0 == .prefix("") }
    }

    package func permits(reactor: String) -> Bool { Self.contains(reactors, reactor) }

    package func permits(pulse: String) -> Bool { Self.contains(pulses, pulse) }

    package func permits(action: String) -> Bool { Self.contains(actions, action) }

    /// Byte by byte: a name that is canonically equal to a granted one is another name.
    private static func contains(_ names: Set<String>?, _ name: String) -> Bool {
        guard let names else { return true }
        return names.firstIndex(of: name).map { names[$0].utf8.elementsEqual(name.utf8) } ?? false
    }
}
