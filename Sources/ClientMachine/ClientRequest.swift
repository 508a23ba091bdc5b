internal import JSONCoding

/// A request for the transport to carry, without the server's address.
package struct ClientRequest: Equatable, Sendable {
    package struct Field: Equatable, Sendable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var method: String
    /// The path and the query, below the server's address.
    package var target: String
    package var fields: [Field]
    package var body: [UInt8]

    package init(
        _ method: String, _ target: String, fields: [Field] = [], body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
    }

    /// The same with the value of an `Authorization` field, if there is one.
    package func authorized(_ authorization: String?) -> ClientRequest {
        var request = self
        if let authorization { request.fields.append(Field("Authorization", authorization)) }
        return request
    }
}

extension ClientRequest {
    /// The request that a client posts actions with.
    ///
    /// - Parameter done: the key of the request before, which is not sent again (ADR-0072).
    static func post(
        _ sent: SentRequest, of session: SessionName, done: RequestKey? = nil
    ) -> ClientRequest {
        var request = actions(sent, session, sent.body)
        if let done { request.fields.append(Field("Idempotency-Key-Done", done.text)) }
        if let position = sent.options.expects {
            request.fields.append(Field("If-Match", "\"\(position.text)\""))
        }
        return request
    }

    /// Asks for the answer to a request whose body is not read: an empty batch under its key.
    static func question(_ sent: SentRequest, of session: SessionName) -> ClientRequest {
        actions(sent, session, Array("[]".utf8))
    }

    private static func actions(
        _ sent: SentRequest, _ session: SessionName, _ body: [UInt8]
    ) -> ClientRequest {
        ClientRequest(
            "POST", "/v1/sessions/\(session.text)/actions\(sent.options.query)",
            fields: [
                Field("Content-Type", "application/json"),
                Field("Idempotency-Key", sent.key.text),
            ], body: body)
    }

    static func create(_ session: SessionName, of making: SessionMaking) -> ClientRequest {
        var body = Array("{\"reactor\":".utf8)
        JSON.appendString(making.reactor, to: &body)
        if let input = making.input {
            body += ",\"input\":".utf8
            body += input
        }
        body.append(UInt8(ascii: "}"))
        return ClientRequest(
            "PUT", "/v1/sessions/\(session)", fields: [Field("Content-Type", "application/json")],
            body: body)
    }

    static func read(_ session: SessionName) -> ClientRequest {
        ClientRequest("GET", "/v1/sessions/\(session)")
    }

    /// Requests a stream without accepting one. The service answers with a problem, which proves
    /// that the service sent it. A client that may read the stream may send this request.
    static func lookUp(_ session: SessionName, ofLog: Bool) -> ClientRequest {
        ClientRequest(
            "GET", "/v1/sessions/\(session)/\(ofLog ? "log" : "pulses")",
            fields: [Field("Accept", "application/problem+json")])
    }

    static func stream(_ target: String) -> ClientRequest {
        ClientRequest("GET", target, fields: [Field("Accept", "text/event-stream")])
    }
}
