/// Origins of web pages in settings.
enum WebOrigin {
    /// An origin as browsers send it (RFC 6454 §6.2): a scheme, `://`, a host and, if it is not the
    /// scheme's own, a port; in lower case, without a path. `*` stands for every page. Nil for any
    /// other text, and for `null`, which documents of all origins can have.
    static func parse(_ text: Substring) -> String? {
        if text == "*" { return "*" }
        let lower = text.lowercased()
        guard let scheme = ["https://", "http://"].first(where: lower.hasPrefix) else { return nil }
        let authority = lower.dropFirst(scheme.count)
        let (host, port) = split(authority)
        guard isHost(host) else { return nil }
        guard let port else { return lower }
        guard let number = UInt16(port), "\(number)" == port, number > 0 else { return nil }
        // A browser leaves the scheme's own port out: with it, the origin would never match.
        return number == (scheme == "https://" ? 443 : 80) ? scheme + host : lower
    }

    private static func split(_ authority: Substring) -> (host: Substring, port: Substring?) {
        guard let colon = authority.lastIndex(of: ":"), authority.last != "]" else {
            return (authority, nil)
        }
        return (authority[..<colon], authority[authority.index(after: colon)...])
    }

    private static func isHost(_ host: Substring) -> Bool {
        guard host.first == "[" else { return HostName.parse(host) != nil && host != "*" }
        return host.last == "]" && host.count > 3
            && host.dropFirst().dropLast().allSatisfy { $0 == ":" || $0 == "." || $0.isHexDigit }
    }
}
