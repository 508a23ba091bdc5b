import Synchronization

/// A client of one server, on libcurl.
struct Client: Sendable {
    /// `http://127.0.0.1:8080`, without a slash at its end.
    let base: String
    let unixPath: String?
    private let loop = CurlLoop()

    init(base: String, unixPath: String? = nil) {
        self.base = base
        self.unixPath = unixPath
    }

    /// Sends a request and waits for the whole response.
    ///
    /// - Throws: `CurlFailure`, also when the test is cancelled.
    func send(_ request: Request) async throws -> Response {
        let answer = PendingAnswer()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let plan = TransferPlan(
                    url: base + request.path, unixPath: unixPath, request: request,
                    head: { head in answer.response.withLock { $0.head = head } },
                    bytes: { bytes in answer.response.withLock { $0.body += bytes } },
                    ended: { failure, connections in
                        if let failure { return continuation.resume(throwing: failure) }
                        var response = answer.response.withLock { $0 }
                        response.newConnections = connections
                        continuation.resume(returning: response)
                    })
                let number = loop.start(plan)
                answer.number.withLock { $0 = number }
            }
        } onCancel: {
            loop.cancel(answer.number.withLock { $0 })
        }
    }

    /// Opens an event stream on its own connection; returns when the head has arrived, whatever its
    /// status.
    func open(
        _ path: String, _ fields: [(name: String, value: String)] = []
    ) async throws -> EventStream {
        let stream = EventStream(loop)
        await stream.start(
            TransferPlan(
                url: base + path, unixPath: unixPath,
                request: Request(path: path, fields: fields, isAlone: true), limitSeconds: 0,
                head: { stream.deliver(.head($0)) }, bytes: { stream.deliver(.bytes($0)) },
                ended: { failure, _ in stream.deliver(.ended(failure)) }))
        try await stream.waitForHead()
        return stream
    }
}

/// The part of a response that has arrived so far.
private final class PendingAnswer: Sendable {
    let response = Mutex(Response())
    let number = Mutex<UInt64>(0)
}

// The requests that almost every test makes.
extension Client {
    func get(_ path: String, _ fields: [(name: String, value: String)] = []) async throws
        -> Response
    {
        try await send(Request(path: path, fields: fields))
    }

    func put(_ path: String, _ json: String) async throws -> Response {
        try await send(.json("PUT", path, json))
    }

    func post(_ path: String, _ json: String) async throws -> Response {
        try await send(.json("POST", path, json))
    }

    func delete(_ path: String) async throws -> Response {
        try await send(Request(method: "DELETE", path: path))
    }

    /// Creates a session of the reactor under an id that no other test uses.
    func session(_ reactor: String) async throws -> SessionHandle {
        let id = "\(reactor)-\(UInt64.random(in: 0 ... .max))"
        let response = try await put("/v1/sessions/\(id)", #"{"reactor":"\#(reactor)"}"#)
        guard response.status == 201, let position = try response.json["position"]?.string else {
            throw UnexpectedAnswer(response: response)
        }
        return SessionHandle(client: self, id: id, created: position)
    }
}

/// A response with which a test's preparations can't continue.
struct UnexpectedAnswer: Error, CustomStringConvertible {
    var response: Response
    var description: String { "unexpected answer \(response.status): \(response.text)" }
}
