/// Navigates JSON text without decoding it: for text that this module has written.
///
/// Invariant: it stays within any bytes; in text that is not JSON it finds arbitrary ranges.
enum JSONSkipper {
    /// The position after the value that starts at `place`; nil if the text ends earlier.
    static func end(ofValueAt place: Int, in bytes: [UInt8]) -> Int? {
        guard place < bytes.count else { return nil }
        switch bytes[place] {
        case UInt8(ascii: "\""): return end(ofStringAt: place, in: bytes)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return end(ofContainerAt: place, in: bytes)
        default:
            var end = place
            while end < bytes.count, !isDelimiter(bytes[end]) { end += 1 }
            return end == place ? nil : end
        }
    }

    static func end(ofStringAt place: Int, in bytes: [UInt8]) -> Int? {
        var end = place + 1
        while end < bytes.count {
            if bytes[end] == UInt8(ascii: "\"") { return end + 1 }
            end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }

    private static func end(ofContainerAt place: Int, in bytes: [UInt8]) -> Int? {
        var depth = 0
        var end = place
        while end < bytes.count {
            switch bytes[end] {
            case UInt8(ascii: "\""):
                guard let next = self.end(ofStringAt: end, in: bytes) else { return nil }
                end = next
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return end + 1 }
            default: break
            }
            end += 1
        }
        return nil
    }

    static func skipSpace(from place: Int, in bytes: [UInt8]) -> Int {
        var place = place
        while place < bytes.count, isSpace(bytes[place]) { place += 1 }
        return place
    }

    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        isSpace(byte) || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}")
            || byte == UInt8(ascii: "]") || byte == UInt8(ascii: ":")
    }
}

/// Iterates over the elements of an array, or the members of an object, in JSON text.
struct JSONChildren: Sequence, IteratorProtocol {
    struct Child {
        /// The key with its quotes; nil in an array.
        var key: Range<Int>?
        var value: Range<Int>
    }

    private let bytes: [UInt8]
    private let isObject: Bool
    private var place: Int

    init?(ofContainerAt place: Int, in bytes: [UInt8]) {
        guard place < bytes.count,
            bytes[place] == UInt8(ascii: "{") || bytes[place] == UInt8(ascii: "[")
        else { return nil }
        self.bytes = bytes
        isObject = bytes[place] == UInt8(ascii: "{")
        self.place = JSONSkipper.skipSpace(from: place + 1, in: bytes)
    }

    mutating func next() -> Child? {
        var key: Range<Int>?
        if isObject {
            guard place < bytes.count, bytes[place] == UInt8(ascii: "\""),
                let end = JSONSkipper.end(ofStringAt: place, in: bytes)
            else { return nil }
            key = place..<end
            place = JSONSkipper.skipSpace(from: end, in: bytes)
            guard place < bytes.count, bytes[place] == UInt8(ascii: ":") else { return nil }
            place = JSONSkipper.skipSpace(from: place + 1, in: bytes)
        }
        guard let end = JSONSkipper.end(ofValueAt: place, in: bytes) else { return nil }
        let value = place..<end
        place = JSONSkipper.skipSpace(from: end, in: bytes)
        if place < bytes.count, bytes[place] == UInt8(ascii: ",") {
            place = JSONSkipper.skipSpace(from: place + 1, in: bytes)
        }
        return Child(key: key, value: value)
    }
}
