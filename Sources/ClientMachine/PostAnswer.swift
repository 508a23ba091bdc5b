/// The meaning of an answer to a post.
enum PostAnswer: Equatable {
    case applied(Receipt)
    /// The request is refused; its parts are not judged.
    case refused(ProblemDetails, StreamPosition?)
    /// Something in the body is unfit: a batch is narrowed down (O5).
    case unfit(ProblemDetails)
    /// The body is too large to be read: the service has not looked for the key.
    case unread(ProblemDetails)
    /// A question found no answer: nothing was applied under the key.
    case unknownKey(ProblemDetails)
    /// The key was used with another body: two programs share an outbox.
    case keyReused(ProblemDetails)
    case unknownSession(ProblemDetails)
    case ended(ProblemDetails)
    /// The same request is still carried out by the server.
    case running(Duration)
    /// The body came too slowly: nothing of this attempt is applied.
    case tooSlow(ProblemDetails)
    /// It is unknown whether the request is applied, or it is not applied yet: send the same again.
    /// Every answer that is not the service's own is one of these (C5).
    case again(why: String, Duration)

    init(_ response: ClientResponse) {
        switch response.status {
        case 200, 202:
            if let receipt = Receipt(body: response.body) {
                self = .applied(receipt)
            } else {
                self = .again(why: "the answer is not a receipt of the service", .zero)
            }
        case 400..<500:
            if let refusal = response.refusal(of: .post) {
                self.init(response, refusal)
            } else {
                fallthrough
            }
        default: self = .again(why: response.reasonToWait, response.retryAfter)
        }
    }

    private init(_ response: ClientResponse, _ problem: ProblemDetails) {
        switch response.status {
        case 404 where problem.code == "unknown_session": self = .unknownSession(problem)
        case 408 where problem.code == "body_too_slow": self = .tooSlow(problem)
        case 409 where problem.code == "request_running": self = .running(response.retryAfter)
        case 410: self = .ended(problem)
        case 412: self = .refused(problem, response.position)
        case 422 where problem.code == "key_reused": self = .keyReused(problem)
        case 422 where problem.code == "empty_batch": self = .unknownKey(problem)
        case 413: self = .unread(problem)
        case 400, 422: self = .unfit(problem)
        default: self = .refused(problem, nil)
        }
    }
}
