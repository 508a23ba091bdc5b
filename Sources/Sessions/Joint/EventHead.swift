/// The beginning of an event on its session's own stream, as ``EventFramer`` makes it: the size of
/// its chunk, and the lines `event` and `id`.
///
/// A stream of several sessions has a head of its own in place of it (``JointIDs``). The bytes
/// after the head are the same.
struct EventHead {
    /// The event's name; nil: the block only sets the id.
    let name: ArraySlice<UInt8>?
    /// The id; nil: the event has none, because it is the `reset` before a snapshot.
    let position: ArraySlice<UInt8>?
    let byteCount: Int
    /// The number of bytes after the head, including the line end of the chunk.
    let restCount: Int

    private static let lineEnd = UInt8(ascii: "\n")
    private static let event = Array("event: ".utf8)
    private static let id = Array("id: ".utf8)
    static let chunkEndCount = 2

    /// Reads the head from bytes that begin with a chunk. Nil if they do not have all of it yet.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard let sizeEnd = bytes.firstIndex(of: Self.lineEnd),
            let firstEnd = bytes[(sizeEnd + 1)...].firstIndex(of: Self.lineEnd)
        else { return nil }
        let first = bytes[(sizeEnd + 1)..<firstEnd]
        var last = firstEnd
        if first.starts(with: Self.id) {
            (name, position) = (nil, first.dropFirst(Self.id.count))
        } else {
            let rest = bytes[(firstEnd + 1)...]
            guard let secondEnd = rest.firstIndex(of: Self.lineEnd) else { return nil }
            let second = rest[..<secondEnd]
            let hasID = second.starts(with: Self.id)
            name = first.dropFirst(Self.event.count)
            position = hasID ? second.dropFirst(Self.id.count) : nil
            if hasID { last = secondEnd }
        }
        byteCount = last + 1 - bytes.startIndex
        restCount = Self.size(bytes[..<sizeEnd].dropLast()) - (last - sizeEnd) + Self.chunkEndCount
    }

    /// - Parameter digits: hexadecimal, as ``ChunkEncoder`` writes them.
    private static func size(_ digits: ArraySlice<UInt8>) -> Int {
        digits.reduce(0) { $0 << 4 | Int($1 - ($1 < UInt8(ascii: "a") ? 0x30 : 0x57)) }
    }
}
