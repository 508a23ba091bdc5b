internal import Storage

// Design: events are framed for each stream when they are committed, and trimmed with the history.
extension Feed {
    /// Frames committed events for every stream, writes them to subscribers that accept bytes, in
    /// this pass or in one of the next, and drops history beyond the limits.
    ///
    /// - Parameter isContinued: as for ``StateFraming/frame(isContinued:)``.
    package func publish(isContinued: Bool = false) {
        let isWhole = frameEvents(isContinued: isContinued)
        if streams.showStates { StateFraming(feed: self).frame(isContinued: isContinued) }
        if !isWhole { continueLater() }
        let excess = history.excess(over: loop.limits.retention)
        guard excess > 0 || streams.areMany || lag > 0 else { return }
        lag = isWhole || excess > lag + loop.pass.lagRoom ? 0 : excess
        if lag == 0 { trimHistory() }
        let limit = streams.limitBytes(loop.limits.retention)
        for stream in streams.all {
            stream.trim(keptAfter: keptPosition(for: stream.selection), limit: limit)
        }
    }

    /// Frames committed events for the streams without states, as many as the pass has room for.
    ///
    /// Why a bound: a commit may leave megabytes of events, and each selection frames them again.
    ///
    /// - Returns: true if every stream has framed everything; then no later pass has to continue.
    private func frameEvents(isContinued: Bool) -> Bool {
        // A later pass frames at least this, even if other feeds have used up its room.
        var least = isContinued ? loop.pass.leastEvents : 0
        var isWhole = true
        for stream in streams.all where !stream.selection.readsStates {
            if frame(stream, max(least, loop.pass.eventRoom)) > 0 { least = 0 }
            isWhole = isWhole && stream.framedThrough >= committedPosition(for: stream.selection)
            loop.deliver(stream)
        }
        return isWhole
    }

    /// Schedules a later pass to continue framing.
    func continueLater() {
        guard !isFraming else { return }
        isFraming = true
        loop.background.append { [self] in
            isFraming = false
            areStatesLeft = false
            loop.upstream?.continuePublishing(self)
        }
    }

    private func trimHistory() {
        let retention = loop.limits.retention
        history.trim(to: retention)
        leaveTrimmed()
        // A quarter of the limit, so that versions are forgotten in batches.
        let isHeavy = history.droppedWeight > max(65_536, retention.bytes / 4)
        if source?.forget(before: history.keptVersion, atOnce: isHeavy) ?? false {
            history.forgetDroppedWeight()
        }
    }

    /// If a stream has not framed entries that were trimmed, its subscribers fall behind.
    private func leaveTrimmed() {
        for stream in streams.all
        where !stream.selection.log && stream.framedThrough.number < history.keptAfter {
            // Its kept records are framed later.
            stream.restart(at: HistoryPosition(history.keptAfter))
            stream.forgetPart()
        }
    }

    /// Whether every stream has framed everything that is committed.
    package var isFramed: Bool {
        streams.all.allSatisfy { $0.framedThrough >= committedPosition(for: $0.selection) }
    }

    /// Frames what is committed, for a reader that has it already or gets it in a snapshot. This
    /// may take many passes. Until it is done, the reader is ahead of the stream.
    func frameForReader(_ stream: SharedStream) {
        if !stream.selection.readsStates { frame(stream, loop.pass.eventRoom) }
        let end = committedPosition(for: stream.selection)
        if stream.framedThrough < end, !stream.isRead { stream.skip(to: end) }
    }

    /// Frames what is committed, until the work uses up `room`.
    ///
    /// - Parameter room: the work after which no further record is framed, in bytes. It does not
    ///   limit the stream of the action log, because that has only one selection.
    /// - Returns: the work: the framed bytes, and 64 for each record.
    /// - Precondition: the stream shows no states.
    @discardableResult
    private func frame(_ stream: SharedStream, _ room: Int = .max) -> Int {
        let end = committedPosition(for: stream.selection)
        guard stream.framedThrough < end else { return 0 }
        let limit = streams.limitBytes(loop.limits.retention)
        let room = stream.selection.log ? .max : room
        var work = 0
        while stream.framedThrough < end, work < room {
            let before = stream.framedThrough.number
            let bytes = stream.frame(
                through: end, of: self, scratch: &loop.buffers.scratch, limit: limit,
                room: room - work)
            work += bytes + 64 * Int(clamping: stream.framedThrough.number - before)
            guard stream.isFull(limit) else { continue }
            // Subscribers that do not have the oldest events yet fall behind.
            loop.deliver(stream)
            stream.trim(keptAfter: stream.coveredAfter, limit: limit)
        }
        loop.pass.countEvents(work)
        loop.buffers.shrinkScratch()
        return work
    }

