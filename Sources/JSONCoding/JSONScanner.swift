// RFC 8259, strictly: no comments, no trailing commas, no byte order mark, no lone surrogates, only
// well-formed UTF-8 (Unicode §3.9, table 3-7). One pass finds all nodes; afterwards the bytes need
// no further check.

/// Parses one JSON text into nodes, or reports the offset of the first error.
struct JSONScanner {
    /// The maximum nesting of containers. Precedent: Foundation stops at 512, Go at 10 000; reading
    /// recurses. Measured: 128 nested enums decode and encode on a stack of 512 KiB, unoptimised.
    static let depthLimit = 128

    let bytes: [UInt8]
    private(set) var nodes: [JSONNode] = []
    /// The keys of the widest objects, by node: to find equal ones, and for look-ups.
    private(set) var tables: [Int: JSONKeyTable] = [:]
    private var offset = 0
    /// Whether an object with two members of one name is refused.
    private let refusesDoubles: Bool
    private let depthLimit: Int
    private let pauses: JSONPauses

    init(
        _ bytes: [UInt8], refusesDoubles: Bool = false, depthLimit: Int = JSONScanner.depthLimit,
        pauses: JSONPauses = .none
    ) {
        self.bytes = bytes
        self.refusesDoubles = refusesDoubles
        self.depthLimit = depthLimit
        self.pauses = pauses
        nodes.reserveCapacity(min(bytes.count / 8 + 4, 1024))
    }

    /// Reads exactly one value; only white space may surround it.
    mutating func scan() throws(JSONRefusal) {
        guard bytes.count < UInt32.max else { throw malformed("the text is longer than 4 GiB") }
        skipSpace()
        try value(parent: 0, ordinal: 0, depth: 0)
        skipSpace()
        if offset < bytes.count { throw malformed("unexpected bytes after the value") }
    }

    private mutating func value(
        parent: UInt32, ordinal: UInt32, depth: Int
    ) throws(JSONRefusal) {
        guard offset < bytes.count else { throw malformed("expected a value, found the end") }
        switch bytes[offset] {
        case UInt8(ascii: "\""): try string(parent, ordinal)
        case UInt8(ascii: "{"): try object(parent, ordinal, depth)
        case UInt8(ascii: "["): try array(parent, ordinal, depth)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number(parent, ordinal)
        case UInt8(ascii: "t"): try literal("true", .true, parent, ordinal)
        case UInt8(ascii: "f"): try literal("false", .false, parent, ordinal)
        case UInt8(ascii: "n"): try literal("null", .null, parent, ordinal)
        default: throw malformed("expected a value")
        }
    }

    // MARK: Containers

    private mutating func object(
        _ parent: UInt32, _ ordinal: UInt32, _ depth: Int
    ) throws(JSONRefusal) {
        let index = try open(.object, parent, ordinal, depth)
        skipSpace()
        var count: UInt32 = 0
        if !consume(UInt8(ascii: "}")) {
            repeat {
                skipSpace()
                guard peek() == UInt8(ascii: "\"") else { throw malformed("a key is not a string") }
                try string(UInt32(index), count)
                skipSpace()
                guard consume(UInt8(ascii: ":")) else {
                    throw malformed("expected \":\" after a key")
                }
                skipSpace()
                try value(parent: UInt32(index), ordinal: count, depth: depth + 1)
                count += 1
                skipSpace()
            } while consume(UInt8(ascii: ","))
            guard consume(UInt8(ascii: "}")) else { throw malformed("an object is not closed") }
        }
        close(index, count)
        guard refusesDoubles, count > 1 else { return }
        var table: JSONKeyTable?
        if let key = JSONDoubles.find(in: index, of: nodes, bytes, table: &table, pauses) {
            throw .malformed(
                offset: Int(nodes[key].start) - 1,
                reason: "the member \"\(JSONDoubles.name(of: nodes[key], bytes))\" occurs twice")
        }
        if let table, count > JSONKeyIndex.keptThreshold { tables[index] = table }
    }

    private mutating func array(
        _ parent: UInt32, _ ordinal: UInt32, _ depth: Int
    ) throws(JSONRefusal) {
        let index = try open(.array, parent, ordinal, depth)
        skipSpace()
        var count: UInt32 = 0
        if !consume(UInt8(ascii: "]")) {
            repeat {
                skipSpace()
                try value(parent: UInt32(index), ordinal: count, depth: depth + 1)
                count += 1
                skipSpace()
            } while consume(UInt8(ascii: ","))
            guard consume(UInt8(ascii: "]")) else { throw malformed("an array is not closed") }
        }
        close(index, count)
    }

    private mutating func open(
        _ kind: JSONNode.Kind, _ parent: UInt32, _ ordinal: UInt32, _ depth: Int
    ) throws(JSONRefusal) -> Int {
        guard depth < depthLimit else {
            throw malformed("more than \(depthLimit) nested arrays and objects")
        }
        append(kind, start: offset, end: offset, parent, ordinal)
        offset += 1
        return nodes.count - 1
    }

    private mutating func close(_ index: Int, _ count: UInt32) {
        nodes[index].end = UInt32(offset)
        nodes[index].next = UInt32(nodes.count)
        nodes[index].count = count
    }

