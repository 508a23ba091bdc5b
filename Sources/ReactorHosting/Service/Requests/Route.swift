/// One operation of the service: a method and a path, and the endpoint that responds to them.
///
/// The router, the tests against openapi.yaml and the simulation of whole lives share ``table``.
package final class Route: Sendable {
    package let method: String
    /// Segments in braces match any one segment.
    package let path: String
    /// The `operationId` in openapi.yaml, and the `operation` of log lines.
    package let operationID: String
    let endpoint: Endpoint

    /// The whole service (contract §3). A new operation is a row here and a file in `Endpoints`.
    ///
    /// Design: the router checks the paths in this order, so the path with the most requests is the
    /// first one.
    package static let table: [Route] = [
        Route("POST", "/v1/sessions/{id}/actions", "postActions", PostActions.self),
        Route("GET", "/v1/sessions/{id}/pulses", "streamPulses", StreamPulses.self),
        Route("GET", "/v1/sessions/{id}", "readSession", ReadSession.self),
        Route("PUT", "/v1/sessions/{id}", "putSession", PutSession.self),
        Route("DELETE", "/v1/sessions/{id}", "deleteSession", DeleteSession.self),
        Route("GET", "/v1/sessions/{id}/states", "streamStates", StreamStates.self),
        Route("GET", "/v1/sessions/{id}/activities", "streamActivities", StreamActivities.self),
        Route("GET", "/v1/sessions/{id}/events", "streamEvents", StreamEvents.self),
        Route("GET", "/v1/sessions/{id}/log", "readLog", ReadLog.self),
        Route("PUT", "/v1/sessions/{id}/stub", "putStub", PutStub.self),
        Route("GET", "/v1/sessions/{id}/stub", "readStub", ReadStub.self),
        Route("POST", "/v1/sessions", "createSession", CreateSession.self),
        Route("GET", "/v1/sessions", "listSessions", ListSessions.self),
        Route("GET", "/v1/reactors", "listReactors", ListReactors.self),
        Route("POST", "/v1/topics/{topic}", "publishTopic", PublishTopic.self),
        Route("GET", "/livez", "livez", Liveness.self),
        Route("GET", "/readyz", "readyz", Readiness.self),
        Route("GET", "/metrics", "metrics", ReadMetrics.self),
        Route("GET", "/openapi.yaml", "openapi", ReadSpecification.self),
    ]

    private init(
        _ method: String, _ path: String, _ operationID: String,
        _ endpoint: any ServiceEndpoint.Type
    ) {
        self.method = method
        self.path = path
        self.operationID = operationID
        self.endpoint = .service(endpoint)
    }

    private init(
        _ method: String, _ path: String, _ operationID: String,
        _ endpoint: any SessionEndpoint.Type
    ) {
        self.method = method
        self.path = path
        self.operationID = operationID
        self.endpoint = .session(endpoint)
    }

    /// Whether the loop that owns the session in the path serves it.
    package var concernsSession: Bool {
        switch endpoint {
        case .service: false
        case .session: true
        }
    }
}

extension Route: Equatable {
    package static func == (one: Route, other: Route) -> Bool { one === other }
}
