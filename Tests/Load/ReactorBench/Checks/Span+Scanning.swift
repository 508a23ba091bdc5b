// Scans received bytes. Every search for a line end uses `memchr`: libc's version is vectorised,
// and a byte-by-byte loop costs more than the tested server spends on a delivery.
#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension Span<UInt8> {
    /// The offset of the first `byte` at or after `start`, or nil.
    @inline(__always)
    func firstOffset(of byte: UInt8, from start: Int) -> Int? {
        precondition(start >= 0 && start <= count, "a scan starts inside its bytes")
        return unsafe withUnsafeBytes { (raw: UnsafeRawBufferPointer) -> Int? in
            guard let base = raw.baseAddress else { return nil }
            guard let hit = unsafe memchr(base + start, Int32(byte), raw.count - start) else {
                return nil
            }
            return unsafe UnsafeRawPointer(hit) - base
        }
    }

    /// Whether the bytes of `range` are exactly `text`.
    @inline(__always)
    func equals(_ text: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        return hasPrefix(text, at: range.lowerBound)
    }

    /// Whether `text` is at `offset`.
    @inline(__always)
    func hasPrefix(_ text: StaticString, at offset: Int) -> Bool {
        let length = text.utf8CodeUnitCount
        guard offset >= 0, offset + length <= count else { return false }
        return unsafe withUnsafeBytes { (raw: UnsafeRawBufferPointer) -> Bool in
            guard let base = raw.baseAddress else { return length == 0 }
            return unsafe memcmp(base + offset, text.utf8Start, length) == 0
        }
    }

    /// Whether `text`, which is in lower case, is at `offset`, ignoring case.
    func hasPrefixIgnoringCase(_ text: StaticString, at offset: Int) -> Bool {
        let length = text.utf8CodeUnitCount
        guard offset >= 0, offset + length <= count else { return false }
        return text.withUTF8Buffer { wanted in
            for index in 0..<length {
                var byte = self[offset + index]
                if byte >= 0x41, byte <= 0x5A { byte |= 0x20 }
                if unsafe byte != wanted[index] { return false }
            }
            return true
        }
    }

    /// The decimal number that fills `range`; nil when it is empty, too long, or has another byte.
    @inline(__always)
    func decimal(in range: Range<Int>) -> UInt64? {
        guard !range.isEmpty, range.count <= 19 else { return nil }
        var value: UInt64 = 0
        for index in range {
            let digit = self[index] &- 0x30
            guard digit <= 9 else { return nil }
            value = value &* 10 &+ UInt64(digit)
        }
        return value
    }

    /// The lower-case hexadecimal number that fills `range` (at most 16 digits), or nil.
    @inline(__always)
    func hexadecimal(in range: Range<Int>) -> UInt64? {
        guard !range.isEmpty, range.count <= 16 else { return nil }
        var value: UInt64 = 0
        for index in range {
            let byte = self[index]
            let digit: UInt8
            if byte &- 0x30 <= 9 {
                digit = byte &- 0x30
            } else if byte &- 0x61 <= 5 {
                digit = byte &- 0x61 &+ 10
            } else {
                return nil
            }
            value = value << 4 | UInt64(digit)
        }
        return value
    }

    /// The bytes of `range` as text, for error messages.
    func text(in range: Range<Int>) -> String {
        var bytes: [UInt8] = []
        for index in range { bytes.append(self[index]) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Appends the bytes of `range`.
    mutating func append(_ bytes: Span<UInt8>, in range: Range<Int>) {
        reserveCapacity(count + range.count)
        unsafe bytes.extracting(range).withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Appends a number in decimal digits without making a `String`.
    mutating func appendDecimal(_ value: UInt64) {
        var divisor: UInt64 = 1
        while value / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(0x30 + UInt8(value / divisor % 10))
            divisor /= 10
        }
    }

    /// Appends the low `digits` hexadecimal digits of `value`, in lower case.
    mutating func appendHexadecimal(_ value: UInt64, digits: Int) {
        var shift = (digits - 1) * 4
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: value >> UInt64(shift)) & 0xF
            append(digit < 10 ? 0x30 + digit : 0x61 + digit - 10)
            shift -= 4
        }
    }
}

extension Span<UInt8> {
    /// Whether `count` bytes at `position` equal those of `other` at `start`.
    @inline(__always)
    func equals(_ other: Span<UInt8>, at position: Int, from start: Int, count: Int) -> Bool {
        precondition(position + count <= self.count && start + count <= other.count)
        return unsafe withUnsafeBytes { mine in
            unsafe other.withUnsafeBytes { theirs in
                guard let left = mine.baseAddress, let right = theirs.baseAddress else {
                    return count == 0
                }
                return unsafe memcmp(left + position, right + start, count) == 0
            }
        }
    }
}
