/// Sets of allowed bytes: the character classes of RFC 9110 and RFC 3986.
///
/// Design: a class is 128 bits in two words, bit n for byte n; bytes from 128 on are in no class.
/// The comments name the sets; a test builds the numbers again from the RFC's text.
struct ByteClass {
    private let low: UInt64
    private let high: UInt64

    /// RFC 9110 §5.6.2: tchar, the characters of methods, field names and codings.
    static let token = ByteClass(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe)

    /// RFC 3986 §3.2.2: reg-name, that is unreserved, sub-delims and `%`.
    static let hostName = ByteClass(low: 0x2bff_7ff2_0000_0000, high: 0x47ff_fffe_87ff_fffe)

    /// The bytes of a request target: visible ASCII without `"`, `#`, `<`, `>` and `\`.
    ///
    /// Why wider than RFC 3986 §2: browsers send `[ ] ^ { | }` and the grave accent unescaped in a
    /// query (URL standard, query percent-encode set), so refusing them would refuse pages without
    /// a fault; none of them affects routing or framing.
    static let target = ByteClass(low: 0xafff_fff2_0000_0000, high: 0x7fff_ffff_efff_ffff)

    private init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let bits = byte & 0x40 == 0 ? low : high
        return byte < 0x80 && (bits &>> UInt64(byte & 0x3f)) & 1 == 1
    }

    /// RFC 9110 §5.5: field-vchar, SP and HTAB; obs-text (0x80…) is opaque data and allowed.
    @inline(__always)
    static func isFieldValue(_ byte: UInt8) -> Bool {
        (byte >= 0x20 && byte != 0x7f) || byte == 0x09
    }

    /// RFC 9110 §5.6.3: optional white space is SP and HTAB.
    @inline(__always)
    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09
    }

    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10
    }

    @inline(__always)
    static func hexValue(_ byte: UInt8) -> UInt8? {
        if isDigit(byte) { return byte &- 0x30 }
        let letter = (byte | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }
}
