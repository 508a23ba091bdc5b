// Why one file: reading, showing and falling behind share the private state of one reader.

internal import JSONCoding
internal import Storage

/// Reads the journal for a subscriber until the live stream covers the subscriber's position.
///
/// Design: the journal is read in slices, at the reader's speed: the next slice is read when the
/// one before is written. When the stream in memory covers the next events, the subscriber becomes
/// an offset in it like all others: no gap, no repetition. Between two slices the reader holds no
/// event in memory.
///
/// Readers of one selection at one position share a slice (``CatchUpCache``): after a restart
/// thousands reconnect at the same time. They get it through the loop's background queue
/// (``BackgroundQueue``): a thousand slices at once would delay all other requests.
final class CatchUp {
    private let feed: Feed
    private let archive: FeedArchive
    private let subscriber: Subscriber
    private var framer: EventFramer
    /// The entries up to here are written or in the subscriber's `unsent`. On the action log a part
    /// is a note; otherwise it is an event of the record.
    private(set) var reached: HistoryPosition
    /// Notes up to here have been read. This stream does not show notes.
    private var passed = HistoryPosition(0)
    /// The state at `reached`; only where states are read.
    private var fold: (any StateFold)? {
        didSet { if fold == nil { (foldCharge, foldBytes) = (nil, 0) } }
    }
    /// Of ``fold``, if it is large.
    private var foldCharge: WorkCharge?
    /// The bytes of ``fold`` when it was encoded last.
    private var foldBytes = 0
    /// A node whose records have the form that `fold` can apply.
    private var knownWriter: Writer?
    /// The node that has written the entries that were read last, if it is known.
    private var writer: Writer?
    /// The client has no event id yet: it could not continue if the connection ended now.
    private var needsID: Bool
    /// The client requests all kept events and has got none: the first event may be any one. The
    /// oldest event at the time of the request may have been trimmed since.
    private var isAtStart: Bool
    private var startTries = 0
    private var isReading = false
    private var isOver = false
    /// Whether the session, which is followed, was known to have ended when the journal was read.
    private var readsEnded = false
    /// Readers at the same position that wait for this one's slice of states.
    private var others: [CatchUp] = []

    /// Precedent: a socket's send buffer holds a few hundred KB; more bytes would wait in memory.
    private static let sliceBytes = 65_536
    /// The bytes of events of a slice that are framed at once. The last event may exceed this.
    private static let framedBytes = 1 << 20
    /// The bytes of states that are encoded, searched and compared at once.
    private static let encodedBytes = 4 << 20
    /// The state before the first record may be trimmed while the record is read. Then both are
    /// read again. A state that cannot be rebuilt looks the same, so the number of attempts is
    /// limited. The last failure ends in a reset.
    private static let startLimit = 4

    /// - Parameters:
    ///   - position: the client's position.
    ///   - isFromStart: the client requests all kept events, and has no event id.
    init(
        _ subscriber: Subscriber, of feed: Feed, after position: HistoryPosition,
        isFromStart: Bool
    ) {
        guard let archive = feed.archive else {
            preconditionFailure("catching up needs an archive")
        }
        self.feed = feed
        self.archive = archive
        self.subscriber = subscriber
        framer = EventFramer(subscriber.stream.selection)
        needsID = isFromStart
        isAtStart = isFromStart
        reached = position
        feed.beginArchiveRead()
    }

    /// Stops reading. Results that arrive later are ignored.
    func end() {
        guard !isOver else { return }
        isOver = true
        fold = nil
        feed.endArchiveRead()
        // One of them is the next to read.
        for other in takeOthers() { loop.background.append { other.readAgain() } }
    }

    private func takeOthers() -> [CatchUp] {
        defer { others = [] }
        return others
    }

    private func readAgain() {
        isReading = false
        if mayContinue() { proceed() }
    }

