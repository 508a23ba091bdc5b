/// The extensions of one chunk, parsed as they arrive (RFC 9112 §7.1.1).
///
/// ```
/// chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )
/// ```
///
/// Design: one byte of state. Extensions are dropped: the service knows none.
struct ChunkExtension: Sendable {
    private enum Part: UInt8 {
        /// After the semicolon.
        case nameStart
        case name
        case spaceBehindName
        /// After the equals sign.
        case valueStart
        case value
        case quoted
        case escape
        case quoteEnd
        case spaceBehindValue
    }

    /// A reader starts after the first semicolon.
    private var part = Part.nameStart

    /// Whether the line may end here.
    var isComplete: Bool {
        switch part {
        case .name, .value, .quoteEnd: true
        case .nameStart, .spaceBehindName, .valueStart, .quoted, .escape, .spaceBehindValue: false
        }
    }

    /// Reads one byte that is not the line's end; returns false if it is not allowed here.
    mutating func accepts(_ byte: UInt8) -> Bool {
        guard let next = next(byte) else { return false }
        part = next
        return true
    }

    private func next(_ byte: UInt8) -> Part? {
        let isSpace = byte == 0x20 || byte == 0x09
        switch part {
        case .nameStart:
            return isSpace ? .nameStart : ByteClass.token.contains(byte) ? .name : nil
        case .name:
            if ByteClass.token.contains(byte) { return .name }
            return isSpace ? .spaceBehindName : afterName(byte)
        case .spaceBehindName:
            return isSpace ? .spaceBehindName : afterName(byte)
        case .valueStart:
            if byte == 0x22 { return .quoted }
            return isSpace ? .valueStart : ByteClass.token.contains(byte) ? .value : nil
        case .value where ByteClass.token.contains(byte):
            return .value
        case .quoted:
            // RFC 9110 §5.6.4.
            if byte == 0x22 { return .quoteEnd }
            if byte == 0x5c { return .escape }
            return ByteClass.isFieldValue(byte) ? .quoted : nil
        case .escape:
            return ByteClass.isFieldValue(byte) ? .quoted : nil
        case .value, .quoteEnd, .spaceBehindValue:
            return isSpace ? .spaceBehindValue : byte == 0x3b ? .nameStart : nil
        }
    }

    private func afterName(_ byte: UInt8) -> Part? {
        switch byte {
        case 0x3d: .valueStart
        case 0x3b: .nameStart
        default: nil
        }
    }
}
