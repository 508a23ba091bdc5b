/// What the service can be asked for; the raw value is the `operationId` in openapi.yaml.
package enum Operation: String, CaseIterable, Sendable {
    case listReactors, createSession, listSessions, putSession, readSession, deleteSession
    case postActions, streamPulses, streamActivities, streamStates, streamEvents, readLog
    case putStub, readStub, publishTopic
    case livez, readyz, metrics, openapi

    /// An operation on one session is served by the loop that owns the session.
    package var concernsSession: Bool {
        switch self {
        case .putSession, .readSession, .deleteSession, .postActions, .streamPulses,
            .streamActivities, .streamStates, .streamEvents, .readLog, .putStub,
            .readStub:
            true
        case .listReactors, .createSession, .listSessions, .livez, .readyz, .metrics, .openapi,
            .publishTopic:
            false
        }
    }
}

/// A row of the table that the router and the test against openapi.yaml share.
package struct Route: Sendable {
    package let method: String
    /// Segments in braces match any one segment.
    package let path: String
    package let operation: Operation

    /// The whole service (contract §3).
    package static let table: [Route] = [
        Route("POST", "/v1/sessions/{id}/actions", .postActions),
        Route("GET", "/v1/sessions/{id}/pulses", .streamPulses),
        Route("GET", "/v1/sessions/{id}", .readSession),
        Route("PUT", "/v1/sessions/{id}", .putSession),
        Route("DELETE", "/v1/sessions/{id}", .deleteSession),
        Route("GET", "/v1/sessions/{id}/states", .streamStates),
        Route("GET", "/v1/sessions/{id}/activities", .streamActivities),
        Route("GET", "/v1/sessions/{id}/events", .streamEvents),
        Route("GET", "/v1/sessions/{id}/log", .readLog),
        Route("PUT", "/v1/sessions/{id}/stub", .putStub),
        Route("GET", "/v1/sessions/{id}/stub", .readStub),
        Route("POST", "/v1/sessions", .createSession),
        Route("GET", "/v1/sessions", .listSessions),
        Route("GET", "/v1/reactors", .listReactors),
        Route("POST", "/v1/topics/{topic}", .publishTopic),
        Route("GET", "/livez", .livez),
        Route("GET", "/readyz", .readyz),
        Route("GET", "/metrics", .metrics),
        Route("GET", "/openapi.yaml", .openapi),
    ]

    private init(_ method: String, _ path: String, _ operation: Operation) {
        self.method = method
        self.path = path
        self.operation = operation
    }
}
