// The requests of the servers that are compared: the same resources under different names.
import ArgumentParser

/// A server for which the tool knows the requests.
enum Preset: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// This project's server.
    case reactor
    /// nginx with the nchan module: `/pub/ID` and an EventSource subscriber at `/sub/ID`.
    case nchan
    /// nginx with `return 200` at `/return`: the cost of a request without work.
    case nginx
    /// The comparison server on Hummingbird: `/sessions/ID/actions` and `/sessions/ID/events`.
    case hummingbird

    /// Requests that create a session.
    var setup: [String] {
        switch self {
        case .reactor: [#"PUT /v1/sessions/{session} {"reactor":"alerts"}"#]
        case .nchan, .nginx, .hummingbird: []
        }
    }

    /// The path to which an action is posted.
    var publishPath: String {
        switch self {
        case .reactor: "/v1/sessions/{session}/actions"
        case .nchan: "/pub/{session}"
        case .nginx: "/return"
        case .hummingbird: "/sessions/{session}/actions"
        }
    }

    /// The body of an action without a mark: 41 bytes of JSON for every server that reads JSON.
    var plainBody: String { #"{"type":"alert","message":"Hello, World!"}"# }

    /// The body of an action that subscribers can recognise.
    var markedBody: String {
        switch self {
        case .nchan, .nginx: "{mark}"
        case .reactor, .hummingbird: #"{"type":"alert","message":"{mark}"}"#
        }
    }

    /// The path from which events are read.
    var subscribePath: String {
        switch self {
        case .reactor: "/v1/sessions/{session}/pulses?from=now"
        case .nchan: "/sub/{session}"
        case .nginx: "/"
        case .hummingbird: "/sessions/{session}/events"
        }
    }

    /// The path from which the events of several sessions are read; nil if the server has none.
    var jointSubscribePath: String? {
        switch self {
        case .reactor: "/v1/events?{sessions}&only=pulses&from=now"
        case .nchan, .nginx, .hummingbird: nil
        }
    }

    /// The format of its event ids.
    var ids: IDScheme {
        switch self {
        case .reactor: .consecutive
        case .nchan: .nchan
        case .nginx: .none
        case .hummingbird: .number
        }
    }

    /// Whether the service itself sends `event: snapshot` and similar events.
    var hasServiceEvents: Bool { self == .reactor }
}

extension IDScheme: ExpressibleByArgument {}
