/// One operation of the service: a method and a path, and the endpoint that responds to them.
///
/// The router, the tests against openapi.yaml and the simulation of whole lives share ``table``.
package final class Route: Sendable {
    package let method: String
    /// Segments in braces match any one segment.
    package let path: String
    /// The `operationId` in openapi.yaml, and the `operation` of log lines.
    package let operationID: String
    /// The grant that a client needs, if the server authenticates its clients.
    package let access: Access
    /// The names that its query may have; nil for pages, whose query is for their scripts.
    package let parameters: [String]?
    let endpoint: Endpoint
    /// Whether the segment in braces is a topic. The topic's session then serves the request.
    let namesTopic: Bool
    /// The index in ``table``, for counters.
    let index: Int

    /// The grant that a route requires (``Grants``).
    package enum Access: Sendable, Equatable {
        /// None: anyone may use the route, without a token.
        case open
        /// A token, whatever it grants.
        case client
        case verb(Grants.Verb, shows: Content = .part)
    }

    /// The part of the service that a response may show, beyond the session in the path.
    package enum Content: Sendable, Equatable {
        /// Everything that the verb, the session and the pulses permit.
        case part
        /// A state, which contains every pulse, or activities: requires a grant of all pulses.
        case state
        /// The kinds of events in `?only=`: a state and activities require a grant of all pulses.
        case chosenKinds
        /// Sessions that the path does not name: requires a grant of all sessions.
        case anySession
        /// A session whose id the server chooses: requires a grant of all sessions, or of own ones.
        case newSession
    }

    /// The whole service (contract §3). A new operation is a row here and a file in `Endpoints`.
    ///
    /// Design: the router checks the paths in this order: the one with the most requests is first.
    package static let table: [Route] = numbered([
        Route(
            "POST", "/v1/sessions/{id}/actions", "postActions", .verb(.act), PostActions.self,
            ["wait", "timeout", "reactor"]),
        Route(
            "GET", "/v1/sessions/{id}/pulses", "streamPulses", .verb(.read), StreamPulses.self,
            events + ["pulse"]),
        Route(
            "GET", "/v1/sessions/{id}", "readSession", .verb(.read, shows: .state),
            ReadSession.self, ["version"]),
        Route("PUT", "/v1/sessions/{id}", "putSession", .verb(.create), PutSession.self),
        Route("DELETE", "/v1/sessions/{id}", "deleteSession", .verb(.delete), DeleteSession.self),
        Route(
            "GET", "/v1/sessions/{id}/states", "streamStates", .verb(.read, shows: .state),
            StreamStates.self, events + ["select", "form"]),
        Route(
            "GET", "/v1/sessions/{id}/activities", "streamActivities", .verb(.read, shows: .state),
            StreamActivities.self, events),
        Route(
            "GET", "/v1/sessions/{id}/events", "streamEvents", .verb(.read, shows: .chosenKinds),
            StreamEvents.self, events + ["only", "pulse", "select", "form"]),
        Route(
            "GET", "/v1/events", "streamSessions", .verb(.read), StreamSessions.self,
            events + ["session", "only", "pulse", "ids", "form"]),
        Route(
            "GET", "/v1/sessions/{id}/log", "readLog", .verb(.log), ReadLog.self, stream + ["limit"]
        ),
        Route(
            "GET", "/v1/sessions/{id}/runtime", "readRuntime", .verb(.read, shows: .state),
            ReadRuntime.self),
        Route(
            "GET", "/v1/sessions/{id}/presence", "readPresence", .verb(.read, shows: .state),
            ReadPresence.self),
        Route("PUT", "/v1/sessions/{id}/stub", "putStub", .verb(.admin), PutStub.self),
        Route("GET", "/v1/sessions/{id}/stub", "readStub", .verb(.admin), ReadStub.self),
        Route(
            "POST", "/v1/sessions", "createSession", .verb(.create, shows: .newSession),
            CreateSession.self),
        Route(
            "GET", "/v1/sessions", "listSessions", .verb(.read, shows: .anySession),
            ListSessions.self,
            ["prefix", "after", "limit", "reactor", "tag", "sort", "ping", "ticket"]),
        Route("GET", "/v1/reactors", "listReactors", .verb(.read), ListReactors.self),
        Route("POST", "/v1/tickets", "createTicket", .client, CreateTicket.self),
        Route("PUT", "/v1/cookie", "setCookie", .client, SetCookie.self),
        Route("DELETE", "/v1/cookie", "removeCookie", .open, RemoveCookie.self),
        Route("POST", "/v1/topics/{topic}", "publishTopic", .verb(.admin), PublishTopic.self),
        Route("GET", "/livez", "livez", .open, Liveness.self),
        Route("GET", "/readyz", "readyz", .open, Readiness.self),
        Route("GET", "/metrics", "metrics", .verb(.admin), ReadMetrics.self),
        Route("GET", "/openapi.yaml", "openapi", .open, ReadSpecification.self),
        Route("GET", "/", "home", .open, ReadHome.self, nil),
        Route("GET", "/console", "console", .open, ReadPage.self, nil),
        Route("GET", "/console/{file}", "consoleFile", .open, ReadPage.self, nil),
        Route("GET", "/demo", "demo", .open, ReadPage.self, nil),
        Route("GET", "/demo/{file}", "demoFile", .open, ReadPage.self, nil),
        Route("GET", "/reactor-client.js", "client", .open, ReadPage.self, nil),
        Route("GET", "/reactor-client/{file}", "clientFile", .open, ReadPage.self, nil),
        Route("GET", "/outbox-indexeddb.js", "clientOutbox", .open, ReadPage.self, nil),
        Route("GET", "/react.js", "clientHook", .open, ReadPage.self, nil),
    ])

    /// The parameters of every event stream.
    private static let stream = ["from", "after", "ping", "ticket"]
    /// The parameters of streams other than the action log.
    private static let events = stream + ["as", "presence"]

    private init(
        _ method: String, _ path: String, _ operationID: String, _ access: Access,
        _ endpoint: any RouteEndpoint.Type, _ parameters: [String]? = []
    ) {
        self.method = method
        self.path = path
        self.operationID = operationID
        self.access = access
        self.parameters = parameters
        self.endpoint = endpoint.endpoint
        namesTopic = endpoint is PublishTopic.Type
        index = 0
    }

    /// The routes of links: those that are forwarded, and the route of parts' actions. No listener
    /// has that last route, so only nodes can use it.
    static let links =
        table.filter(\.isForwarded) + [
            Route("POST", "/parts/{id}", "postPart", .verb(.admin), PostPart.self, ["reactors"])
        ]

    private var isForwarded: Bool {
        if case .session(let endpoint) = endpoint { endpoint.isForwarded } else { false }
    }

    /// The routes of the operations address (`--ops-listen`), and what describes them.
    package static let operations = table.filter { $0.isForOperations || $0.isForBoth }

    /// The routes of the clients' address if there is an operations address.
    package static let clients = table.filter { !$0.isForOperations }

    /// A probe, or for administrators: with an operations address it is served only there.
    ///
    /// Design: derived, so that a new route for administrators cannot be left at the
    /// clients' address.
    package var isForOperations: Bool { isProbe || access == .verb(.admin) }

    /// Whether a large response needs room in the budget for answers. Metrics do not: they show
    /// that there is none. (Any other request than a GET has already taken effect.)
    var mayBeOverBudget: Bool { method == "GET" && (!isForOperations || concernsSession) }

    /// Whether a tracer gets spans of its requests: those of sessions, and not of what
    /// surrounds them.
    var isTraced: Bool { path.hasPrefix("/v1/") }

    /// Whether the setting `--console` decides who gets it.
    var isOfConsole: Bool { path.hasPrefix("/console") || path.hasPrefix("/demo") }

    /// The specification describes both.
    private var isForBoth: Bool { operationID == "openapi" }

    private var isProbe: Bool {
        switch endpoint {
        case .service(let endpoint): endpoint.isProbe
        case .session: false
        }
    }

    /// Whether the operations address serves the route during a drain: it needs no session.
    var isServedWhileDraining: Bool { method == "GET" && !concernsSession }

    private init(_ route: Route, index: Int) {
        method = route.method
        path = route.path
        operationID = route.operationID
        access = route.access
        parameters = route.parameters
        endpoint = route.endpoint
        namesTopic = route.namesTopic
        self.index = index
    }

    private static func numbered(_ routes: [Route]) -> [Route] {
        routes.enumerated().map { Route($1, index: $0) }
    }

    /// Whether its path names a session.
    package var concernsSession: Bool { isServedBySession && !namesTopic }

    /// Whether a session serves the request, on the loop that owns the session. The path names the
    /// session, or the topic whose session it is.
    var isServedBySession: Bool {
        switch endpoint {
        case .service: false
        case .session: true
        }
    }
}

extension Route: Equatable {
    package static func == (one: Route, other: Route) -> Bool { one === other }
}
