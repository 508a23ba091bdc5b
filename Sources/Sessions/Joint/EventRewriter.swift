internal import Wire

/// Rewrites the events of one session for a stream of several (``JointIDs``).
///
/// Its input is the session's own stream in chunks, one for each block, as ``EventFramer`` makes
/// it, cut anywhere. Only the lines `event` and `id` change, which are the first ones; the others
/// are copied. It holds no bytes but the first two lines, which are short: only a `reset` has its
/// data in the second one, because it has no id.
struct EventRewriter {
    private enum State {
        /// The line before a chunk; the size so far.
        case size(Int)
        /// The lines that change are not complete. The number of bytes of the chunk that follow.
        case fields(rest: Int)
        /// The number of bytes of the chunk that follow.
        case content(rest: Int)
        /// The number of bytes of the line end after the chunk that follow.
        case end(Int)
    }

    private var state = State.size(0)
    /// The beginning of the block, up to the end of its line `id`.
    private var fields: [UInt8] = []

    private static let lineEnd = UInt8(ascii: "\n")
    private static let eventCount = 7
    private static let id = Array("id: ".utf8)

    /// Whether the output ends with a whole block: those of other sessions may follow.
    private(set) var isBetweenEvents = true

    /// Rewrites bytes up to the end of a block.
    ///
    /// - Returns: the number of bytes read.
    mutating func rewrite(
        _ bytes: Span<UInt8>, of index: Int, _ ids: inout JointIDs, to out: inout [UInt8]
    ) -> Int {
        var offset = 0
        while offset < bytes.count {
            let byte = bytes[offset]
            switch state {
            case .size(let size):
                isBetweenEvents = false
                offset += 1
                state = byte == Self.lineEnd ? .fields(rest: size) : .size(Self.size(size, byte))
            case .fields(let rest):
                fields.append(byte)
                offset += 1
                state = .fields(rest: rest - 1)
                if byte == Self.lineEnd, areFieldsComplete {
                    appendFields(of: index, &ids, to: &out)
                    state = .content(rest: rest - 1)
                }
            case .content(let rest):
                let count = min(rest, bytes.count - offset)
                out.append(copying: bytes.extracting(offset..<(offset + count)))
                offset += count
                state = count < rest ? .content(rest: rest - count) : .end(2)
            case .end(let rest):
                offset += 1
                state = .end(rest - 1)
                guard rest == 1 else { continue }
                state = .size(0)
                isBetweenEvents = true
                return offset
            }
        }
        return offset
    }

    /// Whether the bytes, from between two blocks on, contain a whole one.
    static func hasBlock(_ bytes: Span<UInt8>) -> Bool {
        var size = 0
        for offset in bytes.indices {
            guard bytes[offset] == lineEnd else {
                size = self.size(size, bytes[offset])
                continue
            }
            return bytes.count - offset > size + 2
        }
        return false
    }

    /// The size after one more character of its line.
    private static func size(_ size: Int, _ character: UInt8) -> Int {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): size << 4 | Int(character - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"):
            size << 4 | Int(character - UInt8(ascii: "a") + 10)
        default: size
        }
    }

    /// A block begins with `event` and `id`, or with `event` and `data`, or has an id only.
    private var areFieldsComplete: Bool {
        fields[0] == UInt8(ascii: "i") || fields.dropLast().contains(Self.lineEnd)
    }

    private mutating func appendFields(
        of index: Int, _ ids: inout JointIDs, to out: inout [UInt8]
    ) {
        defer { fields.removeAll(keepingCapacity: true) }
        let lines = fields.dropLast()
        guard let nameEnd = lines.firstIndex(of: Self.lineEnd) else {
            return ids.appendFields(
                of: index, name: nil, position: lines.dropFirst(Self.id.count), to: &out)
        }
        let name = lines[Self.eventCount..<nameEnd]
        let second = lines[(nameEnd + 1)...]
        guard second.starts(with: Self.id) else {
            // The client's position stays the same until the snapshot, which follows.
            ids.appendName(of: index, name, to: &out)
            out.append(contentsOf: second)
            return out.append(Self.lineEnd)
        }
        ids.appendFields(
            of: index, name: name, position: second.dropFirst(Self.id.count), to: &out)
    }
}
