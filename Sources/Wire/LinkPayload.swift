/// Reads the parts of a payload in their order; bytes and texts have their length before them.
///
/// Memory grows with the bytes that are there and never with a declared length.
struct LinkPayload {
    private let kind: LinkFrame.Kind
    private let bytes: [UInt8]
    private var offset = 0

    init(_ frame: LinkFrame, is kind: LinkFrame.Kind) throws(LinkFault) {
        guard frame.kind == kind else { throw .unexpected(frame.kind) }
        self.kind = kind
        bytes = frame.payload
    }

    mutating func number<Number: FixedWidthInteger>(
        _ type: Number.Type = Number.self
    ) throws(LinkFault) -> Number {
        var number: Number = 0
        for byte in try bytes(count: Number.bitWidth / 8) {
            number =
                Number(truncatingIfNeeded: UInt64(truncatingIfNeeded: number) &<< 8)
                | Number(truncatingIfNeeded: byte)
        }
        return number
    }

    mutating func flag() throws(LinkFault) -> Bool {
        switch try number(UInt8.self) {
        case 0: false
        case 1: true
        default: throw .malformed(kind)
        }
    }

    mutating func bytes(count: Int) throws(LinkFault) -> ArraySlice<UInt8> {
        guard count <= bytes.count - offset else { throw .malformed(kind) }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }

    mutating func sizedBytes() throws(LinkFault) -> ArraySlice<UInt8> {
        let count: UInt32 = try number()
        return try bytes(count: Int(count))
    }

    mutating func text() throws(LinkFault) -> String {
        guard let text = String(validating: try sizedBytes(), as: UTF8.self) else {
            throw .malformed(kind)
        }
        return text
    }

    mutating func texts() throws(LinkFault) -> [String] {
        var texts: [String] = []
        // Each takes four bytes at least.
        for _ in 0..<(try number(UInt32.self)) { texts.append(try text()) }
        return texts
    }

    mutating func optionalTexts() throws(LinkFault) -> [String]? {
        try flag() ? try texts() : nil
    }

    mutating func rest() -> [UInt8] {
        defer { offset = bytes.count }
        return Array(bytes[offset...])
    }

    /// Bytes after the last part are refused: two nodes would not read the same.
    func finish() throws(LinkFault) {
        guard offset == bytes.count else { throw .malformed(kind) }
    }
}

/// Writes the parts that ``LinkPayload`` reads.
struct LinkPayloadWriter {
    fileprivate(set) var bytes: [UInt8]

    init(_ bytes: consuming [UInt8]) { self.bytes = bytes }

    mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number &>> Number(shift)))
        }
    }

    mutating func append(flag: Bool) { bytes.append(flag ? 1 : 0) }

    mutating func append(sized part: some Collection<UInt8>) {
        append(UInt32(part.count))
        bytes.append(contentsOf: part)
    }

    mutating func append(_ text: String) { append(sized: text.utf8) }

    mutating func append(_ texts: [String]) {
        append(UInt32(texts.count))
        for text in texts { append(text) }
    }

    mutating func append(optional texts: [String]?) {
        append(flag: texts != nil)
        if let texts { append(texts) }
    }

    mutating func append(rest: some Collection<UInt8>) { bytes.append(contentsOf: rest) }
}
