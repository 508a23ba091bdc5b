internal import DequeModule
internal import Storage
internal import Wire

/// One selection's events, framed as Server-Sent Events once for all who read them.
///
/// Design: a subscriber is an offset in these bytes and nothing else. Live delivery and resume
/// are the same code: write from the offset to the end. A stream exists while it has
/// subscribers; it is made from the session's ``RecordLog`` and can be made again.
final class StreamLog {
    let selection: Selection

    /// Where an event ends. The place's part counts all events of the record from 1, chosen or
    /// not, so that a part means the same on every stream of events; on the action log it counts
    /// the notes before the record, and 0 is the record.
    private struct Mark {
        var place: HistoryPosition
        var end: Int

        var number: UInt64 { place.number }
    }

    private var bytes = ByteLog()
    /// Law: ascending by place, and each ends where the next begins.
    private var marks: Deque<Mark> = []
    /// Every chosen event after this place is in `bytes`, up to `framedThrough`. Law: but on the
    /// action log both are records: their events come and go together.
    private(set) var coveredAfter: HistoryPosition
    private(set) var framedThrough: HistoryPosition
    /// The part of the state that was shown last; only with `.part`.
    private var shownPart: [UInt8]?
    /// The snapshot block of one record number, for those who connect at the same moment.
    private var snapshot: (number: UInt64, block: [UInt8])?
    private(set) var subscribers: [Subscriber] = []
    /// Of all streams of the loop.
    private let tally: SubscriberTally
    /// The `end` event's offset and position, once it is there: nothing will follow, and whoever
    /// has everything is finished.
    private(set) var ending: (offset: Int, position: Position)?

    init(_ selection: Selection, after place: HistoryPosition, tally: SubscriberTally) {
        self.selection = selection
        self.tally = tally
        self.coveredAfter = place
        self.framedThrough = place
    }

    var end: Int { bytes.end }
    var isEnded: Bool { ending != nil }
    var isUnused: Bool { subscribers.isEmpty }

    // MARK: Subscribers

    func add(_ subscriber: Subscriber) {
        subscriber.index = subscribers.count
        subscribers.append(subscriber)
        tally.count += 1
    }

    func remove(_ subscriber: Subscriber) {
        let index = subscriber.index
        guard index < subscribers.count, subscribers[index] === subscriber else { return }
        subscribers.swapAt(index, subscribers.count - 1)
        subscribers[index].index = index
        subscribers.removeLast()
        tally.count -= 1
    }

