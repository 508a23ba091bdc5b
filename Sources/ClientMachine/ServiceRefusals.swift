/// The words with which the service itself refuses a step or ends a session (C5).
///
/// An answer with any other code makes a client wait, even if it is the service's: people see a
/// newer server's code as the reason, and nothing is lost. A request that a proxy has misdirected
/// or damaged (`unknown_host`, `unsupported_media_type`) is not refused either.
struct ServiceRefusals {
    let codes: Set<String>

    static let create = ServiceRefusals(codes: [
        "unknown_reactor", "other_reactor", "other_owner", "forbidden", "too_many_sessions",
        "session_ended", "not_an_input", "other_input", "body_too_large",
    ])
    static let post = ServiceRefusals(codes: [
        "malformed_json", "body_too_large", "body_too_slow", "not_an_action", "batch_too_large",
        "action_refused", "action_failed", "not_encodable", "state_too_large", "too_much_output",
        "forbidden", "no_parent", "position_changed", "unknown_session", "session_ended",
        "request_running", "key_reused", "empty_batch",
    ])
    static let stream = ServiceRefusals(codes: [
        "forbidden", "other_name", "unknown_pulse", "unknown_session", "too_many_sessions",
        "unknown_path", "unknown_parameter", "bad_form",
    ])
    static let read = ServiceRefusals(codes: ["session_ended", "unknown_session"])
}
