#if PostgreSQL || Complete
    internal import CPostgres
#endif

/// The address of a database, as libpq reads it.
///
/// Design: only libpq's own parser knows where a password is. If it splits a text differently from
/// what the author meant, it shows parts of the password in its messages. So such a text is
/// refused, with a message that shows none of it.
enum ConnectionText {
    static let unreadable =
        "the address cannot be read: write the special characters of the user and the password as "
        + "%40 (@), %2F (/), %3A (:), %3F (?), %25 (%)"

    /// Whether libpq reads the text as its author meant it.
    static func isReadable(_ text: String) -> Bool {
        guard let scheme = text.firstRange(of: "://") else {
            // Without `=`, libpq takes it for the name of a database.
            return !text.contains("=") || isParsed(text)
        }
        let rest = text[scheme.upperBound...]
        let question = rest.firstIndex(of: "?") ?? rest.endIndex
        let slash = rest[..<question].firstIndex(of: "/") ?? question
        // The user and the password end at the only `@`, which precedes the path.
        let signs = rest[..<question].indices.filter { rest[$0] == "@" }
        guard signs.count <= 1, signs.first.map({ $0 < slash }) ?? true else { return false }
        // An `@` after the `?` is in the value of a parameter, or in a password with a `?`.
        let areParameters = rest[question...].dropFirst().split(separator: "&").allSatisfy { item in
            let name = item.prefix { $0 != "=" }
            return name.endIndex < item.endIndex && name.allSatisfy { $0.isLetter || $0 == "_" }
        }
        return areParameters && isParsed(text)
    }

    /// A port that is no number is part of a password that no `@` follows.
    private static func isParsed(_ text: String) -> Bool {
        guard let options = parse(text) else { return false }
        return (options["port"] ?? "").utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2C }
    }

    /// The address with `***` in place of each secret, as libpq reads it; nil if it cannot be read.
    ///
    /// - Parameter text: It may have parameters that are this program's own.
    static func masked(_ text: String) -> String? {
        parse(PostgresAddress.withoutOwn(text)).flatMap { masked(text, $0) }
    }

    /// - Parameter options: those that libpq has found in the text.
    static func masked(_ text: String, _ options: [String: String]) -> String? {
        guard let scheme = text.firstRange(of: "://") else { return nil }
        let rest = text[scheme.upperBound...]
        let question = rest.firstIndex(of: "?") ?? rest.endIndex
        var masked = String(text[..<scheme.upperBound])
        let hierarchy = rest[..<question]
        if let sign = hierarchy.firstIndex(of: "@"),
            let colon = hierarchy[..<sign].firstIndex(of: ":")
        {
            masked += hierarchy[...colon] + mask + hierarchy[sign...]
        } else {
            masked += hierarchy
        }
        guard question < rest.endIndex else { return isFree(masked, of: options) ? masked : nil }
        let items = rest[question...].dropFirst().split(
            separator: "&", omittingEmptySubsequences: false)
        masked +=
            "?"
            + items.map { item in
                let name = item.prefix { $0 != "=" }
                return secrets.contains(name.lowercased()) ? name + "=" + mask : String(item)
            }.joined(separator: "&")
        return isFree(masked, of: options) ? masked : nil
    }

    private static let mask = "***"
    /// The last three are of libpq 18.
    private static let secrets: Set<String> = [
        "password", "sslpassword", "passfile", "oauth_client_secret", "scram_client_key",
        "scram_server_key",
    ]

    /// Whether the text has none of the secrets that libpq found. A short one may occur by chance.
    private static func isFree(_ text: String, of options: [String: String]) -> Bool {
        secrets.allSatisfy { name in
            guard let secret = options[name], secret.utf8.count > 3 else { return true }
            return !text.contains(secret)
        }
    }

    /// The options that a text sets; nil if libpq cannot read it. Parameters that are this
    /// program's own are unknown to libpq, and have been removed.
    static func parse(_ text: String) -> [String: String]? {
        var message: UnsafeMutablePointer<CChar>?
        let found = unsafe PQconninfoParse(text, &message)
        if let message = unsafe message { unsafe PQfreemem(message) }
        guard unsafe found != nil else { return nil }
        return unsafe options(found)
    }

    /// Frees the list.
    static func options(_ list: UnsafeMutablePointer<PQconninfoOption>?) -> [String: String] {
        guard let list = unsafe list else { return [:] }
        defer { unsafe PQconninfoFree(list) }
        var (options, next) = ([String: String](), unsafe list)
        while let name = unsafe next.pointee.keyword {
            if let value = unsafe next.pointee.val {
                options[unsafe String(cString: name)] = unsafe String(cString: value)
            }
            unsafe next += 1
        }
        return options
    }
}