    /// Continues after all bytes are written: joins the stream if it covers the next entry, else
    /// reads a slice.
    func proceed() {
        guard !isOver, !isReading else { return }
        if selection.readsStates, feed.isAwake,
            reached.number > subscriber.stream.framedThrough.number
        {
            feed.frameForReader(subscriber.stream)
        }
        if needed >= subscriber.stream.coveredAfter { return join() }
        // A note after the last record has the number of the next record.
        read(through: feed.history.committed.number + (isLog ? 1 : 0))
    }

    /// Whether a result of the journal is still for this reader. After the table has stopped its
    /// connection ends: without a machine a state would be shown as no bytes.
    private func mayContinue() -> Bool {
        guard !isOver else { return false }
        if !feed.isAwake, !feed.isElsewhere { abandon() }
        return !isOver
    }

    private var loop: FeedLoop { feed.loop }
    private var selection: Selection { framer.selection }
    private var isLog: Bool { selection.log }

    /// Entries after this position have to be read.
    private var needed: HistoryPosition { isLog ? reached : reached.recordBefore }

    /// Invariant: no record is missing between two records; notes are, where none were kept. A note
    /// is followed by the record of its number, which may have been trimmed since.
    private func isNext(_ record: HistoryEntry) -> Bool {
        isAtStart || record.number == needed.nextNumber
    }

    private func join() {
        keepState()
        end()
        let (position, stream) = (Position(feed.generation, reached), subscriber.stream)
        var opening: StreamOpening?
        if needsID, stream.offset(after: reached) == stream.end {
            opening = StreamOpening(isChunked: selection.isChunked)
            opening?.block = EventFramer.idBlock(position)
        }
        subscriber.join(after: reached, opening)
    }

    /// The journal does not have the next record.
    private func fallBehind() {
        guard let upkeep = archive.upkeep else { return loseTrack() }
        guard !upkeep.isOver else { return readsEnded ? loseTrack() : proceed() }
        // A session that has ended, or has another generation, has no records either.
        let present = JournalGap(after: reached, question: loop.upstream?.questions ?? 0)
        let missed = subscriber.missedReads
        let gap = missed.gap.flatMap { $0.after == reached ? $0 : nil } ?? present
        missed.gap = gap
        if upkeep.confirms(gap) { loseTrack() } else { wait() }
    }

    private func loseTrack() {
        end()
        subscriber.fallBehind(after: nil)
        subscriber.advance()
    }

    /// Continues with the journal's next answer about the sessions that are followed.
    private func wait() {
        // Without an id the client begins anew.
        guard !needsID else { return abandon() }
        keepState()
        end()
        archive.upkeep?.hasWaiting = true
        subscriber.fallBehind(after: reached)
    }

    private func abandon() {
        end()
        subscriber.abandon()
    }

    // MARK: Reading

    /// Reads the next slice, or waits for another reader that is reading it.
    private func read(through last: UInt64) {
        isReading = true
        readsEnded = feed.isOver
        let key = feed.key
        let place = CatchUpCache.Key(
            selection: selection, reached: reached, passed: passed, isFromStart: isAtStart,
            isOver: readsEnded)
        // The readers of a followed session are all at one position. In other sessions, few readers
        // need states.
        let isShared = !selection.readsStates || feed.isElsewhere
        if isShared {
            if let slice = archive.slices[place] {
                return loop.background.append { [self] in receive(slice) }
            }
            guard archive.slices.wait(for: place, self) else { return }
        }
        let start = max(needed, passed)
        let received = archive.received.entries(
            after: start, through: last, limitBytes: Self.sliceBytes)
        if let received {
            let writer = archive.received.writer
            // As late as an answer of the journal.
            return loop.background.append { [self] in
                share(.success(received), by: writer, at: place, isShared)
            }
        }
        feed.askHistory { archive, answer in
            archive.records(
                of: key, after: start, through: last, limitBytes: Self.sliceBytes, answer)
        } then: { [self] result in
            share(result, at: place, isShared)
        }
    }

