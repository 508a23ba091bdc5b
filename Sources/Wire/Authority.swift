/// Host and port, as in the Host field and in an absolute target (RFC 9112 §3.2, RFC 3986 §3.2).
enum Authority {
    /// Whether the range is `uri-host [ ":" port ]`.
    ///
    /// An empty host is valid in a Host field: RFC 9112 §3.2 requires it of clients if the target
    /// has no authority, and clients on a Unix socket send it.
    static func isValid(_ range: Range<Int>, in bytes: Span<UInt8>) -> Bool {
        var index = range.lowerBound
        if index < range.upperBound, bytes[index] == 0x5b {
            guard let close = bytes.first(0x5d, in: range),
                isLiteral((index + 1)..<close, in: bytes)
            else { return false }
            index = close + 1
        } else {
            while index < range.upperBound, ByteClass.hostName.contains(bytes[index]) {
                if bytes[index] == 0x25 {
                    guard isEscape(at: index, before: range.upperBound, in: bytes) else {
                        return false
                    }
                }
                index += 1
            }
        }
        if index == range.upperBound { return true }
        guard bytes[index] == 0x3a else { return false }
        return isPort((index + 1)..<range.upperBound, in: bytes)
    }

    /// RFC 3986 §3.2.2: an IPv6 address, or `v` and a version for future forms. Whether an address
    /// exists is not checked: the service never connects to it.
    private static func isLiteral(_ range: Range<Int>, in bytes: Span<UInt8>) -> Bool {
        guard let first = range.first else { return false }
        let future = bytes[first] | 0x20 == 0x76
        for index in range {
            let byte = bytes[index]
            let allowed =
                future
                ? byte == 0x3a || (byte != 0x25 && ByteClass.hostName.contains(byte))
                : byte == 0x3a || byte == 0x2e || ByteClass.hexValue(byte) != nil
            guard allowed else { return false }
        }
        return true
    }

    private static func isEscape(at index: Int, before end: Int, in bytes: Span<UInt8>) -> Bool {
        index + 2 < end && ByteClass.hexValue(bytes[index + 1]) != nil
            && ByteClass.hexValue(bytes[index + 2]) != nil
    }

    /// Digits, possibly none (RFC 3986 §3.2.3), up to TCP's maximum.
    private static func isPort(_ range: Range<Int>, in bytes: Span<UInt8>) -> Bool {
        var port = 0
        for index in range {
            guard ByteClass.isDigit(bytes[index]) else { return false }
            port = port * 10 + Int(bytes[index] &- 0x30)
            guard port <= 65_535 else { return false }
        }
        return true
    }
}
