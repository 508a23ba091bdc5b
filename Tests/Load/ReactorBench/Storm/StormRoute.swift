/// Every request of the service; a storm sends them all. A test compares them with the service's
/// own table.
enum StormRoute: String, CaseIterable {
    case postActions = "POST /v1/sessions/{id}/actions"
    case streamPulses = "GET /v1/sessions/{id}/pulses"
    case readSession = "GET /v1/sessions/{id}"
    case putSession = "PUT /v1/sessions/{id}"
    case deleteSession = "DELETE /v1/sessions/{id}"
    case streamStates = "GET /v1/sessions/{id}/states"
    case streamActivities = "GET /v1/sessions/{id}/activities"
    case streamEvents = "GET /v1/sessions/{id}/events"
    case streamSessions = "GET /v1/events"
    case readLog = "GET /v1/sessions/{id}/log"
    case readRuntime = "GET /v1/sessions/{id}/runtime"
    case readPresence = "GET /v1/sessions/{id}/presence"
    case putStub = "PUT /v1/sessions/{id}/stub"
    case readStub = "GET /v1/sessions/{id}/stub"
    case createSession = "POST /v1/sessions"
    case listSessions = "GET /v1/sessions"
    case listReactors = "GET /v1/reactors"
    case createTicket = "POST /v1/tickets"
    case setCookie = "PUT /v1/cookie"
    case removeCookie = "DELETE /v1/cookie"
    case publishTopic = "POST /v1/topics/{topic}"
    case livez = "GET /livez"
    case readyz = "GET /readyz"
    case metrics = "GET /metrics"
    case openapi = "GET /openapi.yaml"
    case home = "GET /"
    case console = "GET /console"
    case consoleFile = "GET /console/{file}"
    case demo = "GET /demo"
    case demoFile = "GET /demo/{file}"
    case client = "GET /reactor-client.js"
    case clientFile = "GET /reactor-client/{file}"
    case clientOutbox = "GET /outbox-indexeddb.js"
    case clientHook = "GET /react.js"

    var method: String { String(rawValue.prefix { $0 != " " }) }

    /// The path with its placeholder replaced.
    func path(_ name: String) -> String {
        let template = rawValue.drop { $0 != " " }.dropFirst()
        guard let open = template.firstIndex(of: "{"), let close = template.firstIndex(of: "}")
        else { return String(template) }
        return template[..<open] + name + template[template.index(after: close)...]
    }

    /// The relative frequency of the request.
    var weight: Int {
        switch self {
        case .postActions: 40
        case .readLog: 14
        case .readSession: 10
        case .streamPulses, .streamStates, .streamEvents, .streamSessions: 4
        case .putSession: 4
        case .streamActivities, .deleteSession, .createSession, .putStub: 2
        case .readStub, .readRuntime, .readPresence, .listSessions, .publishTopic, .metrics: 1
        case .listReactors, .createTicket, .setCookie, .removeCookie, .livez, .readyz, .openapi: 1
        case .clientOutbox, .clientHook, .demo, .demoFile, .home, .console, .consoleFile, .client,
            .clientFile:
            1
        }
    }

    var isStream: Bool {
        switch self {
        case .streamPulses, .streamStates, .streamEvents, .streamActivities, .streamSessions: true
        default: false
        }
    }

    static func random(_ random: inout SeededNumbers) -> StormRoute {
        var number = Int.random(in: 0..<allCases.reduce(0) { $0 + $1.weight }, using: &random)
        for route in allCases {
            number -= route.weight
            if number < 0 { return route }
        }
        return .postActions
    }
}