    /// Shows what was read to all readers that wait for it.
    ///
    /// - Parameter writer: the node that has written it; nil: it is not known.
    private func share(
        _ result: Result<[HistoryEntry], JournalFailure>, by writer: Writer? = nil,
        at place: CatchUpCache.Key, _ isShared: Bool
    ) {
        guard isShared else {
            return loop.background.append { [self] in
                self.writer = writer
                if let shown = shown(of: result) { show(shown) }
            }
        }
        guard !selection.readsStates else { return showStates(result, by: writer, at: place) }
        // The first reader that still exists frames the slice for all.
        for reader in archive.slices.removeWaiting(for: place) {
            guard let slice = archive.slices[place] ?? reader.frame(result) else { continue }
            loop.background.append { reader.receive(slice) }
            guard archive.slices.insert(slice, at: place) else { continue }
            // Removed soon: otherwise a reader that accepts no bytes would keep it for ever.
            loop.background.whenEmpty { [archive] in
                archive.slices.removeAll()
            }
        }
    }

    /// The first reader that still exists frames a slice of states for all that wait for it.
    private func showStates(
        _ result: Result<[HistoryEntry], JournalFailure>, by writer: Writer?,
        at place: CatchUpCache.Key
    ) {
        let readers = archive.slices.removeWaiting(for: place)
        loop.background.append {
            let present = readers.filter { !$0.isOver }
            guard let first = present.first else { return }
            first.others += present.dropFirst()
            first.writer = writer
            if let shown = first.shown(of: result) { first.show(shown) }
        }
    }

    private func receive(_ slice: CatchUpCache.Slice) {
        isReading = false
        guard mayContinue() else { return }
        passOn(slice)
        // The slice may have another reader's state.
        fold = nil
        reached = slice.reached
        isAtStart = false
        send(slice)
    }

    /// Nil if there is nothing to send; the reader has already continued then.
    private func frame(_ result: Result<[HistoryEntry], JournalFailure>) -> CatchUpCache.Slice? {
        guard let shown = shown(of: result), let framed = frame(shown) else { return nil }
        // Until its turn in the background queue.
        isReading = true
        return CatchUpCache.Slice(framed: framed, reached: reached)
    }

    /// The entries of the result that may be shown; nil if there are none.
    private func shown(of result: Result<[HistoryEntry], JournalFailure>) -> [HistoryEntry]? {
        guard let entries = receive(result) else { return nil }
        let shown = isLog ? entries : entries.filter { $0.part == 0 }
        if shown.isEmpty, let last = entries.last {
            passed = last.position
            proceed()
            return nil
        }
        // Invariant: an entry whose commit the feed does not know yet is left to the stream. If it
        // were shown here, readers would get it twice.
        let end = feed.committedPosition(for: selection)
        let known = Array(shown.prefix { $0.position <= end })
        // A session that is followed and has no records may have ended.
        if isAtStart, !known.isEmpty || !feed.isElsewhere, !begins(with: known.first) {
            proceed()
            return nil
        }
        guard let first = shown.first, isNext(first) else {
            fallBehind()
            return nil
        }
        guard known.isEmpty else { return known }
        proceed()
        return nil
    }

    /// Whether the kept entries begin with the journal's first one. If not, the file was trimmed
    /// further than memory, or is empty: the stream has the oldest entry then.
    private func begins(with first: HistoryEntry?) -> Bool {
        let stream = subscriber.stream
        let kept = feed.keptPosition(for: selection)
        if let first, first.number <= kept.nextNumber { return true }
        // If the history is too large for the stream, only a part of it is shown.
        guard feed.extend(stream, backTo: kept) || first == nil else { return true }
        isAtStart = false
        reached = stream.coveredAfter
        return false
    }

