internal import Wire

/// The cookie in which a browser keeps a token: `__Host-reactor` (ADR-0033).
///
/// The browser sends it over TLS only, to the host that set it alone, only for requests of pages of
/// the same site, and shows it to no script. What remains is a page of another host of the same
/// site, so each request that may change something has to name its origin.
enum TokenCookie {
    private static let name = "__Host-reactor"
    /// Browsers ignore a cookie whose name and value are longer.
    private static let limitBytes = 4_096
    private static let attributes = "Path=/; Secure; HttpOnly; SameSite=Strict"

    /// The range of the token in the head; nil without the cookie (RFC 6265 §5.4). Throws 401 if
    /// its value is no token, or if another server of the site has added one.
    static func find(in head: RequestHead) throws(Problem) -> Range<Int>? {
        var found: Range<Int>?
        // HTTP/2 splits the field, and not every proxy joins it again (RFC 9113 §8.2.3).
        for line in head.values(of: .cookie) {
            for pair in head.bytes[line].split(separator: UInt8(ascii: ";")) {
                guard let value = value(of: pair) else { continue }
                guard found == nil else { throw .cookieInvalid("occurs twice") }
                found = value
            }
        }
        guard let found else { return nil }
        guard !found.isEmpty, found.count <= limitBytes,
            head.bytes[found].allSatisfy(isValid)
        else { throw .cookieInvalid("is not a token") }
        return found
    }

    private static let prefix = Array("\(name)=".utf8)

    private static func value(of pair: ArraySlice<UInt8>) -> Range<Int>? {
        let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        var pair = pair.drop(while: isSpace)
        while let last = pair.last, isSpace(last) { pair.removeLast() }
        guard pair.starts(with: prefix) else { return nil }
        return pair.dropFirst(prefix.count).indices
    }

    private static func isValid(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte)
            && ![0x22, 0x2C, 0x3B, 0x5C].contains(byte)
    }

    /// The field that sets the cookie; nil for a token that does not fit.
    ///
    /// - Parameter seconds: The time until the token expires.
    static func field(
        setting token: ArraySlice<UInt8>, seconds: Int64
    ) -> (name: String, value: String)? {
        guard name.utf8.count + token.count <= limitBytes, token.allSatisfy(isValid) else {
            return nil
        }
        let value = String(decoding: token, as: UTF8.self)
        return ("Set-Cookie", "\(name)=\(value); Max-Age=\(max(0, seconds)); \(attributes)")
    }

    static let removal = ("Set-Cookie", "\(name)=; Max-Age=0; \(attributes)")

    /// Checks the origin of a request with the cookie, unless its method changes nothing. Throws
    /// 403 unless `Origin` is the server's own or a listed one (`--allow-origin`).
    static func checkOrigin(
        of request: Request, _ origins: AllowedOrigins
    ) throws(Problem) {
        let head = request.head
        switch head.method {
        case .get, .head: return
        default: break
        }
        let lines = head.values(of: .origin)
        guard lines.count == 1, let origin = lines.first,
            isOwn(origin, head) || origins.index(of: head) > 0
        else { throw .originNotAllowed }
    }

    /// Whether it is the origin of pages of this server: `https`, and the host and port of the
    /// request. `http` only on this machine: elsewhere anyone on the way could answer as the host.
    private static func isOwn(_ origin: Range<Int>, _ head: RequestHead) -> Bool {
        guard let authority = head.range(of: .host) else { return false }
        let secure = min(origin.lowerBound + 8, origin.upperBound)
        if head.matches(origin.lowerBound..<secure, ignoringCase: "https://") {
            return equal(head, secure..<origin.upperBound, authority)
        }
        let plain = min(origin.lowerBound + 7, origin.upperBound)
        guard head.matches(origin.lowerBound..<plain, ignoringCase: "http://"),
            let host = head.host,
            ["localhost", "127.0.0.1", "[::1]"].contains(head.text(host).lowercased())
        else { return false }
        return equal(head, plain..<origin.upperBound, authority)
    }

    private static func equal(
        _ head: RequestHead, _ one: Range<Int>, _ other: Range<Int>
    ) -> Bool {
        let wanted = head.bytes[other].map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return !one.isEmpty && head.matches(one, ignoringCase: wanted)
    }
}
