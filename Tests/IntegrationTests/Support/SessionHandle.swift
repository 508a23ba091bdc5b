/// A session on a server, by its id.
struct SessionHandle: Sendable {
    let client: Client
    let id: String
    /// The position of its creation.
    let created: String

    var path: String { "/v1/sessions/\(id)" }
    /// The prefix of all positions of this session.
    var generation: String { String(created.prefix { $0 != "." }) }

    /// The query of a post that waits for its effects. The default of 10 s is too short for a test
    /// on a busy machine.
    static let settled = "?wait=settled&timeout=10m"

    /// The body of a 2xx to posted actions.
    struct Receipt: Sendable, Equatable {
        var version: Int
        var position: String
        /// The record's number.
        var number: Int { Int(position.split(separator: ".")[1]) ?? -1 }
    }

    /// Posts an action, which must be accepted.
    @discardableResult
    func post(_ action: String, query: String = "") async throws -> Receipt {
        let response = try await client.post("\(path)/actions\(query)", action)
        guard response.status == 200, let version = try response.json["version"]?.integer,
            let position = try response.json["position"]?.string
        else { throw UnexpectedAnswer(response: response) }
        return Receipt(version: version, position: position)
    }

    /// Posts the seeds' alert; nil is JSON's null.
    @discardableResult
    func alert(_ message: String?) async throws -> Receipt {
        let text = try message.map { try JSONValue.literal($0) } ?? "null"
        return try await post(#"{"type":"alert","message":\#(text)}"#)
    }

    func read() async throws -> JSONValue {
        let response = try await client.get(path)
        guard response.status == 200 else { throw UnexpectedAnswer(response: response) }
        return try response.json
    }

    func state() async throws -> JSONValue {
        try await read()["state"] ?? nil
    }

    /// Opens `pulses`, `states`, … of the session; it must be a stream.
    func open(
        _ stream: String, _ fields: [(name: String, value: String)] = []
    ) async throws -> EventStream {
        let opened = try await client.open("\(path)/\(stream)", fields)
        guard await opened.head.status == 200 else {
            throw UnexpectedAnswer(response: await opened.response())
        }
        return opened
    }

    /// Opens a stream and reads its snapshot event, so that later events are live.
    func follow(_ stream: String) async throws -> EventStream {
        let opened = try await open(stream)
        let first = try await opened.next()
        guard first.name == "snapshot" else { throw EventStream.Surprise(event: first) }
        return opened
    }
}