    /// The offset of the first event after `position`, which must be covered.
    func offset(after position: Position) -> Int {
        var low = 0
        var high = marks.count
        while low < high {
            let middle = (low + high) / 2
            if marks[middle].place <= position.inHistory {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low == 0 ? bytes.start : marks[low - 1].end
    }

    /// Writes what the subscriber has not got yet, as much as it takes.
    func advance(_ subscriber: Subscriber, through output: any SessionOutput) {
        guard subscriber.cursor < bytes.end else { return }
        bytes.read(from: subscriber.cursor) { span in
            let taken = output.write(span, to: subscriber.id)
            subscriber.cursor += taken
            subscriber.isBlocked = taken < span.count
            return !subscriber.isBlocked
        }
    }

    /// Writes to everyone who can take it. Nobody waits for anybody.
    func flush(through output: any SessionOutput) {
        for subscriber in subscribers where !subscriber.isBlocked && !subscriber.isReplaying {
            advance(subscriber, through: output)
        }
    }

    // MARK: Framing

    /// Frames what has been committed up to `place`, which is behind `framedThrough`.
    func frame(through place: HistoryPosition, of session: Session, scratch: inout [UInt8]) {
        guard !selection.log else { return frameNext(place, session, &scratch) }
        for number in (framedThrough.number + 1)...place.number {
            frameNext(HistoryPosition(number), session, &scratch)
        }
    }

    private func frameNext(
        _ place: HistoryPosition, _ session: Session, _ scratch: inout [UInt8]
    ) {
        scratch.removeAll(keepingCapacity: true)
        let begin = bytes.end
        _ = appendFrames(
            after: framedThrough, through: place, from: session, to: &scratch, limit: .max
        ) { place, end in
            marks.append(Mark(place: place, end: begin + end))
        }
        bytes.append(scratch)
        framedThrough = place
    }

    /// Makes the stream cover everything after `place`, at most `limit` bytes of it.
    /// Answers whether it does now.
    func extend(backTo place: HistoryPosition, of session: Session, limit: Int) -> Bool {
        guard place < coveredAfter else { return true }
        var framed: [UInt8] = []
        var earlier: [Mark] = []
        let later = shownPart
        if case .part = selection.states { shownPart = part(of: session.state(at: place.number)) }
        defer {
            shownPart = later
            session.endReplay()
        }
        let isWhole = appendFrames(
            after: place, through: coveredAfter, from: session, to: &framed, limit: limit
        ) { place, end in
            earlier.append(Mark(place: place, end: end))
        }
        guard isWhole else { return false }
        let begin = bytes.start - framed.count
        for mark in earlier.reversed() {
            marks.prepend(Mark(place: mark.place, end: begin + mark.end))
        }
        bytes.prepend(framed)
        coveredAfter = place
        return true
    }

    /// Drops what the session no longer keeps, and the oldest records beyond `limit` bytes.
    /// A subscriber that is still there is told by `reset` once it has taken the rest of the
    /// event that it was cut off in.
    ///
    /// An eighth of slack: dropping looks at every subscriber, so it should not be done for
    /// each single record.
    func trim(keptAfter: HistoryPosition, limit: Int) {
        // Subtracted, for the limit may be the largest number there is.
        guard bytes.count - limit > limit / 8 || coveredAfter.number + 1_024 < keptAfter.number
        else { return }
        var dropped = 0
        var last = coveredAfter
        while dropped < marks.count {
            let mark = marks[dropped]
            let isSurplus =
                bytes.end - (dropped == 0 ? bytes.start : marks[dropped - 1].end) > limit
            let isNewest = isTogether(mark.place, marks[marks.count - 1].place)
            guard
                mark.place <= keptAfter || (isSurplus && !isNewest) || isTogether(mark.place, last)
            else { break }
            last = mark.place
            dropped += 1
        }
        let offset = dropped == 0 ? bytes.start : marks[dropped - 1].end
        for subscriber in subscribers where subscriber.cursor < offset && !subscriber.isLost {
            loseTrack(subscriber)
        }
        marks.removeFirst(dropped)
        bytes.drop(before: offset)
        let covered = selection.log ? last : HistoryPosition(last.number)
        coveredAfter = max(covered, min(keptAfter, framedThrough))
    }

    /// Whether two events are dropped together: those of one record, but each entry of the action
    /// log is one of its own.
    private func isTogether(_ one: HistoryPosition, _ other: HistoryPosition) -> Bool {
        selection.log ? one == other : one.number == other.number
    }

    /// Law: `subscriber.unsent` holds the rest of the event it is in the middle of, if any;
    /// `lostAfter` is what it has seen when it has taken that.
    private func loseTrack(_ subscriber: Subscriber) {
        subscriber.isLost = true
        let next = markIndex(endingAfter: subscriber.cursor)
        subscriber.lostAfter = place(before: next)
        guard next < marks.count else { return }
        let mark = marks[next]
        let start = next == 0 ? bytes.start : marks[next - 1].end
        guard start < subscriber.cursor else { return }
        subscriber.lostAfter = place(before: next + 1)
        var rest: [UInt8] = []
        bytes.read(from: subscriber.cursor) { span in
            let wanted = min(span.count, mark.end - subscriber.cursor - rest.count)
            for index in 0..<wanted {
                rest.append(span[index])
            }
            return rest.count < mark.end - subscriber.cursor
        }
        subscriber.unsent.append(contentsOf: rest)
    }

    /// What has been seen by whoever has everything before the mark of this index.
    private func place(before index: Int) -> HistoryPosition {
        // Whoever has every event has also what this stream shows nothing of.
        guard index < marks.count else { return framedThrough }
        return index == 0 ? coveredAfter : marks[index - 1].place
    }

    /// Everybody has everything, and nothing is on its way.
    var isAtRest: Bool {
        subscribers.allSatisfy {
            !$0.isBlocked && !$0.isReplaying && !$0.isLost && $0.unsent.isEmpty
                && $0.cursor == bytes.end
        }
    }

    /// Drops every byte. Precondition: at rest.
    func forgetAll() {
        marks.removeAll(keepingCapacity: false)
        bytes.drop(before: bytes.end)
        coveredAfter = framedThrough
        snapshot = nil
    }

    /// The session is back in memory, at this place. What is between is in the journal alone.
    func goOn(from place: HistoryPosition) {
        for subscriber in subscribers where !subscriber.isLost && !subscriber.isReplaying {
            loseTrack(subscriber)
        }
        forgetAll()
        coveredAfter = place
        framedThrough = place
        // They go on by themselves when they have taken what they are in the middle of.
        for subscriber in subscribers where !subscriber.isBlocked { subscriber.resume() }
    }

    /// The first event that ends behind `offset`; `marks.count` if there is none.
    private func markIndex(endingAfter offset: Int) -> Int {
        var low = 0
        var high = marks.count
        while low < high {
            let middle = (low + high) / 2
            if marks[middle].end <= offset { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The `snapshot` block at `number`, made once for each number.
    func snapshotBlock(at number: UInt64, make: () -> [UInt8]) -> [UInt8] {
        if let snapshot, snapshot.number == number { return snapshot.block }
        let block = make()
        snapshot = (number, block)
        return block
    }

    /// Appends what is to be shown after `start` up to `end`. Answers false, with a part of it
    /// appended, if it has more than `limit` bytes; one record is shown even if it alone has.
    private func appendFrames(
        after start: HistoryPosition, through end: HistoryPosition, from session: Session,
        to out: inout [UInt8], limit: Int, ended: (_ place: HistoryPosition, _ end: Int) -> Void
    ) -> Bool {
        var count = 0
        guard selection.log else {
            for number in (start.number + 1)...end.number {
                appendFrames(of: session.log.entry(number), from: session, to: &out, ended: ended)
                count += 1
                guard out.count <= limit || count == 1 else { return false }
            }
            return out.count <= limit || count == 1
        }
        session.forEachEntry(after: start, through: end) { entry in
            entry.appendEvent(session.generation, isChunked: selection.isChunked, to: &out)
            ended(entry.place, out.count)
            count += 1
            return out.count <= limit || count == 1
        }
        return out.count <= limit || count == 1
    }

    /// Appends the chosen events of one record. Only the last carries the bare position
    /// (contract §1), so that a connection cut between two of them loses and repeats nothing.
    private func appendFrames(
        of entry: RecordLog.Entry, from session: Session, to out: inout [UInt8],
        ended: (_ place: HistoryPosition, _ end: Int) -> Void
    ) {
        let events = session.log.events(of: entry)
        let state = changedState(of: entry, from: session)
        let stateIndex = UInt32(clamping: events.count(where: { $0.source != .state }) + 1)
        var last: UInt32 = state == nil ? 0 : stateIndex
        if state == nil {
            for (offset, event) in events.enumerated() where selection.includes(event.source) {
                last = UInt32(clamping: offset + 1)
            }
        }
        var index: UInt32 = 0
        for event in events where event.source != .state {
            index += 1
            guard selection.includes(event.source) else { continue }
            let position = Position(
                session.generation, entry.number, part: index == last ? 0 : index)
            Framing.append(
                session.prefix(of: event.source), position, session.log.data(of: event),
                isChunked: selection.isChunked, to: &out)
            ended(HistoryPosition(entry.number, part: index), out.count)
        }
        if let state {
            Framing.append(
                Framing.state, Position(session.generation, entry.number), state,
                isChunked: selection.isChunked, to: &out)
            ended(HistoryPosition(entry.number, part: stateIndex), out.count)
        }
    }

    /// The state to show for the record, if this stream shows one.
    private func changedState(
        of entry: RecordLog.Entry, from session: Session
    ) -> ArraySlice<UInt8>? {
        guard selection.readsStates, entry.isMutation else { return nil }
        let stored = session.log.events(of: entry).first { $0.source == .state }
        let state = stored.map { session.log.data(of: $0) } ?? session.state(at: entry.number)[...]
        guard case .part = selection.states else { return state }
        let part = part(of: Array(state))
        guard part != shownPart else { return nil }
        shownPart = part
        return (part ?? Framing.null)[...]
    }

    /// What the readers know of the state when the next record comes.
    func showsPart(of state: [UInt8]) {
        shownPart = part(of: state)
    }

    /// The selected part of an encoded state; nil if it has none.
    func part(of state: [UInt8]) -> [UInt8]? {
        guard case .part(let pointer) = selection.states else { return nil }
        return StatePart.slice(pointer, of: state)
    }

    /// The last event of a session's life.
    func appendEnd(_ position: Position, scratch: inout [UInt8]) {
        scratch.removeAll(keepingCapacity: true)
        Framing.append(
            Framing.end, position, Framing.deleted[...], isChunked: selection.isChunked,
            to: &scratch)
        ending = (bytes.append(scratch), position)
    }
}