    // MARK: Strings

    private mutating func string(_ parent: UInt32, _ ordinal: UInt32) throws(JSONRefusal) {
        offset += 1
        let start = offset
        var hasEscape = false
        while true {
            skipPlain()
            guard offset < bytes.count else { throw malformed("a string is not closed") }
            let byte = bytes[offset]
            if byte == UInt8(ascii: "\"") {
                append(.string, isComplex: hasEscape, start: start, end: offset, parent, ordinal)
                offset += 1
                return
            } else if byte == UInt8(ascii: "\\") {
                hasEscape = true
                try escape()
            } else if byte < 0x20 {
                throw malformed("a control character in a string is not escaped")
            } else {
                try sequence(byte)
            }
        }
    }

    /// Skips to the next byte of a string that needs handling: a quote, an escape, a control
    /// character, or a byte beyond ASCII.
    private mutating func skipPlain() {
        var place = offset
        while place < bytes.count {
            let byte = bytes[place]
            if byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "\"")
                || byte == UInt8(ascii: "\\")
            {
                break
            }
            place += 1
        }
        offset = place
    }

    private mutating func escape() throws(JSONRefusal) {
        offset += 1
        switch peek() {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            offset += 1
        case UInt8(ascii: "u"):
            offset += 1
            let unit = try fourDigits()
            if unit & 0xFC00 == 0xDC00 { throw malformed("a low surrogate without its high one") }
            guard unit & 0xFC00 == 0xD800 else { return }
            guard consume(UInt8(ascii: "\\")), consume(UInt8(ascii: "u")),
                try fourDigits() & 0xFC00 == 0xDC00
            else { throw malformed("a high surrogate without its low one") }
        default: throw malformed("an unknown escape")
        }
    }

    private mutating func fourDigits() throws(JSONRefusal) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = peek(), let digit = JSONText.hexValue(byte) else {
                throw malformed("\\u is not followed by four hexadecimal digits")
            }
            unit = unit << 4 | digit
            offset += 1
        }
        return unit
    }

    /// Reads a character that is not ASCII; `first` is its first byte. Refuses overlong forms,
    /// surrogates, and values above U+10FFFF.
    private mutating func sequence(_ first: UInt8) throws(JSONRefusal) {
        let second: ClosedRange<UInt8>
        let length: Int
        switch first {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xE1...0xEC, 0xEE...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw malformed("invalid UTF-8")
        }
        guard offset + length <= bytes.count, second.contains(bytes[offset + 1]) else {
            throw malformed("invalid UTF-8")
        }
        for place in 2..<max(length, 2) where bytes[offset + place] & 0xC0 != 0x80 {
            throw malformed("invalid UTF-8")
        }
        offset += length
    }

    // MARK: Numbers and literals

    private mutating func number(_ parent: UInt32, _ ordinal: UInt32) throws(JSONRefusal) {
        let start = offset
        var isComplex = false
        _ = consume(UInt8(ascii: "-"))
        if !consume(UInt8(ascii: "0")) { try digits() }
        if consume(UInt8(ascii: ".")) {
            isComplex = true
            try digits()
        }
        if consume(UInt8(ascii: "e")) || consume(UInt8(ascii: "E")) {
            isComplex = true
            if !consume(UInt8(ascii: "+")) { _ = consume(UInt8(ascii: "-")) }
            try digits()
        }
        append(.number, isComplex: isComplex, start: start, end: offset, parent, ordinal)
    }

    private mutating func digits() throws(JSONRefusal) {
        let start = offset
        while offset < bytes.count, bytes[offset] &- 0x30 < 10 { offset += 1 }
        if offset == start { throw malformed("a number has a missing digit") }
    }

    private mutating func literal(
        _ text: StaticString, _ kind: JSONNode.Kind, _ parent: UInt32, _ ordinal: UInt32
    ) throws(JSONRefusal) {
        let start = offset
        for byte in text.description.utf8 {
            guard consume(byte) else { throw malformed("expected a value") }
        }
        append(kind, start: start, end: offset, parent, ordinal)
    }

    // MARK: Bytes

    private mutating func append(
        _ kind: JSONNode.Kind, isComplex: Bool = false, start: Int, end: Int,
        _ parent: UInt32, _ ordinal: UInt32
    ) {
        nodes.append(
            JSONNode(
                kind: kind, isComplex: isComplex,
                start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end),
                next: UInt32(truncatingIfNeeded: nodes.count + 1), parent: parent,
                ordinal: ordinal))
        pauses.passed(nodes.count)
    }

    private mutating func skipSpace() {
        while offset < bytes.count {
            switch bytes[offset] {
            case 0x20, 0x09, 0x0A, 0x0D: offset += 1
            default: return
            }
        }
    }

    private func peek() -> UInt8? {
        offset < bytes.count ? bytes[offset] : nil
    }

    private mutating func consume(_ byte: UInt8) -> Bool {
        guard offset < bytes.count, bytes[offset] == byte else { return false }
        offset += 1
        return true
    }

    private func malformed(_ reason: String) -> JSONRefusal {
        .malformed(offset: offset, reason: reason)
    }
}
