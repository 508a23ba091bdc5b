internal import Wire

/// The origins of web pages that may use the server in a browser: CORS
/// (https://fetch.spec.whatwg.org/#http-cors-protocol).
///
/// Design: a request's origin is looked up once, and known by its index from then on, so that the
/// heads of responses can be encoded beforehand for each origin.
struct AllowedOrigins: Sendable {
    /// 0: without an allowed origin; n: with the n-th one.
    typealias Index = UInt8

    private let origins: [[UInt8]]
    private let permitsAll: Bool
    /// The fields of every response to a request, by the index of its origin.
    let fields: [[(String, String)]]

    /// - Parameter origins: As browsers send them; `*` for all. At most ``Setting/listLimit``.
    /// - Parameter hasCookies: Whether responses depend on a cookie.
    init(_ origins: [String], hasCookies: Bool = false) {
        permitsAll = origins.contains("*")
        let listed = permitsAll ? [] : origins.prefix(Setting.listLimit)
        self.origins = listed.map { Array($0.utf8) }
        // Without `Vary` a cache would give one origin, or one client, the response for another.
        let names = (listed.isEmpty ? [] : ["Origin"]) + (hasCookies ? ["Cookie"] : [])
        let varies = names.isEmpty ? [] : [("Vary", names.joined(separator: ", "))]
        let exposed = ("Access-Control-Expose-Headers", Self.exposedHeaders)
        let other = permitsAll ? [("Access-Control-Allow-Origin", "*"), exposed] + varies : varies
        fields =
            [other]
            + listed.map { origin in
                [
                    ("Access-Control-Allow-Origin", origin),
                    ("Access-Control-Allow-Credentials", "true"), exposed,
                ] + varies
            }
    }

    /// The present indices by the indices of earlier origins; 0 for one that is not
    /// allowed any more.
    func indices(replacing earlier: AllowedOrigins) -> [Index] {
        [0]
            + earlier.origins.map { origin in
                origins.firstIndex(of: origin).map { Index($0 + 1) } ?? 0
            }
    }

    func index(of head: borrowing RequestHead) -> Index {
        guard !origins.isEmpty, let range = head.range(of: .origin) else { return 0 }
        let found = origins.firstIndex { head.matches(range, ignoringCase: $0) }
        return found.map { Index($0 + 1) } ?? 0
    }

    /// The fields of the response to a preflight request, in addition to the others.
    ///
    /// - Parameter methods: The methods of the path, separated by commas.
    func preflight(_ index: Index, methods: String) -> [(String, String)] {
        guard permitsAll || index > 0 else { return [] }
        return [
            ("Access-Control-Allow-Methods", methods),
            ("Access-Control-Allow-Headers", Self.allowedHeaders),
            ("Access-Control-Max-Age", "600"),
        ]
    }

    /// Fields that a script may send.
    private static let allowedHeaders = """
        Authorization, Content-Type, Last-Event-ID, If-Match, If-None-Match, Idempotency-Key, \
        Idempotency-Key-Done, traceparent
        """
    /// Fields that a script may read.
    private static let exposedHeaders = """
        ETag, Location, Durability, Retry-After, Allow, traceparent, Idempotency-Replayed, \
        WWW-Authenticate, RateLimit, RateLimit-Policy
        """
}
