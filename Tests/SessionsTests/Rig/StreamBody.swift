/// The body of a stream as a reader gets it, in chunks (RFC 9112 §7.1) or not; the last chunk may
/// be cut off.
struct StreamBody {
    /// The content of all chunks.
    private(set) var content: [UInt8] = []
    /// The content of each complete chunk; empty for a body without chunks.
    private(set) var chunks: [String] = []
    let isChunked: Bool

    init(_ bytes: [UInt8]) {
        // No line of an event stream consists of a number alone.
        isChunked = Self.size(bytes[...]) != nil
        guard isChunked else {
            content = bytes
            return
        }
        var rest = bytes[...]
        while let size = Self.size(rest), let line = rest.firstIndex(of: 0x0a) {
            let chunk = rest[(line + 1)...].prefix(size)
            content += chunk
            rest = rest[(line + 1)...].dropFirst(size)
            guard chunk.count == size, rest.starts(with: [0x0d, 0x0a]) else { return }
            chunks.append(String(decoding: chunk, as: UTF8.self))
            rest = rest.dropFirst(2)
        }
    }

    /// The number on the first line.
    private static func size(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard let end = bytes.firstIndex(of: 0x0a), end > bytes.startIndex, bytes[end - 1] == 0x0d
        else { return nil }
        let digits = String(decoding: bytes[..<(end - 1)], as: UTF8.self)
        guard digits.allSatisfy({ $0.isHexDigit && !$0.isUppercase }) else { return nil }
        return Int(digits, radix: 16)
    }
}
