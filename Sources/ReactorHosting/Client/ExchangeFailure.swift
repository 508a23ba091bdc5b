internal import Sockets
internal import Wire

/// Why a request has no response, or none that is a success.
enum ExchangeFailure: Error, CustomStringConvertible {
    /// There is no connection, so nothing was sent.
    case unreachable(SystemFailure)
    /// The response did not arrive, or not completely; the request may have.
    case lost(SystemFailure?)
    /// The response cannot be used; with a sentence.
    case unusable(String)
    /// The server refuses the request.
    ///
    /// - Parameter retryAfter: The seconds after which it may be sent again; nil if it may not.
    case refused(ProblemReading, retryAfter: Int?)
    /// The response is not the service's own.
    case foreign(status: Int, type: String)

    /// Of a response without a use for its sender.
    init(_ head: ResponseHead, _ body: [UInt8]) {
        if head.mediaType == "application/problem+json", let problem = ProblemReading(body) {
            self = .refused(problem, retryAfter: head[.retryAfter].flatMap { Int($0) })
        } else {
            self = .foreign(status: head.status, type: head.mediaType)
        }
    }

    var description: String {
        switch self {
        case .unreachable(let failure): return "\(failure)"
        case .lost(let failure?): return "the response did not arrive: \(failure)"
        case .lost(nil): return "the response did not arrive: the connection was closed"
        case .unusable(let sentence): return sentence
        case .refused(let problem, _):
            let refusal = problem.refusal.map { " \($0.code):" } ?? ""
            let place = problem.pointer.map { " (at \($0))" } ?? ""
            return "\(problem.status) \(problem.code):\(refusal) \(problem.detail)\(place)"
        case .foreign(let status, let type):
            return "\(status): the response is not one of reactor-server; its type is \(type)"
        }
    }

    /// sysexits(3): 69 is `EX_UNAVAILABLE`, for no response at all.
    var exitStatus: Int32 {
        switch self {
        case .unreachable, .lost: 69
        case .unusable, .refused, .foreign: 1
        }
    }

    /// Whether a reader that was cut off should not connect again. Only the service can say so: any
    /// other response is one of a proxy.
    var endsStream: Bool {
        switch self {
        case .unreachable, .lost, .foreign: false
        case .refused(let problem, _): ![408, 429].contains(problem.status) && problem.status < 500
        case .unusable: true
        }
    }
}

extension ResponseHead {
    /// In lower case, without parameters.
    var mediaType: String {
        guard let type = self[.contentType] else { return "unknown" }
        return type.prefix { $0 != ";" && $0 != " " }.lowercased()
    }
}
