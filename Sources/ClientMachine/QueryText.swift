/// Percent-encoding of a query's value (RFC 3986 §2.1).
package enum QueryText {
    package static func encoded(_ text: String) -> String {
        text.utf8.reduce(into: "") { out, byte in
            if unreserved.contains(byte) {
                out.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                out += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    // RFC 3986 §2.3.
    private static let unreserved = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
}
