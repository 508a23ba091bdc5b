/// The field names that this service uses; other fields are kept as bytes only.
///
/// Names are compared without regard to case (RFC 9110 §5.1).
package enum KnownField: UInt8, Sendable, CaseIterable {
    case host
    case accept
    case contentType
    case contentLength
    case transferEncoding
    case connection
    case expect
    case lastEventID
    case ifMatch
    case ifNoneMatch
    case idempotencyKey
    case idempotencyKeyDone
    case authorization
    case traceparent
    case tracestate
    case origin
    case userAgent
    case acceptEncoding
    case acceptLanguage
    case cookie
    case xForwardedFor
    case xForwardedProto
    case xRequestID
    case contentEncoding
    case cacheControl
    case te
    case upgrade
    case trailer
    case prefer
    case date
    case location
    case etag
    case allow
    case retryAfter
    case accessControlRequestMethod
    case accessControlRequestHeaders

    /// The name in its usual spelling, for responses and logs.
    package var name: String {
        switch self {
        case .host: "Host"
        case .accept: "Accept"
        case .contentType: "Content-Type"
        case .contentLength: "Content-Length"
        case .transferEncoding: "Transfer-Encoding"
        case .connection: "Connection"
        case .expect: "Expect"
        case .lastEventID: "Last-Event-ID"
        case .ifMatch: "If-Match"
        case .ifNoneMatch: "If-None-Match"
        case .idempotencyKey: "Idempotency-Key"
        case .idempotencyKeyDone: "Idempotency-Key-Done"
        case .authorization: "Authorization"
        case .traceparent: "traceparent"
        case .tracestate: "tracestate"
        case .origin: "Origin"
        case .userAgent: "User-Agent"
        case .acceptEncoding: "Accept-Encoding"
        case .acceptLanguage: "Accept-Language"
        case .cookie: "Cookie"
        case .xForwardedFor: "X-Forwarded-For"
        case .xForwardedProto: "X-Forwarded-Proto"
        case .xRequestID: "X-Request-ID"
        case .contentEncoding: "Content-Encoding"
        case .cacheControl: "Cache-Control"
        case .te: "TE"
        case .upgrade: "Upgrade"
        case .trailer: "Trailer"
        case .prefer: "Prefer"
        case .date: "Date"
        case .location: "Location"
        case .etag: "ETag"
        case .allow: "Allow"
        case .retryAfter: "Retry-After"
        case .accessControlRequestMethod: "Access-Control-Request-Method"
        case .accessControlRequestHeaders: "Access-Control-Request-Headers"
        }
    }
}