    /// Nil if the reader has ended, or if the journal could not be read: the connection ends then,
    /// and the client reconnects with its last event id.
    private func receive<Value>(_ result: Result<Value, JournalFailure>) -> Value? {
        isReading = false
        guard mayContinue() else { return nil }
        switch result {
        case .success(let value): return value
        case .failure
        where feed.isElsewhere && (loop.upstream?.contains(feed) ?? false)
            && subscriber.missedReads.failures.mayContinue(at: loop.uptime()):
            wait()
            return nil
        case .failure(let failure):
            feed.report(.unreadable(failure.detail))
            abandon()
            return nil
        }
    }

    // MARK: Showing

    private func show(_ entries: [HistoryEntry]) {
        // The state does not depend on the other entries, and other readers may need the one
        // that is kept.
        guard fold == nil, entries.contains(where: { $0.kind == .mutation }) else {
            return check(entries)
        }
        if takeState(at: version(before: entries)) {
            check(entries)
        } else {
            rebuildState(before: entries)
        }
    }

    private func version(before entries: [HistoryEntry]) -> UInt64 {
        entries[0].kind == .mutation ? entries[0].version - 1 : entries[0].version
    }

    /// Continues with the state that the stream has kept, if it is the one at this version.
    private func takeState(at version: UInt64) -> Bool {
        guard let kept = subscriber.stream.keptState, kept.fold.version == version else {
            return false
        }
        subscriber.stream.keptState = nil
        (fold, knownWriter) = (kept.fold, kept.writer)
        beginPart(kept.fold)
        return true
    }

    /// Leaves the state to the stream, for the next records.
    private func keepState() {
        let stream = subscriber.stream
        guard feed.isElsewhere, let fold,
            stream.keptState?.isPoorer(than: fold, by: knownWriter) ?? true
        else { return }
        stream.keep(fold, by: knownWriter, of: feed)
        self.fold = nil
    }

    /// Shows the entries if the program that has written the first has also written the last. Among
    /// several nodes another program may continue a session at any time.
    ///
    /// Invariant: each program begins with a snapshot, and none is older than the one before. So
    /// the newest snapshot before a mutation has its form.
    ///
    /// - Parameter isFresh: whether the state was rebuilt for the first entry.
    private func check(_ entries: [HistoryEntry], isFresh: Bool = false) {
        guard loop.journal.isShared, let fold,
            let last = entries.last(where: { $0.kind == .mutation }),
            !isFresh || last.version > fold.version + 1,
            writer == nil || writer != knownWriter
        else { return frameAndSend(entries) }
        isReading = true
        ArchivedStates(feed: feed).stateVersion(after: last.version - 1) { [self] result in
            guard let found = receive(result) else { return }
            guard let found else { return fallBehind() }
            if found == fold.stateVersion { return frameAndSend(entries) }
            // The journal has the state in the other form, if all entries have it.
            if isFresh { loseTrack() } else { rebuildState(before: entries) }
        }
    }

    private func frameAndSend(_ entries: [HistoryEntry]) {
        guard let framed = frame(entries) else { return }
        do throws(WorkOverload) {
            // It has grown by the entries.
            foldCharge = try loop.adjust(
                foldCharge, to: foldBytes, for: subscriber.client)
        } catch {
            return subscriber.refuse()
        }
        if entries.contains(where: { $0.kind == .mutation }) { knownWriter = writer ?? knownWriter }
        let slice = CatchUpCache.Slice(framed: framed, reached: reached)
        passOn(slice)
        send(slice)
    }

    /// Gives the slice to those that wait for this reader, which may itself have waited
    /// for another one.
    private func passOn(_ slice: CatchUpCache.Slice) {
        for other in takeOthers() { loop.background.append { other.receive(slice) } }
    }

    private func send(_ slice: CatchUpCache.Slice) {
        subscriber.readSucceeded()
        let charge: WorkCharge?
        do throws(WorkOverload) {
            charge =
                if let counted = slice.bytes {
                    try counted.charge(for: subscriber.client)
                } else {
                    try loop.charge(slice.framed.count, for: subscriber.client)
                }
        } catch {
            return subscriber.refuse()
        }
        slice.bytes = charge?.bytes
        if !slice.framed.isEmpty { needsID = false }
        guard !subscriber.send(slice.framed, of: charge) else { return proceed() }
        // The connection may accept nothing for long, and others need the state.
        if !isOver, needed >= subscriber.stream.coveredAfter { keepState() }
    }

