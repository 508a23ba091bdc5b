internal import JSONCoding
internal import Storage

/// Brings a subscriber from a position that is only in the journal to the live stream.
///
/// Design: slices, paced by the reader: the next one is asked for when the one before it has been
/// written. Once the stream in memory covers what comes next, the subscriber becomes an offset in
/// it like all others: no gap, no repeat. Between two slices nothing of it is in memory.
///
/// Readers of one selection who stand at one place share a slice, read once and framed once: after
/// a restart thousands come back at the same moment. Each of them has its turn (``LoopTurns``): a
/// thousand slices in one go would hold up everybody else for as long as they take to send.
final class Replay {
    private let session: Session
    private let subscriber: Subscriber
    /// Everything up to here has been written or is in the subscriber's `unsent`. On the action
    /// log a part is a note; elsewhere it is an event of the record.
    private var reached: HistoryPosition
    /// Notes up to here have been read, and are not shown on this stream.
    private var passed = HistoryPosition(0)
    /// The state at `reached`; only where states are read.
    private var fold: (any StateFold)?
    private var shownPart: [UInt8]?
    /// The client has no id yet, and nothing it could continue from if it is cut off here.
    private var needsID: Bool
    /// The client wants everything that is kept and has seen nothing: wherever that begins, nothing
    /// is missing before it. What was known of that when the stream was opened may be trimmed.
    private var isAtStart: Bool
    private var startTries = 0
    private var isAsking = false
    private var isOver = false

    /// Precedent: a socket's send buffer takes a few hundred KB; more would only wait here.
    private static let sliceBytes = 65_536
    /// The state before the first record may be trimmed while the record is read: then both are
    /// read again. A state that can't be rebuilt looks the same, and ends in a reset.
    private static let startLimit = 4

    /// - Parameters:
    ///   - place: what the client has seen.
    ///   - isFromStart: whether the client wants everything that is kept, and has no id.
    init(
        _ subscriber: Subscriber, of session: Session, after place: HistoryPosition,
        isFromStart: Bool = false
    ) {
        self.session = session
        self.subscriber = subscriber
        needsID = isFromStart
        isAtStart = isFromStart
        reached = place
        // Law: behind everything in the stream, so that the stream leaves it alone.
        subscriber.cursor = .max
        subscriber.replay = self
        session.pin()
    }

    /// The connection is gone, or the session has ended.
    func cancel() {
        guard !isOver else { return }
        isOver = true
        subscriber.replay = nil
        session.unpin()
    }

    /// Everything so far is written: goes on with the stream if it can, else with a slice.
    func proceed() {
        guard !isOver, !isAsking else { return }
        if needed >= subscriber.stream.coveredAfter { return join() }
        // A note may stand behind the last record, under the number of the next.
        ask(through: session.committedNumber + (isLog ? 1 : 0))
    }

    private var isLog: Bool { subscriber.stream.selection.log }
    private var isChunked: Bool { subscriber.stream.selection.isChunked }

    /// Everything after here has to be read.
    private var needed: HistoryPosition {
        isLog || reached.part == 0 ? reached : HistoryPosition(reached.number - 1)
    }

    /// Invariant: nothing is missing between two records; notes may be, where none were kept.
    /// Behind a note that is the record of its own number, which may be trimmed by now.
    private func isNext(_ record: HistoryEntry) -> Bool {
        isAtStart || record.number == needed.nextNumber
    }

    /// Whether everything that is kept begins with what the journal has first. If not, the file was
    /// trimmed further than memory, or everything is: then it begins where the stream does.
    private func begins(with first: HistoryEntry?) -> Bool {
        let stream = subscriber.stream
        let kept = session.keptPlace(for: stream.selection)
        if let first, first.number <= kept.nextNumber { return true }
        // What is too large for the stream is not shown; the rest is.
        guard session.extend(stream, backTo: kept) || first == nil else { return true }
        isAtStart = false
        reached = stream.coveredAfter
        return false
    }

    private func join() {
        cancel()
        let position = Position(session.generation, reached)
        subscriber.cursor = subscriber.stream.offset(after: position)
        if needsID, subscriber.cursor == subscriber.stream.end {
            var opening = StreamOpening(isChunked: isChunked)
            opening.block = Framing.idBlock(position)
            guard subscriber.send(opening) else { return }
        }
        subscriber.goOn()
    }

    /// What comes next is no longer in the journal either.
    private func lose() {
        cancel()
        subscriber.isLost = true
        subscriber.goOn()
    }

    /// Asks for the next slice, or waits with those who have asked for it.
    private func ask(through last: UInt64) {
        isAsking = true
        let (session, key) = (session, session.key)
        let place = SliceShelf.Place(
            selection: subscriber.stream.selection, reached: reached, passed: passed,
            isFromStart: isAtStart)
        // What is framed of a state depends on the states before, which each reader has for itself.
        let isShared = !subscriber.stream.selection.readsStates
        if isShared {
            if let slice = session.slices[place] {
                return session.table.turns.take { [self] in receive(slice) }
            }
            guard session.slices.awaits(place, self) else { return }
        }
        session.table.ask { [needed, passed] archive, answer in
            archive.records(
                of: key, after: max(needed, passed), through: last,
                limitBytes: Self.sliceBytes, answer)
        } then: { [self] result in
            guard isShared else {
                return session.table.turns.take { [self] in
                    if let known = known(of: result) { show(known) }
                }
            }
            // The first who is still there frames it, for those as well who come a little later.
            for reader in session.slices.arrived(at: place) {
                guard let slice = session.slices[place] ?? reader.frame(result) else { continue }
                session.table.turns.take { reader.receive(slice) }
                guard session.slices.keep(slice, at: place) else { continue }
                // A reader that takes nothing would keep it for ever.
                session.table.turns.atRest { [session] in session.slices.clear() }
            }
        }
    }

