// Forms that a server must not send, though most clients accept them.

/// The rules for a response's head that do not affect where its body ends.
enum HeadRules {
    /// RFC 9112 §4, §5 and §6.1; RFC 9110 §5.5 for values.
    static func check(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(ResponseFault) {
        guard range.count >= 13, bytes[range.lowerBound + 8] == 0x20,
            bytes[range.lowerBound + 12] == 0x20
        else { throw .badHead("no status line") }
        var lengths = 0
        var isChunked = false
        var start = range.lowerBound
        var isFirst = true
        while start < range.upperBound, let end = bytes.firstOffset(of: 0x0A, from: start) {
            guard end > start, bytes[end - 1] == 0x0D else {
                throw .badHead("a line ends without CR")
            }
            if !isFirst, end - 1 > start {
                try field(bytes, start..<end - 1)
                if bytes.hasPrefixIgnoringCase("content-length:", at: start) { lengths += 1 }
                if bytes.hasPrefixIgnoringCase("transfer-encoding:", at: start) {
                    isChunked = true
                }
            }
            isFirst = false
            start = end + 1
        }
        guard lengths <= 1 else { throw .badHead("two lengths") }
        guard lengths == 0 || !isChunked else { throw .badHead("a length and chunks") }
    }

    private static func field(
        _ bytes: Span<UInt8>, _ line: Range<Int>
    ) throws(ResponseFault) {
        guard let colon = bytes.firstOffset(of: 0x3A, from: line.lowerBound),
            colon < line.upperBound, colon > line.lowerBound
        else { throw .badHead("a line without a name") }
        for index in line.lowerBound..<colon where !isToken(bytes[index]) {
            throw .badHead("the name \(bytes.text(in: line.lowerBound..<colon))")
        }
        for index in colon + 1..<line.upperBound {
            let byte = bytes[index]
            guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else {
                throw .badHead("a control character in a value")
            }
        }
    }

    /// RFC 9110 §5.6.2, restricted to the characters of names in use.
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F, 0x2E: true
        default: false
        }
    }
}
