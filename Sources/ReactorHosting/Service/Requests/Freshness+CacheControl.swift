internal import Sessions

extension Freshness {
    /// The wish of a request (RFC 9111 §5.2.1). Directives that cannot be read are ignored.
    ///
    /// - Parameter field: The value of `Cache-Control`.
    init(cacheControl field: String?) {
        self = .preferred
        for directive in field?.split(separator: ",") ?? [] {
            let parts = directive.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false
            ).map { part in
                part.filter { $0 != " " && $0 != "\t" }
            }
            switch (parts.first?.lowercased(), parts.dropFirst().first) {
            case ("no-cache", _):
                // It forbids what max-stale permits.
                self = .confirmed
                return
            case ("max-stale", nil): self = .stale(seconds: nil)
            case ("max-stale", let text?):
                if let seconds = UInt64(text) { self = .stale(seconds: seconds) }
            default: break
            }
        }
    }
}
