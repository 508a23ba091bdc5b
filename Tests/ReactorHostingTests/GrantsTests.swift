import Testing

@testable import ReactorHosting

@Suite("Grants — route × grant × outcome", .timeLimit(.minutes(60)))
struct GrantsTests {
    /// The verb of each route, by `operationId`; nil for none. Stated here a second time, so that a
    /// change of a row is a decision.
    private static let verbs: [String: Grants.Verb?] = [
        "postActions": .act, "streamPulses": .read, "readSession": .read, "putSession": .create,
        "deleteSession": .delete, "streamStates": .read, "streamActivities": .read,
        "streamEvents": .read, "readLog": .log, "putStub": .admin, "readStub": .admin,
        "createSession": .create, "listSessions": .read, "listReactors": .read,
        "publishTopic": .admin, "metrics": .admin, "livez": nil, "readyz": nil, "openapi": nil,
        "createTicket": nil, "setCookie": nil, "removeCookie": nil, "readRuntime": .read,
        "readPresence": .read,
        "streamSessions": .read, "home": nil, "client": nil, "clientFile": nil,
        "clientOutbox": nil, "clientHook": nil, "console": nil, "consoleFile": nil, "demo": nil,
        "demoFile": nil,
    ]
    /// The routes without a verb that require a token all the same.
    private static let clients: Set = ["createTicket", "setCookie"]
    /// The routes that show every pulse of a session.
    private static let states: Set = [
        "readSession", "streamStates", "streamActivities", "readRuntime", "readPresence",
    ]
    /// The routes that show or make sessions that their path does not name.
    private static let wide: Set = ["createSession", "listSessions"]

    @Test(arguments: Route.table)
    func `a client with own sessions may name any, and create one without a name`(
        route: Route
    ) throws {
        let isOpen = try #require(Self.verbs[route.operationID]) == nil
        let own = Grants(verbs: Set(Grants.Verb.allCases), sessions: [], ownSessions: true)
        let expected = isOpen || route.operationID != "listSessions"
        #expect(own.permits(route, session: "any") == expected)
        // Whose it is, is asked later.
        #expect(!own.permits(session: "any"))
    }

    @Test func `names are granted byte by byte`() {
        let (one, other) = ("\u{E9}", "e\u{301}")
        let grants = Grants(
            verbs: [], sessions: [], reactors: [one], pulses: [one], actions: [one])
        #expect(grants.permits(reactor: one) && !grants.permits(reactor: other))
        #expect(grants.permits(pulse: one) && !grants.permits(pulse: other))
        #expect(grants.permits(action: one) && !grants.permits(action: other))
        let principals = [one, other].map {
            Principal(subject: $0, grants: grants, expiresAtSeconds: 1)
        }
        #expect(principals[0] != principals[1])
    }

    @Test func `every route has a verb here`() {
        #expect(Set(Route.table.map(\.operationID)) == Set(Self.verbs.keys))
    }

    @Test(arguments: Route.table)
    func `a route requires exactly its verb`(route: Route) throws {
        let wanted = try #require(Self.verbs[route.operationID])
        let needsNothing = wanted == nil && !Self.clients.contains(route.operationID)
        #expect((route.access == .open) == needsNothing)
        for verb in Grants.Verb.allCases {
            let only = Grants(verbs: [verb], sessions: [.prefix("")])
            #expect(only.permits(route, session: "s") == (wanted == nil || wanted == verb))
            var others = Grants.all
            others.verbs.remove(verb)
            #expect(others.permits(route, session: "s") == (wanted != verb))
        }
        #expect(Grants.all.permits(route, session: "s"))
        let nothing = Grants(verbs: [], sessions: [])
        #expect(nothing.permits(route, session: "s") == (wanted == nil))
    }

    @Test(arguments: Route.table)
    func `a route about a session requires that session`(route: Route) throws {
        let isOpen = try #require(Self.verbs[route.operationID]) == nil
        let isWide = Self.wide.contains(route.operationID)
        let some = Grants(
            verbs: Set(Grants.Verb.allCases), sessions: [.id("one"), .prefix("table-")])
        for (session, isGranted) in [
            ("one", true), ("table-", true), ("table-9", true), ("on", false), ("one1", false),
            ("One", false), ("table", false), ("xtable-1", false), ("", false),
        ] {
            let expected = isOpen || (route.concernsSession ? isGranted : !isWide)
            #expect(some.permits(route, session: session) == expected, "\(session)")
        }
        if route.concernsSession { #expect(!Grants.all.permits(route, session: nil)) }
        let none = Grants(verbs: Set(Grants.Verb.allCases), sessions: [])
        let needsNone = isOpen || (!route.concernsSession && !isWide)
        #expect(none.permits(route, session: "one") == needsNone)
    }

    @Test(arguments: Route.table)
    func `a client that may read some pulses reads no state`(route: Route) {
        var grants = Grants.all
        grants.pulses = ["message"]
        #expect(
            grants.permits(route, session: "s") == !Self.states.contains(route.operationID))
    }

    @Test func `events are granted by the kinds that the query names`() throws {
        let events = try #require(Route.table.first { $0.operationID == "streamEvents" })
        #expect(events.access == .verb(.read, shows: .chosenKinds))
    }

    @Test func `names are granted one by one, or all`() {
        var grants = Grants.all
        #expect(grants.permits(reactor: "a"))
        #expect(grants.permits(pulse: "a"))
        #expect(grants.permits(action: "a"))
        (grants.reactors, grants.pulses, grants.actions) = (["a"], ["a"], ["a"])
        for name in ["a", "b", "A", "", "a*"] {
            #expect(grants.permits(reactor: name) == (name == "a"))
            #expect(grants.permits(pulse: name) == (name == "a"))
            #expect(grants.permits(action: name) == (name == "a"))
        }
    }

    @Test(
        arguments: [
            ("*", .prefix("")), ("a*", .prefix("a")), ("a", .id("a")), ("A-_9", .id("A-_9")),
            ("", nil), ("**", nil), ("a*b", nil), ("a b", nil), ("é", nil), ("a/b", nil),
            ("a\n", nil),
        ] as [(String, Grants.SessionPattern?)])
    func `a pattern is an id, or a beginning and a star`(
        text: String, pattern: Grants.SessionPattern?
    ) {
        #expect(Grants.SessionPattern(text) == pattern)
        let long = String(repeating: "a", count: 129)
        #expect(Grants.SessionPattern(long) == nil)
    }
}
