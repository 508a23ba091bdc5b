package import Storage

// A feed with readers here, on whose session another node decides, or no node.
//
// Design: only the readers are in memory, as for a session that is asleep. Records that the owner
// sends are framed once for each stream (``CommittedRecords``). When the journal has other new
// records, every subscriber falls behind and catches up (``CatchUp``). The state is in memory only
// while subscribers are added.
extension Feed {
    /// Whether the feed has readers here, and another node decides on its session, or no node.
    package var isElsewhere: Bool { archive?.upkeep != nil }

    /// Whether the session has ended elsewhere.
    package var isOver: Bool { archive?.upkeep?.isOver ?? false }

    /// Whether the journal has lost history of this generation, so that only the readers are left.
    package var isVoid: Bool { archive?.isVoid ?? false }

    /// A session of this process has continued the feed until now, and its state has left memory.
    package func beginUpkeep(_ upkeep: any FeedUpkeep) {
        archive?.upkeep = upkeep
        for stream in streams.all {
            stream.dropSnapshot()
            stream.deliverPending()
            if stream.isAtRest { stream.removeAll() }
        }
        showJournal(through: history.committed)
        advanceWaiting()
    }

    /// This node decides on the session from now on. The subscribers stay.
    package func endUpkeep() {
        for stream in streams.all { stream.keptState = nil }
        archive?.upkeep = nil
        setPresence(nil, from: .owner)
    }

    /// New subscribers were added, and the state has left memory.
    package func endOpening() {
        for stream in streams.all { stream.dropSnapshot() }
        if streams.isEmpty { loop.upstream?.forget(self) }
    }

    /// The journal has newer records of the session, and the subscribers read them.
    package func advance(to head: SavedHead) {
        guard head.end.position > history.committed.position else { return }
        archive?.advance(to: head)
        showJournal(through: head.end)
    }

    private func showJournal(through end: HistoryEnd) {
        history.restart(at: end, keepsNotes: loop.journal.keepsRecords)
        readJournal()
    }

    /// The session has ended elsewhere. The subscribers get the events before its end, and
    /// then `end`.
    ///
    /// - Parameter end: the record of the end; nil if the journal no longer has the last records:
    ///   the subscribers then get a `reset` before `end`.
    package func endElsewhere(at end: UInt64?) {
        let isKept = end.map { $0 > history.committed.number } ?? false
        archive?.upkeep?.isOver = true
        if isKept, let end {
            showJournal(through: HistoryEnd(number: end, version: history.committed.version))
        }
        for stream in streams.all {
            // None of them stops in the middle of an event.
            stream.dropAll()
            stream.appendEnd(position, scratch: &loop.buffers.scratch)
            for subscriber in stream.subscribers { subscriber.endElsewhere(isKept: isKept) }
        }
    }

    /// Whether subscribers may be on other loops.
    var maySpread: Bool {
        if let source, source.isDeciding { return true }
        return isElsewhere && !isVoid && !isOver
    }

    /// The session has another generation. The subscribers wait until it is loaded.
    package func strandReaders() {
        archive?.isVoid = true
        lag = 0
        for stream in streams.all { stream.strand() }
    }

    /// Continues the subscribers that have waited for the journal or for the state.
    package func advanceWaiting() {
        archive?.upkeep?.hasWaiting = false
        for stream in streams.all {
            for subscriber in stream.subscribers where subscriber.isWaiting { subscriber.advance() }
        }
    }

    // MARK: Records of the owner

    /// Shows records of the owner that come directly after those that this node knows.
    ///
    /// Design: for subscribers that have all earlier events, the records are framed once for each
    /// stream, as at the owner. They are framed with their states if the state before them is kept
    /// (``KeptState``). Other subscribers get them through the code that reads the journal.
    ///
    /// - Returns: the bytes that the feed keeps of them; nil if they are not the next ones, or if
    ///   the session cannot be shown now.
    package func show(_ records: CommittedRecords, by writer: Writer) -> Int? {
        guard let archive, isElsewhere, !isVoid, !isOver,
            let entries = records.entries(
                of: key, catalog.reactor, after: history.committed)
        else { return nil }
        var bytes = 0
        if streams.showStates {
            archive.received.append(
                entries, after: records.after, by: writer, bytes: records.text.count)
            bytes += records.text.count
        }
        let end = HistoryEnd(records.end, version: records.version)
        for stream in streams.all where bytes <= SharedStream.surplusBytes {
            bytes += frame(entries, by: writer, through: end, for: stream)
        }
        // A stream that is not framed up to there falls behind.
        showJournal(through: end)
        for stream in streams.all { loop.deliver(stream) }
        return bytes
    }

    private func frame(
        _ entries: [HistoryEntry], by writer: Writer, through end: HistoryEnd,
        for stream: SharedStream
    ) -> Int {
        let isLog = stream.selection.log
        guard stream.framedThrough == history.committedPosition(notes: isLog),
            !stream.selection.readsStates || !entries.contains(where: { $0.kind == .mutation })
                || stream.keptState?.continues(history.committed.version, by: writer) ?? false
        else { return 0 }
        defer { loop.buffers.shrinkScratch() }
        do {
            return try stream.frame(
                entries, through: isLog ? end.position : HistoryPosition(end.number), of: self,
                scratch: &loop.buffers.scratch)
        } catch {
            // A reader that reads the journal instead reports it.
            return 0
        }
    }

    /// Drops the records that have arrived, and their events.
    func dropReceived() {
        archive?.holdsRecords = false
        archive?.received.removeAll()
        // This node may own the session by now, or have shown its end.
        guard isElsewhere else { return }
        for stream in streams.all where stream.ending == nil { stream.dropAll() }
    }

    /// Makes room for states of other feeds: drops those that were not used since the last call.
    package func dropUnusedStates() {
        for stream in streams.all {
            guard let state = stream.keptState else { continue }
            if !state.isUsed { stream.keptState = nil }
            state.isUsed = false
        }
    }
}
