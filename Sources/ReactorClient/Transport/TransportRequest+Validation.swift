extension TransportRequest {
    /// - Throws: `badRequest` for what would be another request on the wire than the one that is
    ///   meant, such as a field with a line break in it.
    func validate() throws(TransportFailure) {
        guard Self.isToken(method) else {
            throw TransportFailure(.badRequest, "the method is not a word")
        }
        guard Self.isOfWeb(url) else {
            throw TransportFailure(.badRequest, "the address is neither http nor https")
        }
        guard url.hasOnly({ (0x21...0x7e).contains($0) }) else {
            throw TransportFailure(
                .badRequest, "the address has characters that are not visible ASCII")
        }
        for field in fields {
            guard Self.isToken(field.name) else {
                throw TransportFailure(.badRequest, "the name of a field is not a word")
            }
            guard field.value.hasOnly({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7f) }) else {
                throw TransportFailure(
                    .badRequest, "the value of the field \(field.name) has control characters")
            }
        }
    }

    /// Whether the request says how long its body is; RFC 9110 §8.6 wants it for methods whose
    /// requests usually have one, also if it is empty.
    var hasBody: Bool { !body.isEmpty || !["GET", "HEAD", "DELETE"].contains(method) }

    // RFC 3986 §3.1: in any case.
    private static func isOfWeb(_ url: String) -> Bool {
        if url.hasPrefix("http://") || url.hasPrefix("https://") { return true }
        let start = url.utf8.prefix { $0 != UInt8(ascii: ":") }
        return ["http", "https"].contains { scheme in
            start.count == scheme.utf8.count
                && zip(start, scheme.utf8).allSatisfy { $0 | 0x20 == $1 }
        } && url.utf8[start.endIndex...].starts(with: "://".utf8)
    }

    // RFC 9110 §5.6.2.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.hasOnly { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"),
                    UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
                    UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
                    true
                default: false
                }
            }
    }
}

extension String {
    /// The bytes of a `UTF8View` are read one by one, which takes five times as long.
    fileprivate func hasOnly(_ isAllowed: (UInt8) -> Bool) -> Bool {
        let all = unsafe utf8.withContiguousStorageIfAvailable { bytes in
            unsafe bytes.allSatisfy(isAllowed)
        }
        return all ?? utf8.allSatisfy(isAllowed)
    }
}
