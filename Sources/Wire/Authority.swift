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

    /// The host of a valid authority, without its port; an IPv6 address with its brackets.
    static func host(of range: Range<Int>, in bytes: Span<UInt8>) -> Range<Int> {
        guard range.isEmpty || bytes[range.lowerBound] != 0x5b else {
            // The authority is valid, so there is a closing bracket.
            return range.lowerBound..<((bytes.first(0x5d, in: range) ?? range.upperBound - 1) + 1)
        }
        return range.lowerBound..<(bytes.first(0x3a, in: range) ?? range.upperBound)
    }

    /// Whether the host of a valid authority is an IP address: `[`, an IPv6 address and `]`, or
    /// four decimal numbers of at most 255 (RFC 3986 §3.2.2).
    static func isAddress(_ host: Range<Int>, in bytes: Span<UInt8>) -> Bool {
        if host.count > 2, bytes[host.lowerBound] == 0x5b {
            return bytes[host.lowerBound + 1] | 0x20 != 0x76
        }
        // The longest is 255.255.255.255.
        guard host.count <= 15 else { return false }
        var (dots, digits, value) = (0, 0, 0)
        for index in host {
            let byte = bytes[index]
            if byte == 0x2e {
                guard digits > 0 else { return false }
                (dots, digits, value) = (dots + 1, 0, 0)
            } else {
                guard ByteClass.isDigit(byte), digits < 3 else { return false }
                (digits, value) = (digits + 1, value * 10 + Int(byte &- 0x30))
                guard value <= 255 else { return false }
            }
        }
        return dots == 3 && digits > 0
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
