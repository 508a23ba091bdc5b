/// Host names in settings.
enum HostName {
    /// A name in lower case, without a final dot; nil for text that is no host name: with a port,
    /// with other characters than letters, digits, `-`, `_` and `.`, or longer than 253 bytes
    /// (RFC 1035 §2.3.4). `*` stands for every name.
    static func parse(_ text: Substring) -> String? {
        if text == "*" { return "*" }
        let name = text.last == "." ? text.dropLast() : text
        let isValid = name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
        guard isValid, 1...253 ~= name.utf8.count, name.first != ".", name.last != "." else {
            return nil
        }
        return name.lowercased()
    }
}
