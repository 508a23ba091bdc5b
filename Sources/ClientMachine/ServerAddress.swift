/// The address below which a server's paths begin: an origin and a path.
package struct ServerAddress: Equatable, Sendable {
    /// `https://api.example.com`, without a slash at its end.
    package let origin: String
    /// Empty, or begins with a slash and has none at its end.
    package let path: String

    package init(origin: String, path: String = "") {
        self.origin = origin
        self.path = path
    }

    /// The target of a redirect below this address; nil elsewhere: no credential may go there (C5).
    func target(of location: String) -> String? {
        var rest = Substring(location)
        if rest.hasPrefix(origin) { rest = rest.dropFirst(origin.count) }
        guard rest.hasPrefix(path + "/"), !rest.hasPrefix("//"),
            rest.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        let target = rest.dropFirst(path.count)
        return target.hasPrefix("//") ? nil : String(target)
    }
}
