internal import DequeModule

/// Bytes that are appended at the end, dropped at the front and read anywhere between, each under
/// an absolute offset that never changes.
///
/// Design: chunks, so that dropping frees memory and appending never moves what a reader is in
/// the middle of. One `append` is never split over two chunks. Chunks start small, so that a
/// session with one short event costs little, and double up to 64 KiB.
package struct ChunkedBytes {
    /// Bytes that lie together.
    struct Chunk {
        /// The offset of the chunk's first byte.
        fileprivate(set) var start: Int
        fileprivate(set) var bytes: [UInt8]

        var end: Int { start + bytes.count }
    }

    /// Invariant: consecutive: each chunk starts where the one before it ends.
    private var chunks: Deque<Chunk> = []
    /// The offset of the first byte that is kept.
    package private(set) var start = 0
    /// The offset behind the last byte.
    package private(set) var end = 0

    private static let smallestChunkBytes = 256
    private static let largestChunkBytes = 65_536

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
        if let last = chunks.last, last.bytes.capacity - last.bytes.count >= bytes.count {
            chunks[chunks.count - 1].bytes.append(contentsOf: bytes)
        } else {
            let previous = chunks.last?.bytes.capacity ?? Self.smallestChunkBytes / 2
            var chunk: [UInt8] = []
            chunk.reserveCapacity(
                max(bytes.count, min(previous * 2, Self.largestChunkBytes)))
            chunk.append(contentsOf: bytes)
            chunks.append(Chunk(start: offset, bytes: chunk))
        }
        end += bytes.count
        return offset
    }

    /// Puts bytes before the first one; their offsets run down from `start`.
    package mutating func prepend(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        cutDropped()
        start -= bytes.count
        chunks.prepend(Chunk(start: start, bytes: bytes))
    }

    /// Forgets everything before `offset`; whole chunks are freed, a part of one stays until the
    /// rest of it goes.
    package mutating func drop(before offset: Int) {
        start = min(max(start, offset), end)
        while let first = chunks.first, first.end <= start {
            chunks.removeFirst()
        }
    }

    /// Forgets everything from `offset` on.
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

    /// Cuts off what is dropped of the first chunk: its offsets are about to mean other bytes.
    private mutating func cutDropped() {
        guard let first = chunks.first, first.start < start else { return }
        if first.end <= start {
            chunks.removeFirst()
        } else {
            chunks[0].bytes.removeFirst(start - first.start)
            chunks[0].start = start
        }
    }

    /// Gives the pieces from `offset` to the end, in order, until `take` wants no more.
    ///
    /// Precondition: `start <= offset <= end`.
    package func read(from offset: Int, _ take: (Span<UInt8>) -> Bool) {
        precondition(offset >= start && offset <= end, "the offset is not kept")
        var index = chunkIndex(of: offset)
        var from = offset
        while index < chunks.count {
            let chunk = chunks[index]
            guard take(chunk.bytes.span.extracting((from - chunk.start)..<chunk.bytes.count)) else {
                return
            }
            index += 1
            from = chunk.end
        }
    }

    /// One appended piece, whole. Precondition: the range lies inside one `append`.
    package func piece(_ range: Range<Int>) -> ArraySlice<UInt8> {
        guard !range.isEmpty else { return [] }
        let chunk = chunks[chunkIndex(of: range.lowerBound)]
        return chunk.bytes[(range.lowerBound - chunk.start)..<(range.upperBound - chunk.start)]
    }

    /// Almost always the last chunk: readers that keep up are there.
    private func chunkIndex(of offset: Int) -> Int {
        var index = chunks.count - 1
        while index > 0, chunks[index].start > offset {
            index -= 1
        }
        return max(index, 0)
    }
}
