/// Percent-encoding (RFC 3986 §2.1).
package enum PercentEncoding {
    /// The text of a part of a query, with its escapes decoded, and `+` as a space as in a form
    /// (URL standard, application/x-www-form-urlencoded).
    ///
    /// - Parameter number: That of the query's item, from 1, for a refusal.
    package static func decoded(
        _ bytes: [UInt8], _ range: Range<Int>, ofItem number: Int
    ) throws(RequestRefusal) -> String {
        let span = bytes.span
        var plain: [UInt8] = []
        plain.reserveCapacity(range.count)
        var index = range.lowerBound
        while index < range.upperBound {
            let byte = span[index]
            index += 1
            if byte == 0x25 {
                guard index + 2 <= range.upperBound,
                    let high = ByteClass.hexValue(span[index]),
                    let low = ByteClass.hexValue(span[index + 1])
                else { throw .malformedEscape(inItem: number) }
                plain.append(high &<< 4 | low)
                index += 2
            } else {
                plain.append(byte == 0x2b ? 0x20 : byte)
            }
        }
        guard let text = String(validating: plain, as: UTF8.self) else {
            throw .malformedText(inItem: number)
        }
        return text
    }

    /// The text of a query's value.
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
