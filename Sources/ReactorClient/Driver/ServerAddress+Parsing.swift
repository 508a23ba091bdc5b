internal import ClientMachine

extension ServerAddress {
    /// Reads the address of a server. Throws `badAddress` with a sentence that names the fault.
    init(parsing text: String) throws(ClientFailure) {
        func fail(_ fault: String) -> ClientFailure {
            .badAddress("\"\(text)\" is not a server address: \(fault)")
        }
        guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw fail("it has a space, or a character that is not ASCII")
        }
        guard let colon = text.firstRange(of: "://") else {
            throw fail("it begins with neither http:// nor https://")
        }
        let scheme = text[..<colon.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw fail("\(scheme) is neither http nor https")
        }
        if text.contains("?") { throw fail("it has a query") }
        if text.contains("#") { throw fail("it has a fragment") }
        let rest = text[colon.upperBound...]
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let authority = rest[..<slash]
        if authority.contains("@") {
            throw fail("it has a user; give credentials in the configuration")
        }
        if let fault = Self.fault(inAuthority: authority) { throw fail(fault) }
        var path = rest[slash...]
        while path.last == "/" { path.removeLast() }
        self.init(origin: scheme + "://" + authority.lowercased(), path: String(path))
    }

    private static func fault(inAuthority authority: Substring) -> String? {
        var host = authority
        if authority.first == "[" {
            guard let end = authority.firstIndex(of: "]") else { return "a ] is missing" }
            host = authority[...end]
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
        }
        if host.isEmpty || host == "[]" { return "it has no host" }
        let rest = authority.dropFirst(host.count)
        if rest.isEmpty { return nil }
        guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0,
            rest.dropFirst().utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return "\"\(rest)\" is not a port" }
        return nil
    }
}
