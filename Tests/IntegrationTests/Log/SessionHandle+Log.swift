// Reads a session's action log.
extension SessionHandle {
    /// The kept entries from the oldest on, at most a thousand.
    func entries() async throws -> [JSONValue] {
        let response = try await client.get("\(path)/log?limit=1000")
        guard response.status == 200, let entries = try response.json["entries"]?.array else {
            throw UnexpectedAnswer(response: response)
        }
        return entries
    }

    /// The log as a stream.
    func openLog(
        _ query: String = "", _ fields: [(name: String, value: String)] = []
    ) async throws -> EventStream {
        try await open("log\(query)", [("Accept", "text/event-stream")] + fields)
    }

    /// The log as a stream of new entries only, beginning with its response.
    func followLog() async throws -> EventStream {
        let stream = try await openLog("?from=now")
        _ = try await stream.nextItem()
        _ = try await stream.nextItem()
        return stream
    }
}

extension EventStream {
    /// The next entries, as sent.
    func entries(_ count: Int) async throws -> [JSONValue] {
        try await next(count).map { try JSONValue(text: $0.data) }
    }

    /// The next entry of this kind; others are skipped.
    func entry(_ kind: String) async throws -> JSONValue {
        while true {
            let event = try await next()
            if event.name == kind { return try JSONValue(text: event.data) }
        }
    }
}
