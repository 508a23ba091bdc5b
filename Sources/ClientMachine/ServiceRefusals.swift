/// The words with which the service itself refuses something or ends a session, by step (C5).
///
/// An answer with any other code makes a client wait, even if it is the service's: people see a
/// newer server's code as the reason, and nothing is lost. A request that a proxy has misdirected
/// or damaged (`unknown_host`, `unsupported_media_type`) is not refused either.
enum ServiceRefusals {
    enum Step {
        case create
        case post
        case stream
        case read
    }

    static func contain(_ code: String, in step: Step) -> Bool {
        switch step {
        case .create: ofCreate.contains(code)
        case .post: ofPost.contains(code)
        case .stream: ofStream.contains(code)
        case .read: ofRead.contains(code)
        }
    }

    private static let ofCreate: Set = [
        "unknown_reactor", "other_reactor", "other_owner", "forbidden", "too_many_sessions",
        "session_ended",
    ]
    private static let ofPost: Set = [
        "malformed_json", "body_too_large", "body_too_slow", "not_an_action", "batch_too_large",
        "action_failed", "not_encodable", "state_too_large", "too_much_output", "forbidden",
        "no_parent", "position_changed", "unknown_session", "session_ended", "request_running",
        "key_reused", "empty_batch",
    ]
    private static let ofStream: Set = [
        "forbidden", "unknown_pulse", "unknown_session", "too_many_sessions", "unknown_path",
    ]
    private static let ofRead: Set = ["session_ended", "unknown_session"]
}