    private func receive(_ slice: SliceShelf.Slice) {
        isAsking = false
        guard !isOver else { return }
        reached = slice.reached
        isAtStart = false
        send(slice.framed)
    }

    /// Nil if there is nothing to send; then it has gone on already.
    private func frame(_ result: Result<[HistoryEntry], JournalFailure>) -> SliceShelf.Slice? {
        guard let known = known(of: result), let framed = frame(known) else { return nil }
        // Not before its turn.
        isAsking = true
        return SliceShelf.Slice(framed: framed, reached: reached)
    }

    /// What was read and may be shown; nil if that is nothing.
    private func known(of result: Result<[HistoryEntry], JournalFailure>) -> [HistoryEntry]? {
        guard take(result), case .success(let records) = result else { return nil }
        let shown = isLog ? records : records.filter { $0.part == 0 }
        if shown.isEmpty, let last = records.last {
            passed = last.position
            proceed()
            return nil
        }
        // Law: a commit of which the journal has not told us yet is left to the stream, which
        // would else tell it a second time.
        let end = session.committedPlace(for: subscriber.stream.selection)
        let known = Array(shown.prefix { $0.position <= end })
        if isAtStart, !begins(with: known.first) {
            proceed()
            return nil
        }
        guard let first = shown.first, isNext(first) else {
            lose()
            return nil
        }
        guard known.isEmpty else { return known }
        proceed()
        return nil
    }

    /// False if nobody waits for the answer, or if there is none: then the connection ends, and
    /// the client comes back with the id it has.
    private func take<Value>(_ result: Result<Value, JournalFailure>) -> Bool {
        isAsking = false
        guard !isOver else { return false }
        if case .failure(let failure) = result {
            session.note(.unreadable(failure.detail))
            cancel()
            subscriber.abandon()
            return false
        }
        return true
    }

    // MARK: Showing

    private func show(_ records: [HistoryEntry]) {
        guard fold == nil else { return frameAndSend(records) }
        let first = records[0]
        prepareFold(first.kind == .mutation ? first.version - 1 : first.version) {
            $0.frameAndSend(records)
        }
    }

    private func frameAndSend(_ records: [HistoryEntry]) {
        if let framed = frame(records) { send(framed) }
    }

    private func send(_ framed: [UInt8]) {
        if !framed.isEmpty { needsID = false }
        if subscriber.send(framed) { proceed() }
    }

    /// Nil: it can't be shown, and the connection ends.
    private func frame(_ records: [HistoryEntry]) -> [UInt8]? {
        var framed: [UInt8] = []
        do {
            for record in records { try frame(record, to: &framed) }
            return framed
        } catch {
            session.note(.unreadable("\(error.place): \(error.reason)"))
            cancel()
            subscriber.abandon()
            return nil
        }
    }

    private func frame(_ record: HistoryEntry, to out: inout [UInt8]) throws(RecoveryFault) {
        isAtStart = false
        guard !isLog else {
            LogEntry(record)?.appendEvent(session.generation, isChunked: isChunked, to: &out)
            return reached = HistoryPosition(record.number, part: record.part)
        }
        let skipped = record.number == reached.number ? reached.part : 0
        let stream = subscriber.stream
        let events = record.events.map {
            (source: session.source(of: $0.name, in: record.kind), data: $0.data)
        }
        let isShown = { (source: EventSource?) in source.map(stream.selection.includes) ?? false }
        let state = try changedState(by: record)
        let stateIndex = UInt32(clamping: events.count + 1)
        let lastEvent = events.lastIndex { isShown($0.source) }
        let last = state == nil ? UInt32(clamping: (lastEvent ?? -1) + 1) : stateIndex
        for (offset, event) in events.enumerated() {
            let index = UInt32(clamping: offset + 1)
            guard let source = event.source, isShown(source), index > skipped else { continue }
            let position = Position(
                session.generation, record.number, part: index == last ? 0 : index)
            Framing.append(
                session.prefix(of: source), position, event.data[...],
                isChunked: isChunked, to: &out)
        }
        if let state, stateIndex > skipped {
            Framing.append(
                Framing.state, Position(session.generation, record.number), state[...],
                isChunked: isChunked, to: &out)
        }
        reached = HistoryPosition(record.number)
    }

    /// The state to show for the record, if this stream shows one.
    private func changedState(by record: HistoryEntry) throws(RecoveryFault) -> [UInt8]? {
        guard let fold, record.kind == .mutation else { return nil }
        try fold.applyNext(record)
        var state: [UInt8] = []
        session.append(fold, to: &state)
        guard case .part = subscriber.stream.selection.states else { return state }
        let part = subscriber.stream.part(of: state)
        guard part != shownPart else { return nil }
        shownPart = part
        return part ?? Framing.null
    }

    // MARK: The state before the first record

    private func prepareFold(_ version: UInt64, then act: @escaping (Replay) -> Void) {
        isAsking = true
        session.rebuild(version) { [self] result in
            guard take(result), case .success(let rebuilt) = result else { return }
            guard let rebuilt = rebuilt?.fold else { return isAtStart ? startAgain() : lose() }
            fold = rebuilt
            if case .part = subscriber.stream.selection.states {
                var state: [UInt8] = []
                session.append(rebuilt, to: &state)
                shownPart = subscriber.stream.part(of: state)
            }
            act(self)
        }
    }

    private func startAgain() {
        startTries += 1
        guard startTries < Self.startLimit else { return lose() }
        proceed()
    }
}
