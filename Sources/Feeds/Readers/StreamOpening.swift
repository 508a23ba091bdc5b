internal import Wire

/// The bytes that a subscriber gets before the events of the shared stream.
package struct StreamOpening {
    /// The block for this subscriber alone: `reset`, or an id without an event; empty
    /// if not needed.
    var block: [UInt8] = []
    /// The snapshot's data and the beginning of its block, shared by subscribers that begin at the
    /// same record; nil if not needed. It is held until its bytes are sent.
    package internal(set) var held: ChargedBytes?
    package var snapshot: [UInt8] { held?.bytes ?? [] }
    /// The bytes after the snapshot: the end of its block, and of its chunk.
    package var end: [UInt8] {
        held == nil ? [] : isChunked ? Self.chunkEnd : EventFramer.blankLine
    }
    private static let chunkEnd = {
        var end = EventFramer.blankLine
        ChunkEncoder.appendEnd(to: &end)
        return end
    }()
    package let isChunked: Bool

    package init(isChunked: Bool) {
        self.isChunked = isChunked
    }

    /// Appends everything that precedes `snapshot`, which follows unchanged, and then `end`.
    ///
    /// - Parameter retryMilliseconds: the time before the client reconnects. The field is part of
    ///   the first block and in the same chunk. Without a block it is a separate line; the first
    ///   event of the stream completes its block.
    package func append(retryMilliseconds: Int?, to out: inout [UInt8]) {
        var start = out.count
        if let retryMilliseconds {
            EventEncoder.appendRetry(milliseconds: retryMilliseconds, to: &out)
        }
        out.append(contentsOf: block)
        guard let held else {
            if isChunked { ChunkEncoder.wrap(from: start, in: &out) }
            return
        }
        if isChunked, !block.isEmpty {
            ChunkEncoder.wrap(from: start, in: &out)
            start = out.count
        }
        out.append(contentsOf: held.head)
        guard isChunked else { return }
        // Without a block before it, in one chunk with the field.
        let count = out.count - start + held.bytes.count + EventFramer.blankLine.count
        var size: [UInt8] = []
        ChunkEncoder.appendSize(count, to: &size)
        out.insert(contentsOf: size, at: start)
    }
}
