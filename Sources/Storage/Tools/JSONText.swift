// RFC 8259, as much of it as it takes to put a text that is JSON into a line of JSON unchanged, and
// to get it out again byte for byte: where a value ends, and whether it is one.

/// A reader of JSON that keeps nothing but where it is.
struct JSONText {
    private let bytes: [UInt8]
    private(set) var at: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        at = 0
    }

    /// Precedent: most parsers stop at 512 or 1000; a value of the stack's would do too.
    private static let depthLimit = 512

    /// Whether these bytes are one JSON value on one line, and nothing around it.
    static func isLine(_ bytes: [UInt8]) -> Bool {
        guard !bytes.contains(where: { $0 == 0x0A || $0 == 0x0D }) else { return false }
        guard String(validating: bytes, as: UTF8.self) != nil else { return false }
        guard let first = bytes.first, first > 0x20 else { return false }
        var text = JSONText(bytes)
        return text.skipValue() && text.at == bytes.count
    }

    /// The members of an object by name, each value as it stands there; nil if it is none.
    static func members(_ line: [UInt8]) -> [String: [UInt8]]? {
        var text = JSONText(line)
        var found: [String: [UInt8]] = [:]
        let isObject = text.eachMember { name, value in found[name] = Array(line[value]) }
        text.skipSpace()
        return isObject && text.at == line.count ? found : nil
    }

    /// The elements of an array, each as it stands there; nil if it is none.
    static func elements(_ array: [UInt8]) -> [[UInt8]]? {
        var text = JSONText(array)
        var found: [[UInt8]] = []
        guard text.take(0x5B) else { return nil }
        if text.take(0x5D) { return found }
        repeat {
            text.skipSpace()
            let start = text.at
            guard text.skipValue() else { return nil }
            found.append(Array(array[start..<text.at]))
        } while text.take(0x2C)
        return text.take(0x5D) && text.at == array.count ? found : nil
    }

    // MARK: Moving on

    mutating func skipSpace() {
        while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) { at += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard at < bytes.count, bytes[at] == byte else { return false }
        at += 1
        return true
    }

    /// Moves behind the next value; false if there is none.
    mutating func skipValue(depth: Int = 0) -> Bool {
        skipSpace()
        guard at < bytes.count, depth < Self.depthLimit else { return false }
        switch bytes[at] {
        case 0x7B: return eachMember(depth: depth) { _, _ in }
        case 0x5B: return skipArray(depth: depth)
        case 0x22: return skipString()
        case 0x74: return skipWord("true")
        case 0x66: return skipWord("false")
        case 0x6E: return skipWord("null")
        default: return skipNumber()
        }
    }

    private mutating func eachMember(
        depth: Int = 0, _ act: (String, Range<Int>) -> Void
    ) -> Bool {
        guard take(0x7B) else { return false }
        if take(0x7D) { return true }
        repeat {
            skipSpace()
            let nameStart = at
            guard skipString(), let name = Self.string(Array(bytes[nameStart..<at])), take(0x3A)
            else { return false }
            skipSpace()
            let start = at
            guard skipValue(depth: depth + 1) else { return false }
            act(name, start..<at)
        } while take(0x2C)
        return take(0x7D)
    }

    private mutating func skipArray(depth: Int) -> Bool {
        at += 1
        if take(0x5D) { return true }
        repeat {
            guard skipValue(depth: depth + 1) else { return false }
        } while take(0x2C)
        return take(0x5D)
    }

    private mutating func skipString() -> Bool {
        guard at < bytes.count, bytes[at] == 0x22 else { return false }
        at += 1
        while at < bytes.count {
            switch bytes[at] {
            case 0x22:
                at += 1
                return true
            case 0x5C: at += 2
            case ..<0x20: return false
            default: at += 1
            }
        }
        return false
    }

    private mutating func skipWord(_ word: StaticString) -> Bool {
        let wanted = Array("\(word)".utf8)
        guard bytes[at...].starts(with: wanted) else { return false }
        at += wanted.count
        return true
    }

    // §6: number = [ minus ] int [ frac ] [ exp ]
    private mutating func skipNumber() -> Bool {
        if bytes[at] == 0x2D { at += 1 }
        let start = at
        guard skipDigits() else { return false }
        guard bytes[start] != 0x30 || at == start + 1 else { return false }
        if at < bytes.count, bytes[at] == 0x2E {
            at += 1
            guard skipDigits() else { return false }
        }
        if at < bytes.count, bytes[at] | 0x20 == 0x65 {
            at += 1
            if at < bytes.count, bytes[at] == 0x2B || bytes[at] == 0x2D { at += 1 }
            guard skipDigits() else { return false }
        }
        return true
    }

    private mutating func skipDigits() -> Bool {
        let start = at
        while at < bytes.count, (0x30...0x39).contains(bytes[at]) { at += 1 }
        return at > start
    }

    // MARK: Strings

    /// Appends a string with its quotes.
    static func append(_ text: String, to line: inout [UInt8]) {
        line.append(0x22)
        for byte in text.utf8 {
            switch byte {
            case 0x22, 0x5C: line += [0x5C, byte]
            case ..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                line += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: line.append(byte)
            }
        }
        line.append(0x22)
    }

    /// What ``append(_:to:)`` wrote, and `\/` and the like too; nil if it is no string.
    static func string(_ quoted: [UInt8]) -> String? {
        guard quoted.count >= 2, quoted.first == 0x22, quoted.last == 0x22 else { return nil }
        var text: [UInt8] = []
        var rest = quoted.dropFirst().dropLast()
        while let byte = rest.popFirst() {
            guard byte == 0x5C else {
                text.append(byte)
                continue
            }
            guard let escaped = rest.popFirst(), let plain = unescape(escaped, &rest) else {
                return nil
            }
            text += plain
        }
        return String(validating: text, as: UTF8.self)
    }

    private static func unescape(_ byte: UInt8, _ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        switch byte {
        case 0x22, 0x5C, 0x2F: return [byte]
        case 0x62: return [0x08]
        case 0x66: return [0x0C]
        case 0x6E: return [0x0A]
        case 0x72: return [0x0D]
        case 0x74: return [0x09]
        case 0x75:
            let digits = String(decoding: rest.prefix(4), as: UTF8.self)
            rest = rest.dropFirst(4)
            // Halves of pairs are none of what this program writes.
            guard let value = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(value)
            else { return nil }
            return Array(String(scalar).utf8)
        default: return nil
        }
    }
}
