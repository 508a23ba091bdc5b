internal import JSONCoding
internal import Storage

/// Brings a subscriber from a position that only the journal has to the live stream.
///
/// Design: slices, paced by the reader: the next one is read when the one before is written. Once
/// the stream in memory covers what comes next, the subscriber becomes an offset in it like all
/// others: no gap, no repeat. Between two slices the reader holds no event in memory.
///
/// Readers of one selection at one position share a slice (``CatchUpCache``): after a restart
/// thousands come back at the same moment. They get it in the loop's background
/// (``BackgroundQueue``): a thousand slices at once would delay all other requests.
final class CatchUp {
    private let session: Session
    private let persistence: PersistenceState
    private let subscriber: Subscriber
    private var framer: EventFramer
    /// Everything up to here is written or in the subscriber's `unsent`. On the action log a part is
    /// a note; elsewhere it is an event of the record.
    private var reached: HistoryPosition
    /// Notes up to here have been read, and are not shown on this stream.
    private var passed = HistoryPosition(0)
    /// The state at `reached`; only where states are read.
    private var fold: (any StateFold)?
    /// The client has no id yet: it could not continue if it were cut off now.
    private var needsID: Bool
    /// The client wants everything that is kept and has got nothing: wherever that begins, nothing
    /// is missing before it. What was kept when the stream was opened may have been trimmed since.
    private var isAtStart: Bool
    private var startTries = 0
    private var isReading = false
    private var isOver = false

    /// Precedent: a socket's send buffer holds a few hundred KB; more would only wait here.
    private static let sliceBytes = 65_536
    /// The state before the first record may be trimmed while the record is read: then both are
    /// read again. A state that can't be rebuilt looks the same, and ends in a reset.
    private static let startLimit = 4

    /// - Parameters:
    ///   - position: the last one that the client has.
    ///   - isFromStart: the client wants everything that is kept, and has no id.
    init(
        _ subscriber: Subscriber, of session: Session, after position: HistoryPosition,
        isFromStart: Bool
    ) {
        guard let persistence = session.persistence else {
            preconditionFailure("without an archive there is nothing to catch up with")
        }
        self.session = session
        self.persistence = persistence
        self.subscriber = subscriber
        framer = EventFramer(subscriber.stream.selection)
        needsID = isFromStart
        isAtStart = isFromStart
        reached = position
        session.beginArchiveRead()
    }

    /// Stops reading. What is on its way is ignored.
    func end() {
        guard !isOver else { return }
        isOver = true
        session.endArchiveRead()
    }

    /// Everything read so far is written: joins the stream if that covers what is next, else reads a
    /// slice.
    func proceed() {
        guard !isOver, !isReading else { return }
        if needed >= subscriber.stream.coveredAfter { return join() }
        // A note may follow the last record, under the number of the next one.
        read(through: session.history.committed.number + (isLog ? 1 : 0))
    }

    private var selection: Selection { framer.selection }
    private var isLog: Bool { selection.log }

    /// Everything after this position has to be read.
    private var needed: HistoryPosition { isLog ? reached : reached.recordBefore }

    /// Invariant: nothing is missing between two records; notes may be, where none were kept.
    /// After a note comes the record of its own number, which may be trimmed by now.
    private func isNext(_ record: HistoryEntry) -> Bool {
        isAtStart || record.number == needed.nextNumber
    }

    private func join() {
        end()
        let position = Position(session.generation, reached)
        let offset = subscriber.stream.offset(after: reached)
        var opening: StreamOpening?
        if needsID, offset == subscriber.stream.end {
            opening = StreamOpening(isChunked: selection.isChunked)
            opening?.block = EventFramer.idBlock(position)
        }
        subscriber.join(at: offset, opening)
    }

    /// The journal does not have the next record.
    private func fallBehind() {
        end()
        subscriber.fallBehind(after: nil)
        subscriber.advance()
    }

    private func abandon() {
        end()
        subscriber.abandon()
    }

    // MARK: Reading

    /// Reads the next slice, or waits for the reader that reads it already.
    private func read(through last: UInt64) {
        isReading = true
        let (session, key) = (session, session.key)
        let place = CatchUpCache.Key(
            selection: selection, reached: reached, passed: passed, isFromStart: isAtStart)
        // Framing a state depends on the states before, which each reader has for itself.
        let isShared = !selection.readsStates
        if isShared {
            if let slice = persistence.slices[place] {
                return session.table.background.append { [self] in receive(slice) }
            }
            guard persistence.slices.wait(for: place, self) else { return }
        }
        session.table.ask { [needed, passed] archive, answer in
            archive.records(
                of: key, after: max(needed, passed), through: last,
                limitBytes: Self.sliceBytes, answer)
        } then: { [self] result in
            guard isShared else {
                return session.table.background.append { [self] in
                    if let shown = shown(of: result) { show(shown) }
                }
            }
            // The first reader that is still there frames the slice, for later ones too.
            for reader in persistence.slices.takeWaiting(for: place) {
                guard let slice = persistence.slices[place] ?? reader.frame(result) else {
                    continue
                }
                session.table.background.append { reader.receive(slice) }
                guard persistence.slices.insert(slice, at: place) else { continue }
                // Not kept longer: a reader that accepts nothing would keep it for ever.
                session.table.background.whenEmpty { [persistence] in
                    persistence.slices.removeAll()
                }
            }
        }
    }

