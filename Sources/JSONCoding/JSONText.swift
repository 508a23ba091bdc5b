/// The encoding of text in JSON: RFC 8259 §7.
enum JSONText {
    /// Appends `text` in quotes. Only `"`, `\` and control characters are escaped.
    static func append(_ text: String, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        appendEscaped(text, to: &out)
        out.append(UInt8(ascii: "\""))
    }

    static func append(_ value: Bool, to out: inout [UInt8]) {
        out.append(contentsOf: (value ? "true" : "false").utf8)
    }

    static func append<Value: FixedWidthInteger>(_ value: Value, to out: inout [UInt8]) {
        if value < 0 { out.append(UInt8(ascii: "-")) }
        // The digits are produced in reverse and then reversed in place.
        var rest = value.magnitude
        let start = out.count
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            out.append(0x30 + UInt8(truncatingIfNeeded: digit))
            rest = quotient
        } while rest != 0
        var (low, high) = (start, out.count - 1)
        while low < high {
            out.swapAt(low, high)
            low += 1
            high -= 1
        }
    }

    private static func appendEscaped(_ text: String, to out: inout [UInt8]) {
        // Why copy first: almost no text needs an escape, and a copy is one memcpy.
        let start = out.count
        out.append(contentsOf: text.utf8)
        var place = unsafe out.withUnsafeBytes { unsafe firstSuspect(in: $0, from: start) }
        while place < out.count {
            if mustBeEscaped(out[place]) { return escapeTail(from: place, of: &out) }
            place += 1
        }
    }

    /// An index before which no byte has to be escaped.
    ///
    /// Looks at eight bytes at a time. Subtracting a space sets the high bit of a byte that is less
    /// than a space. The exclusive or turns a quote or a backslash into zero; subtracting one then
    /// sets its high bit. A borrow may also mark the byte after such a byte. That is harmless,
    /// because the caller checks each byte from the returned index on.
    private static func firstSuspect(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var place = start
        while place + 8 <= bytes.count {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            let quotes = word ^ ones &* 0x22
            let backslashes = word ^ ones &* 0x5C
            let borrows = (word &- ones &* 0x20) | (quotes &- ones) | (backslashes &- ones)
            guard borrows & ~word & (ones &* 0x80) == 0 else { break }
            place += 8
        }
        return place
    }

    private static func escapeTail(from place: Int, of out: inout [UInt8]) {
        let tail = Array(out[place...])
        out.removeSubrange(place...)
        for byte in tail {
            if mustBeEscaped(byte) {
                appendEscape(of: byte, to: &out)
            } else {
                out.append(byte)
            }
        }
    }

    private static func mustBeEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func appendEscape(of byte: UInt8, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: out.append(UInt8(ascii: "b"))
        case 0x09: out.append(UInt8(ascii: "t"))
        case 0x0A: out.append(UInt8(ascii: "n"))
        case 0x0C: out.append(UInt8(ascii: "f"))
        case 0x0D: out.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): out.append(byte)
        default:
            out.append(contentsOf: "u00".utf8)
            out.append(hexDigit(byte >> 4))
            out.append(hexDigit(byte & 0xF))
        }
    }

    /// The text between two quotes. Bytes that no scanner has validated may give a meaningless one.
    static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        var place = bytes.startIndex
        while place < bytes.endIndex {
            if bytes[place] == UInt8(ascii: "\\") {
                place = appendUnescaped(bytes, at: place + 1, to: &out)
            } else {
                out.append(bytes[place])
                place += 1
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// `place` is the byte after the backslash; returns the position after the escape.
    private static func appendUnescaped(
        _ bytes: ArraySlice<UInt8>, at place: Int, to out: inout [UInt8]
    ) -> Int {
        guard place < bytes.endIndex else { return place }
        switch bytes[place] {
        case UInt8(ascii: "b"): out.append(0x08)
        case UInt8(ascii: "t"): out.append(0x09)
        case UInt8(ascii: "n"): out.append(0x0A)
        case UInt8(ascii: "f"): out.append(0x0C)
        case UInt8(ascii: "r"): out.append(0x0D)
        case UInt8(ascii: "u"):
            let unit = codeUnit(bytes, at: place + 1)
            guard unit & 0xFC00 == 0xD800 else {
                append(unit, to: &out)
                return place + 5
            }
            let low = codeUnit(bytes, at: place + 7)
            append(0x10000 + ((unit & 0x3FF) << 10) + (low & 0x3FF), to: &out)
            return place + 11
        case let byte: out.append(byte)
        }
        return place + 1
    }

    private static func codeUnit(_ bytes: ArraySlice<UInt8>, at place: Int) -> UInt32 {
        guard place + 4 <= bytes.endIndex else { return 0xFFFD }
        return bytes[place..<place + 4].reduce(0) { $0 << 4 | (hexValue($1) ?? 0) }
    }

    private static func append(_ scalar: UInt32, to out: inout [UInt8]) {
        // The scanner refuses lone surrogates, so scanned text never needs the fallback.
        out.append(contentsOf: UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}") ?? .init())
    }

    static func isEqual(_ bytes: [UInt8], from start: Int, to end: Int, _ text: String) -> Bool {
        let utf8 = text.utf8
        guard end - start == utf8.count else { return false }
        // Measured: a span takes 4 instructions a byte, the view's iterator 45.
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            let span = utf8.span
            for place in span.indices where bytes[start + place] != span[place] { return false }
            return true
        }
        return bytes[start..<end].elementsEqual(utf8)
    }

    /// At most 200 bytes of received text, for a message.
    static func shortened(_ text: String) -> String {
        guard text.utf8.count > 200 else { return text }
        var start = String(decoding: text.utf8.prefix(200), as: UTF8.self)
        // Removes an incomplete character.
        while start.last == "\u{FFFD}" { start.removeLast() }
        return start + "…"
    }

    static func hexValue(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte) - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte) - 0x57
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte) - 0x37
        default: nil
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x57 + value
    }
}