    /// Extends a stream back to `position`.
    ///
    /// - Returns: false if the stream would exceed its limit.
    func extend(_ stream: SharedStream, backTo position: HistoryPosition) -> Bool {
        stream.extend(
            backTo: position, of: self, limit: streams.limitBytes(loop.limits.retention))
    }

    /// Extends a stream back to the position of a reader, if only memory has everything after it.
    ///
    /// Why not if the journal has it: many readers may ask at once, and each may need as many
    /// bytes as a stream keeps. They read the journal one after the other, and share slices of it.
    func extend(_ stream: SharedStream, forReader position: HistoryPosition) {
        guard archive == nil, isAwake, !loop.pass.isUsedUp,
            position >= keptPosition(for: stream.selection)
        else { return }
        _ = extend(stream, backTo: stream.selection.start(after: position))
    }

    /// Counts the bytes of states that a stream keeps, after it was extended for a reader and the
    /// reader has written what its connection accepts. A followed session has another limit
    /// (``KeptState``).
    func account(_ stream: SharedStream) {
        if stream.selection.readsStates, !isElsewhere { stream.account() }
    }

    // MARK: The life of its session

    /// The session was loaded into memory again, at an end that the journal has.
    ///
    /// - Parameters:
    ///   - isCopy: whether the state is for readers alone.
    ///   - wasElsewhere: whether another node has decided until now.
    package func continueStreams(asCopy isCopy: Bool, wasElsewhere: Bool) {
        // Records may have been committed after a commit that was reported as failed, or by another
        // node. The subscribers do not have them.
        for stream in streams.all {
            let end = committedPosition(for: stream.selection)
            let isBehind = stream.framedThrough < end
            // The journal's records are framed for each reader, so the stream has not seen
            // their states.
            if isBehind { stream.restart(at: end) }
            guard stream.selection.readsStates, isBehind || wasElsewhere else { continue }
            if isCopy {
                stream.showsPart(of: shown(at: history.committed.number))
            } else {
                stream.forgetPart()
            }
        }
        if wasElsewhere || isCopy { advanceWaiting() }
        guard wasElsewhere else { return }
        for stream in streams.all { loop.replicas.examine(stream, of: self) }
    }

    /// The session is asleep, and every subscriber has everything.
    package func rest() {
        for stream in streams.all {
            stream.removeAll()
            stream.forgetPart()
        }
    }

    /// Subscribers read committed entries that are not framed yet from the journal, because no
    /// later pass frames them. That loads the session.
    package func readJournal() {
        lag = 0
        for stream in streams.all {
            let end = committedPosition(for: stream.selection)
            if stream.framedThrough < end { stream.restart(at: end) }
            // It may have been framed for a new reader alone.
            loop.deliver(stream)
        }
    }

    /// Disconnects the subscribers that read the journal, because they need a state to continue,
    /// and the state leaves memory.
    package func abandonReadersOfJournal() {
        for stream in streams.all {
            for subscriber in stream.subscribers where !subscriber.isLive { subscriber.abandon() }
        }
    }

    /// Disconnects the subscribers, because the journal has another session in place of this one,
    /// or none. They reconnect with the id of their last event.
    package func abandonReaders() {
        for stream in streams.all { stream.abandonAll() }
        streams = FeedStreams()
        loop.upstream?.forget(self)
    }

    /// Takes over the subscribers of the previous generation, and sends each of them a `reset`. If
    /// they may not read this generation, disconnects them.
    package func takeReaders(of earlier: Feed) {
        guard earlier.reactor == reactor, earlier.owner == owner, let opener = StreamOpener(self)
        else { return earlier.abandonReaders() }
        var moved: [Subscriber] = []
        for stream in earlier.streams.all where !stream.isUnused {
            if stream.selection.log { history.keepNotes() }
            let (next, _) = opener.presentStream(stream.selection)
            for subscriber in stream.subscribers {
                subscriber.move(to: next, of: self)
                moved.append(subscriber)
            }
        }
        takePresence(of: earlier)
        earlier.streams = FeedStreams()
        // Once all have moved: a stream without subscribers is removed.
        for subscriber in moved where !subscriber.isBlocked { subscriber.advance() }
    }

    /// The session has ended, and its end is committed and framed. The subscribers get `end`.
    package func end() {
        for stream in streams.all {
            stream.appendEnd(position, scratch: &loop.buffers.scratch)
            for subscriber in stream.subscribers { subscriber.drain() }
        }
        streams = FeedStreams()
    }

    /// A stream has lost its last reader.
    func removeStream(_ stream: SharedStream) {
        let rest = streams.removing(stream)
        guard rest.all.count < streams.all.count else { return }
        streams = rest
        stream.keptState = nil
        // A feed whose state is in memory stays: a session uses it, or subscribers are being added.
        if !isAwake, streams.isEmpty { loop.upstream?.forget(self) }
    }
}
