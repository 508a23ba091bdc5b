/// Percent-encoding (RFC 3986 §2.1).
package enum PercentEncoding {
    /// The text of a range of a target, with its escapes decoded.
    ///
    /// - Parameter plusIsSpace: whether `+` is a space, as in the query of a form (URL standard,
    ///   application/x-www-form-urlencoded); never so in a path.
    /// - Throws: `malformedEscape`, or `malformedText` if the result is not UTF-8.
    package static func decoded(
        _ bytes: [UInt8], _ range: Range<Int>, plusIsSpace: Bool = false, part: TargetPart = .path
    ) throws(TargetRefusal) -> String {
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
                else { throw .malformedEscape(part) }
                plain.append(high &<< 4 | low)
                index += 2
            } else {
                plain.append(plusIsSpace && byte == 0x2b ? 0x20 : byte)
            }
        }
        guard let text = String(validating: plain, as: UTF8.self) else {
            throw .malformedText(part)
        }
        return text
    }
}
