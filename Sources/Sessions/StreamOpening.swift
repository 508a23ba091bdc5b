internal import Wire

/// The bytes that a subscriber gets before the events of the shared stream.
package struct StreamOpening {
    /// A block of this subscriber alone: `reset`, or an id without an event; empty if none is due.
    var block: [UInt8] = []
    /// The snapshot's block, which subscribers that begin at one record share; empty if none is
    /// due. Invariant: on a chunked stream the end of its chunk is part of it.
    package internal(set) var snapshot: [UInt8] = []
    let isChunked: Bool

    init(isChunked: Bool) {
        self.isChunked = isChunked
    }

    /// Appends everything that precedes `snapshot`, which follows unchanged.
    ///
    /// - Parameter retryMilliseconds: how long the client waits before it connects again; it is
    ///   part of the first block, in one chunk with it. Where no block is due it is a line of
    ///   its own: the block continues with the stream's first event.
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
            // One chunk with the snapshot, whose end is behind that.
            var size: [UInt8] = []
            ChunkEncoder.appendSize(out.count - start + snapshotBytes, to: &size)
            out.insert(contentsOf: size, at: start)
        } else {
            ChunkEncoder.wrap(from: start, in: &out)
            ChunkEncoder.appendSize(snapshotBytes, to: &out)
        }
    }
}
