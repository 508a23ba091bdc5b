internal import Wire

/// The bytes that a subscriber gets before the events of the shared stream.
package struct StreamOpening {
    /// The block for this subscriber alone: `reset`, or an id without an event; empty if not needed.
    var block: [UInt8] = []
    /// The snapshot's block, shared by subscribers that begin at the same record; nil if not
    /// needed. It is held until its bytes are sent.
    package internal(set) var held: ChargedBytes?
    /// Invariant: on a chunked stream it includes the end of its chunk.
    package var snapshot: [UInt8] { held?.bytes ?? [] }
    let isChunked: Bool

    package init(isChunked: Bool) {
        self.isChunked = isChunked
    }

    /// Appends everything that precedes `snapshot`, which follows unchanged.
    ///
    /// - Parameter retryMilliseconds: the time before the client reconnects. The field is part of the
    ///   first block and in the same chunk. Without a block it is a separate line; the first event of
    ///   the stream completes its block.
    package func append(retryMilliseconds: Int?, to out: inout [UInt8]) {
        let start = out.count
        if let retryMilliseconds {
            EventEncoder.appendRetry(milliseconds: retryMilliseconds, to: &out)
        }
        out.append(contentsOf: block)
        guard isChunked else { return }
        let snapshotBytes = snapshot.count - ChunkEncoder.endBytes
        if snapshot.isEmpty {
            ChunkEncoder.wrap(from: start, in: &out)
        } else if block.isEmpty {
            // In one chunk with the snapshot, which includes the chunk's end.
            var size: [UInt8] = []
            ChunkEncoder.appendSize(out.count - start + snapshotBytes, to: &size)
            out.insert(contentsOf: size, at: start)
        } else {
            ChunkEncoder.wrap(from: start, in: &out)
            ChunkEncoder.appendSize(snapshotBytes, to: &out)
        }
    }
}
