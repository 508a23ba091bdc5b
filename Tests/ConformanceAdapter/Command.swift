/// A command of the runner, with the members of all commands.
struct Command: Decodable, Sendable {
    enum Name: String, Decodable {
        case open, follow, leave, submit, send, discard, read, wake, delete, credential, dismiss,
            close
    }

    enum Start: String, Decodable { case present, now, start, saved }

    let id: Int64
    let command: Name
    let server: String?
    let outbox: String?
    let account: String?
    let credentials: Bool?
    let session: String?
    let reactor: String?
    let predict: Bool?
    let shown: Bool?
    let from: Start?
    let after: String?
    let ticket: String?
    let action: JSONValue?
    let actions: [JSONValue]?
    let position: String?
    let settled: Int64?
    let request: Int64?
    let token: String?
    let seconds: Int64?
    let refusal: Int64?
}
