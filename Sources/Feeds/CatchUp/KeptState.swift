internal import Storage

/// The state of a followed session after the records that a stream of states has shown. With it,
/// the next records are shown without a read of the journal.
///
/// Bounds: one for each stream of states, and 16 MiB of JSON for all streams of a loop. Without it
/// the state before the next record is rebuilt from the journal (``CatchUp``).
final class KeptState {
    let fold: any StateFold
    /// The writer whose records have the form that ``fold`` can apply; nil if none is known.
    let writer: Writer?
    /// Whether it was used since ``Feed/dropUnusedStates()`` was last called.
    var isUsed = true
    private let tally: SubscriberTally
    private var bytes: Int
    /// A stream of patches also keeps the state as JSON.
    private let copies: Int

    /// - Parameters:
    ///   - bytes: the length of the state as JSON.
    ///   - asPatches: whether the stream shows patches.
    /// - Returns: nil if there is no room.
    init?(
        _ fold: any StateFold, by writer: Writer?, bytes: Int, asPatches: Bool,
        _ tally: SubscriberTally
    ) {
        copies = asPatches ? 2 : 1
        let bytes = copies * bytes
        guard tally.stateBytes + bytes <= tally.stateLimit else { return nil }
        (self.fold, self.writer, self.tally, self.bytes) = (fold, writer, tally, bytes)
        tally.stateBytes += bytes
    }

    /// Whether there is no room any more: the state has grown.
    var exceedsLimit: Bool { tally.stateBytes > tally.stateLimit }

    deinit { tally.stateBytes -= bytes }

    /// Whether the records after this version can be shown, if `other` has written them.
    func continues(_ version: UInt64, by other: Writer) -> Bool {
        fold.version == version && writer == other
    }

    /// Whether a reader's state replaces this one. It does if this one is earlier, or if only the
    /// reader's state has a known writer.
    func isPoorer(than other: any StateFold, by reader: Writer?) -> Bool {
        guard fold.version == other.version else { return fold.version < other.version }
        return writer == nil && reader != nil
    }

    /// Applies a record.
    ///
    /// - Returns: the state to show; nil if the record makes none.
    func state(
        after entry: HistoryEntry, of feed: Feed
    ) throws(RecoveryFault) -> [UInt8]? {
        guard entry.kind == .mutation else { return nil }
        try fold.applyNext(entry)
        var state: [UInt8] = []
        feed.append(fold, to: &state)
        feed.loop.pass.count(state.count)
        tally.stateBytes += copies * state.count - bytes
        (bytes, isUsed) = (copies * state.count, true)
        return state
    }
}

extension SharedStream {
    /// Keeps the state after the records that a reader of a followed session has read in the
    /// journal.
    ///
    /// - Parameter writer: as ``KeptState/writer``.
    func keep(_ fold: any StateFold, by writer: Writer?, of feed: Feed) {
        keptState = nil
        var state: [UInt8] = []
        feed.append(fold, to: &state)
        feed.loop.pass.count(state.count)
        keptState = KeptState(
            fold, by: writer, bytes: state.count, asPatches: selection.asPatches, tally)
        showsPart(of: ShownVersion(state, feed.loop.pass))
    }
}
