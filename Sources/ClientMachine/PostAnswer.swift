/// The meaning of an answer to a post.
enum PostAnswer: Equatable {
    case applied(Receipt)
    /// The request is refused; its parts are not judged.
    case refused(ProblemDetails, StreamPosition?)
    /// Something in the body is unfit: a batch is narrowed down (O5).
    case unfit(ProblemDetails)
    /// The key was used with another body: two programs share an outbox.
    case keyReused(ProblemDetails)
    case unauthorized(ProblemDetails)
    case unknownSession(ProblemDetails)
    case ended(ProblemDetails)
    /// The same request is still carried out by the server.
    case running(Duration)
    /// Nobody knows whether it is applied, or it is not yet: the same again.
    case again(why: String, Duration)

    init(_ response: ClientResponse) {
        guard response.status == 200 || response.status == 202 else {
            self.init(response, response.problem)
            return
        }
        if let receipt = Receipt(body: response.body) {
            self = .applied(receipt)
        } else {
            self = .again(why: "the answer is no receipt", .zero)
        }
    }

    private init(_ response: ClientResponse, _ problem: ProblemDetails) {
        switch response.status {
        case 401: self = .unauthorized(problem)
        case 404 where problem.code == "unknown_session": self = .unknownSession(problem)
        case 409 where problem.code == "request_running": self = .running(response.retryAfter)
        case 410: self = .ended(problem)
        case 412: self = .refused(problem, response.position)
        case 422 where problem.code == "key_reused": self = .keyReused(problem)
        case 400, 413, 415, 422: self = .unfit(problem)
        // 2xx and 1xx that the service does not send come from something between.
        case ..<300, 408, 425, 429, 500, 502..<505, 506...:
            self = .again(why: "status \(response.status): \(problem.detail)", response.retryAfter)
        // 3xx too: an action is not carried to an address that nobody chose.
        default: self = .refused(problem, nil)
        }
    }
}