    /// Nil if the entries cannot be shown; the connection ends then.
    private func frame(_ entries: [HistoryEntry]) -> [UInt8]? {
        var framed: [UInt8] = []
        var encoded = 0
        // Other readers get the slice too, and no state is kept between two slices.
        defer { framer.forgetBase() }
        do {
            for entry in entries {
                try frame(entry, to: &framed, &encoded)
                // The journal has the others. A few bytes of records make as many states.
                if framed.count > Self.framedBytes || encoded > Self.encodedBytes { break }
            }
            return framed
        } catch {
            feed.report(.unreadable("\(error.place): \(error.reason)"))
            abandon()
            return nil
        }
    }

    private func frame(
        _ entry: HistoryEntry, to out: inout [UInt8], _ encoded: inout Int
    ) throws(RecoveryFault) {
        isAtStart = false
        let skipped = !isLog && entry.number == reached.number ? reached.part : 0
        framer.append(
            entry, state: try changedState(by: entry, &encoded), after: skipped, of: feed,
            to: &out
        ) { _, _ in }
        reached = entry.position
    }

    /// The state to show for the record, if this stream shows one.
    private func changedState(
        by record: HistoryEntry, _ encoded: inout Int
    ) throws(RecoveryFault) -> StateChange? {
        guard let fold, record.kind == .mutation else { return nil }
        try fold.applyNext(record)
        let before = loop.pass.bytes
        defer { encoded += loop.pass.bytes - before }
        return framer.change(to: shown(fold))
    }

    // MARK: The state before the first record

    private func rebuildState(before entries: [HistoryEntry]) {
        isReading = true
        let request = RebuildQueue.Request(
            client: subscriber.client, isWanted: { [self] in !isOver })
        let bytes = entries.reduce(0) { $0 + $1.storedBytes }
        // Many are read again: readers may wait for long, and many of them.
        let kept = bytes > Self.sliceBytes && !loop.journal.isShared ? nil : entries
        ArchivedStates(feed: feed).rebuild(version(before: entries), for: request) {
            [self] result in
            let read: Result<ArchivedState?, JournalFailure>
            switch result {
            case .success(let state): read = .success(state)
            case .failure(.unreadable(let failure)): read = .failure(failure)
            case .failure(.overBudget):
                isReading = false
                return mayContinue() ? subscriber.refuse() : ()
            }
            guard let rebuilt = receive(read) else { return }
            guard let rebuilt else { return isAtStart ? startAgain() : fallBehind() }
            // Otherwise the framer has what was shown by the state of the other form.
            if fold == nil { beginPart(rebuilt.fold) }
            (fold, knownWriter) = (rebuilt.fold, nil)
            // The snapshot's bytes are gone.
            _ = rebuilt.charge?.resize(to: rebuilt.bytes)
            (foldCharge, foldBytes) = (rebuilt.charge, rebuilt.bytes)
            if let kept { check(kept, isFresh: true) } else { proceed() }
        }
    }

    /// The reader has the part of this state that it is shown.
    private func beginPart(_ fold: any StateFold) {
        guard case .part = selection.states else { return }
        framer.showsPart(of: shown(fold))
    }

    private func shown(_ fold: any StateFold) -> ShownVersion {
        var state: [UInt8] = []
        state.reserveCapacity(foldCharge == nil ? 0 : feed.stateEstimate)
        feed.append(fold, to: &state)
        loop.pass.count(state.count)
        foldBytes = state.count
        return ShownVersion(state, loop.pass)
    }

    private func startAgain() {
        startTries += 1
        guard startTries < Self.startLimit else { return loseTrack() }
        proceed()
    }
}
