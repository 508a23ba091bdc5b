internal import DequeModule

/// A byte queue with random access: bytes are appended at the end and dropped at the front. Each
/// byte has an absolute offset that never changes.
///
/// Design: chunks, so that dropping frees memory and appending never moves bytes that are being
/// read. The bytes of one `append` are in one chunk. Chunks start small, so that a session with one
/// short event costs little, and double up to 64 KiB.
package struct ChunkedBytes {
    /// Contiguous bytes.
    struct Chunk {
        /// The offset of the chunk's first byte.
        fileprivate(set) var start: Int
        fileprivate(set) var bytes: [UInt8]

        var end: Int { start + bytes.count }
    }

    /// Invariant: consecutive: each chunk starts where the one before it ends.
    private var chunks: Deque<Chunk> = []
    /// The offset of the first kept byte.
    package private(set) var start = 0
    /// The offset after the last byte.
    package private(set) var end = 0

    private static let smallestChunkBytes = 256
    /// As many bytes or more are a chunk of their own.
    static let largestChunkBytes = 65_536

    package init() {}

    package var count: Int { end - start }

    /// The chunk that ends at `end`; an empty one if there is none.
    var newestChunk: Chunk { chunks.last ?? Chunk(start: end, bytes: []) }

    /// Appends the bytes in one piece.
    ///
    /// - Returns: their offset.
    @discardableResult
    package mutating func append(_ bytes: [UInt8]) -> Int {
        let offset = end
        guard !bytes.isEmpty else { return offset }
        if let last = chunks.last, last.bytes.count < Self.largestChunkBytes,
            last.bytes.capacity - last.bytes.count >= bytes.count
        {
            chunks[chunks.count - 1].bytes.append(contentsOf: bytes)
        } else if bytes.count >= Self.largestChunkBytes {
            // Shared, not copied.
            chunks.append(Chunk(start: offset, bytes: bytes))
        } else {
            // A small piece after a large chunk begins anew.
            let isSmall = chunks.last.map { $0.bytes.count < Self.largestChunkBytes } ?? false
            let previous =
                isSmall ? chunks[chunks.count - 1].bytes.capacity : Self.smallestChunkBytes / 2
            var chunk: [UInt8] = []
            chunk.reserveCapacity(
                max(bytes.count, min(previous * 2, Self.largestChunkBytes)))
            chunk.append(contentsOf: bytes)
            chunks.append(Chunk(start: offset, bytes: chunk))
        }
        end += bytes.count
        return offset
    }

    /// Inserts bytes before the first one; `start` becomes the offset of the first of them.
    package mutating func prepend(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        removeDropped()
        start -= bytes.count
        chunks.prepend(Chunk(start: start, bytes: bytes))
    }

    /// Drops the bytes before `offset`. A chunk is freed when its last byte is dropped.
    package mutating func drop(before offset: Int) {
        start = min(max(start, offset), end)
        while let first = chunks.first, first.end <= start {
            chunks.removeFirst()
        }
    }

    /// Drops the bytes from `offset` on.
    package mutating func drop(from offset: Int) {
        end = max(min(end, offset), start)
        while let last = chunks.last, last.end > end {
            if last.start >= end {
                chunks.removeLast()
            } else {
                chunks[chunks.count - 1].bytes.removeLast(last.end - end)
            }
        }
    }

    /// Removes dropped bytes from the first chunk, because their offsets are used again.
    private mutating func removeDropped() {
        guard let first = chunks.first, first.start < start else { return }
        if first.end <= start {
            chunks.removeFirst()
        } else {
            chunks[0].bytes.removeFirst(start - first.start)
            chunks[0].start = start
        }
    }

    /// Passes the bytes from `offset` to the end, chunk by chunk, until `receive` returns false.
    ///
    /// - Precondition: `start <= offset <= end`.
    package func read(from offset: Int, _ receive: (Span<UInt8>) -> Bool) {
        precondition(offset >= start && offset <= end, "the offset is not kept")
        var index = chunkIndex(of: offset)
        var from = offset
        while index < chunks.count {
            let chunk = chunks[index]
            let span = chunk.bytes.span.extracting((from - chunk.start)..<chunk.bytes.count)
            guard receive(span) else { return }
            index += 1
            from = chunk.end
        }
    }

    /// A range of bytes.
    ///
    /// - Precondition: one `append` has added all of them.
    package func piece(_ range: Range<Int>) -> ArraySlice<UInt8> {
        guard !range.isEmpty else { return [] }
        let chunk = chunks[chunkIndex(of: range.lowerBound)]
        return chunk.bytes[(range.lowerBound - chunk.start)..<(range.upperBound - chunk.start)]
    }

    /// Searches from the last chunk: nearly all readers are there.
    private func chunkIndex(of offset: Int) -> Int {
        var index = chunks.count - 1
        while index > 0, chunks[index].start > offset {
            index -= 1
        }
        return max(index, 0)
    }
}
