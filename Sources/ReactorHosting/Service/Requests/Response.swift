internal import Feeds
internal import JSONCoding
internal import Wire

/// A response: a value that encodes itself for its request.
struct Response {
    enum Body {
        case bytes([UInt8])
        /// Bytes that exist without the response.
        case constant([UInt8])
        /// Consecutive. `shared` may be large and belong to many responses; it is never copied.
        case parts(beginning: [UInt8], shared: [UInt8], end: [UInt8])
        /// An event stream that reports a problem and ends. EventSource never reconnects after a
        /// status other than 200, so a temporary problem is reported this way (contract §3.2).
        case endedStream(Problem)
        /// The head of an event stream, without a length (RFC 9110 §8.6): for `HEAD`.
        case streamHead
    }

    var status: Int
    /// Fields in addition to those of every response.
    var fields: [(String, String)] = []
    var body = Body.bytes([])
    var code: String?
    /// Bytes of an encoded body that is not sent. They count as work of the turn.
    var discardedBytes = 0
    /// Counts the body, if it is large, until the connection has accepted it.
    var charge: WorkCharge?

    /// The code of the problem in the body or in the stream, for the metrics.
    var problemCode: String? {
        if case .endedStream(let problem) = body { problem.code } else { code }
    }

    static func json(
        _ status: Int, _ body: [UInt8], fields: [(String, String)] = []
    ) -> Response {
        Response(
            status: status, fields: [("Content-Type", "application/json")] + fields,
            body: .bytes(body))
    }

    /// Encodes `body` as one line of JSON.
    static func json(
        _ status: Int, _ body: some Encodable, fields: [(String, String)] = []
    ) -> Response {
        json(status, JSON.line(body), fields: fields)
    }

    /// A large body takes no more memory than it needs, and counts until it is sent. Returns the
    /// problem that reports this, if there is no room.
    func charged(to work: WorkBudget, for client: WorkClient?) -> Response {
        guard case .bytes(let bytes) = body, bytes.count > WorkBudget.smallestBytes else {
            return self
        }
        var response = self
        // Growing may have doubled the memory.
        if bytes.capacity - bytes.count > bytes.count / 8 {
            var fitted: [UInt8] = []
            fitted.reserveCapacity(bytes.count)
            fitted += bytes
            response.body = .bytes(fitted)
        }
        guard charge == nil else { return response }
        response.charge = work.charge(bytes.count, for: client)
        return response.charge == nil ? .problem(.tooMuchMemory) : response
    }

    static func noContent(fields: [(String, String)] = []) -> Response {
        Response(status: 204, fields: fields)
    }

    static func problem(_ problem: Problem) -> Response {
        Response(
            status: problem.status,
            fields: problem.fields.map { ($0.name, $0.value) } + [
                ("Content-Type", "application/problem+json")
            ],
            body: .bytes(problem.body), code: problem.code)
    }

    /// To `OPTIONS`, and to a method that the path does not have (RFC 9110 §9.3.7, §15.5.6).
    static func methods(
        _ methods: [String], _ request: Request, _ origins: AllowedOrigins
    ) -> Response {
        let allow = methods.joined(separator: ", ")
        guard request.head.method == .options else {
            return .problem(
                Problem(
                    405, "method_not_allowed", "this path supports the methods \(allow)",
                    fields: [("Allow", allow)]))
        }
        let preflight = origins.preflight(origins.index(of: request.head), methods: allow)
        return .noContent(fields: [("Allow", allow)] + preflight)
    }

    static func endedStream(_ problem: Problem) -> Response {
        Response(status: 200, body: .endedStream(problem))
    }

    /// Only this client can use the response, and only now. The default.
    static let isNotKept = ("Cache-Control", "no-store")

    /// A cache may keep the response, and revalidates it each time.
    static let isValidated = ("Cache-Control", "no-cache")

    static let streamHead = Response(status: 200, body: .streamHead)
}