    private func receive(_ slice: CatchUpCache.Slice) {
        isReading = false
        guard !isOver else { return }
        reached = slice.reached
        isAtStart = false
        send(slice.framed)
    }

    /// Nil if there is nothing to send; then the reader has continued already.
    private func frame(_ result: Result<[HistoryEntry], JournalFailure>) -> CatchUpCache.Slice? {
        guard let shown = shown(of: result), let framed = frame(shown) else { return nil }
        // Until its turn in the background queue.
        isReading = true
        return CatchUpCache.Slice(framed: framed, reached: reached)
    }

    /// The entries that were read and may be shown; nil if there are none.
    private func shown(of result: Result<[HistoryEntry], JournalFailure>) -> [HistoryEntry]? {
        guard let entries = receive(result) else { return nil }
        let shown = isLog ? entries : entries.filter { $0.part == 0 }
        if shown.isEmpty, let last = entries.last {
            passed = last.position
            proceed()
            return nil
        }
        // Invariant: an entry whose commit the session has not heard of is left to the stream, which
        // would otherwise show it a second time.
        let end = session.committedPosition(for: selection)
        let known = Array(shown.prefix { $0.position <= end })
        if isAtStart, !begins(with: known.first) {
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

    /// Whether everything that is kept begins with the journal's first entry. If not, the file was
    /// trimmed further than memory, or is empty: then it begins where the stream does.
    private func begins(with first: HistoryEntry?) -> Bool {
        let stream = subscriber.stream
        let kept = session.keptPosition(for: selection)
        if let first, first.number <= kept.nextNumber { return true }
        // History that is too large for the stream is not shown; the rest is.
        guard session.extend(stream, backTo: kept) || first == nil else { return true }
        isAtStart = false
        reached = stream.coveredAfter
        return false
    }

    /// Nil if the reader is gone, or if nothing could be read: then the connection ends, and the
    /// client comes back with the id it has.
    private func receive<Value>(_ result: Result<Value, JournalFailure>) -> Value? {
        isReading = false
        guard !isOver else { return nil }
        switch result {
        case .success(let value): return value
        case .failure(let failure):
            session.report(.unreadable(failure.detail))
            abandon()
            return nil
        }
    }

    // MARK: Showing

    private func show(_ entries: [HistoryEntry]) {
        guard fold == nil else { return frameAndSend(entries) }
        let first = entries[0]
        rebuildState(first.kind == .mutation ? first.version - 1 : first.version) {
            $0.frameAndSend(entries)
        }
    }

    private func frameAndSend(_ entries: [HistoryEntry]) {
        if let framed = frame(entries) { send(framed) }
    }

    private func send(_ framed: [UInt8]) {
        if !framed.isEmpty { needsID = false }
        if subscriber.send(framed) { proceed() }
    }

    /// Nil: the entries can't be shown, and the connection ends.
    private func frame(_ entries: [HistoryEntry]) -> [UInt8]? {
        var framed: [UInt8] = []
        do {
            for entry in entries { try frame(entry, to: &framed) }
            return framed
        } catch {
            session.report(.unreadable("\(error.place): \(error.reason)"))
            abandon()
            return nil
        }
    }

    private func frame(_ entry: HistoryEntry, to out: inout [UInt8]) throws(RecoveryFault) {
        isAtStart = false
        guard !isLog else {
            if let line = ActionLogLine(entry) {
                framer.append(line, of: session, to: &out) { _, _ in }
            }
            return reached = entry.position
        }
        let skipped = entry.number == reached.number ? reached.part : 0
        framer.append(
            entry.position, StoredEvents(entry, of: session), state: try changedState(by: entry),
            after: skipped, of: session, to: &out
        ) { _, _ in }
        reached = entry.position
    }

    /// The state to show for the record, if this stream shows one.
    private func changedState(
        by record: HistoryEntry
    ) throws(RecoveryFault) -> ArraySlice<UInt8>? {
        guard let fold, record.kind == .mutation else { return nil }
        try fold.applyNext(record)
        var state: [UInt8] = []
        session.append(fold, to: &state)
        return framer.change(to: state[...])
    }

    // MARK: The state before the first record

    private func rebuildState(_ version: UInt64, then act: @escaping (CatchUp) -> Void) {
        isReading = true
        ArchivedStates(session: session).rebuild(version) { [self] result in
            guard let rebuilt = receive(result) else { return }
            guard let rebuilt = rebuilt?.fold else {
                return isAtStart ? startAgain() : fallBehind()
            }
            fold = rebuilt
            if case .part = selection.states {
                var state: [UInt8] = []
                session.append(rebuilt, to: &state)
                framer.showsPart(of: state)
            }
            act(self)
        }
    }

    private func startAgain() {
        startTries += 1
        guard startTries < Self.startLimit else { return fallBehind() }
        proceed()
    }
}
