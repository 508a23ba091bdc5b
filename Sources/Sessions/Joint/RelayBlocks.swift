/// Reads the blocks that a relay sends. Each block is one chunk of the session's stream
/// (``EventFramer``). The bytes may arrive cut anywhere.
struct RelayBlocks {
    private var bytes: [UInt8] = []
    /// The first byte after the blocks that were read.
    private var start = 0

    private static let lineEnd = UInt8(ascii: "\n")

    /// Whether every block that has begun to arrive is complete and was read.
    var isBetweenBlocks: Bool { start == bytes.count }

    mutating func append(_ more: [UInt8]) {
        bytes.removeFirst(start)
        start = 0
        bytes += more
    }

    /// The next whole block; nil if it has not arrived completely.
    mutating func next() -> RelayBlock? {
        guard let end = bytes[start...].firstIndex(of: Self.lineEnd),
            let size = Int(String(decoding: bytes[start..<(end - 1)], as: UTF8.self), radix: 16),
            bytes.count >= end + 1 + size + 2
        else { return nil }
        defer { start = end + 1 + size + 2 }
        return RelayBlock(bytes[(end + 1)..<(end + 1 + size)])
    }
}

/// The fields of a block of a session's stream.
package struct RelayBlock {
    package private(set) var event: String?
    package private(set) var id: String?
    package private(set) var data: [UInt8]?

    fileprivate init(_ bytes: ArraySlice<UInt8>) {
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            if let value = Self.value(of: "data: ", in: line) { data = Array(value) }
            if let value = Self.value(of: "id: ", in: line) {
                id = String(decoding: value, as: UTF8.self)
            }
            if let value = Self.value(of: "event: ", in: line) {
                event = String(decoding: value, as: UTF8.self)
            }
        }
    }

    private static func value(of field: String, in line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        line.starts(with: field.utf8) ? line.dropFirst(field.utf8.count) : nil
    }
}
