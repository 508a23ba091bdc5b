internal import Storage

// A session that another node decides on, or nobody, and that has subscribers here.
//
// Design: only the subscribers are in memory, as in a session that is asleep. Records that the owner sends are framed
// once for each stream (``CommittedRecords``). When the journal has other new records, every subscriber falls behind
// and catches up (``CatchUp``). The state is in memory only while subscribers are added.
extension Session {
    /// - Parameter asked: When the session was read, by ``LoopServices/uptime``.
    func beginFollowing(asked: Int64) {
        guard let persistence else { return }
        var following = persistence.following ?? Following(confirmed: asked)
        following.confirmed = max(following.confirmed, asked)
        following.isOpening = true
        persistence.following = following
        persistence.epoch = 0
    }

    /// This node has owned the session until now, and its state has left memory.
    func beginFollowing(_ following: Following) {
        persistence?.following = following
        persistence?.epoch = 0
        for stream in streams.all {
            stream.dropSnapshot()
            stream.deliverPending()
            if stream.isAtRest { stream.removeAll() }
        }
        showJournal(through: history.committed)
        advanceWaiting()
    }

    /// This node decides on the session from now on. The subscribers stay.
    func endFollowing() {
        guard isFollowed else { return }
        for stream in streams.all { stream.followed = nil }
        persistence?.following = nil
        table.followed?.remove(self)
    }

    /// New subscribers were added: the state leaves memory.
    func endOpening() {
        guard case .copy = life else { return }
        leaveMemory()
        for stream in streams.all { stream.dropSnapshot() }
        persistence?.following?.isOpening = false
        if streams.isEmpty { table.forget(self) }
    }

    /// Whether the subscribers are to read the newer records that the journal has; otherwise it is asked once more.
    ///
    /// Why: the journal may be faster than the link to the owner. Readers on other loops would come back for records
    /// that are on their way.
    func mayAdvance(to head: SavedHead, _ epoch: Int64) -> Bool {
        guard let persistence, persistence.following?.awaited == nil else { return false }
        guard hasBranches else { return true }
        let isAwaited = persistence.following?.awaitsRecords(
            through: head.end.position, in: epoch, behind: history.committed.position)
        return !(isAwaited ?? false)
    }

    /// The journal has more of the session: the subscribers read it.
    func advance(to head: SavedHead) {
        guard head.end.position > history.committed.position else { return }
        persistence?.advance(to: head)
        showJournal(through: head.end)
    }

    /// The owner has committed more of the session.
    func advance(to end: HistoryEnd) { showJournal(through: end) }

    private func showJournal(through end: HistoryEnd) {
        history.restart(at: end, keepsNotes: keepsRecords)
        for stream in streams.all {
            let position = committedPosition(for: stream.selection)
            if stream.framedThrough < position { stream.restart(at: position) }
        }
    }

    /// The session has ended elsewhere. The subscribers get the events before its end, and then `end`.
    ///
    /// - Parameter end: the record that is the end; nil: the journal has the last records no longer, and
    ///   the subscribers get a `reset` before `end`.
    func endElsewhere(at end: UInt64?) {
        let isKept = end.map { $0 > history.committed.number } ?? false
        persistence?.following?.isOver = true
        if isKept, let end {
            showJournal(through: HistoryEnd(number: end, version: history.committed.version))
        }
        for stream in streams.all {
            // None of them stops in the middle of an event.
            stream.dropAll()
            stream.closeBranches(isKept ? nil : .trimmed)
            stream.appendEnd(position, scratch: &table.buffers.scratch)
            for subscriber in stream.subscribers { subscriber.endElsewhere(isKept: isKept) }
        }
    }

    /// Whether subscribers of the stream may be on other loops.
    ///
    /// Of a followed session they would come back behind each gap in the records that the owner sends, and while the
    /// state that they are shown is not kept.
    func maySpread(_ stream: SharedStream) -> Bool {
        isRunning
            || isFollowed && !isVoid && !isOver && stream.isSteady
                && (!stream.selection.readsStates || stream.followed != nil)
    }

    /// The session has another generation: the subscribers wait until that is loaded.
    func strandReaders() {
        persistence?.isVoid = true
        for stream in streams.all { stream.strand() }
    }

    /// Continues the subscribers that have waited for the journal or for the state.
    func advanceWaiting() {
        persistence?.following?.hasWaiting = false
        for stream in streams.all {
            for subscriber in stream.subscribers where subscriber.isWaiting { subscriber.advance() }
        }
    }

    /// Begins to rebuild a state of the session.
    func makeFold(from snapshot: Snapshot?) throws(RecoveryFault) -> any StateFold {
        guard let machine else { return try registration.makeFold(snapshot) }
        return try machine.makeFold(from: snapshot)
    }
}
