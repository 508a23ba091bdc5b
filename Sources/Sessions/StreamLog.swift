internal import DequeModule
internal import Wire

/// An event of a record, counted from 1; 0 is the whole record.
struct RecordEvent {
    var number: UInt64
    var index: UInt16
}

/// One selection's events, framed as Server-Sent Events once for all who read them.
///
/// Design: a subscriber is an offset in these bytes and nothing else. Live delivery and resume
/// are the same code: write from the offset to the end. A stream exists while it has
/// subscribers; it is made from the session's ``RecordLog`` and can be made again.
final class StreamLog {
    let selection: Selection

    /// Where an event ends. `index` counts all events of the record from 1, chosen or not, so
    /// that a part means the same on every stream.
    private struct Mark {
        var number: UInt64
        var index: UInt16
        var end: Int
    }

    private var bytes = ByteLog()
    /// Law: ascending by (number, index), and each ends where the next begins.
    private var marks: Deque<Mark> = []
    /// Every chosen event after this record is in `bytes`, up to `framedThrough`.
    private(set) var coveredAfter: UInt64
    private(set) var framedThrough: UInt64
    /// The part of the state that was shown last; only with `.part`.
    private var shownPart: [UInt8]?
    /// The snapshot block of one record number, for those who connect at the same moment.
    private var snapshot: (number: UInt64, block: [UInt8])?
    private(set) var subscribers: [Subscriber] = []
    /// The `end` event's offset and position, once it is there: nothing will follow, and whoever
    /// has everything is finished.
    private(set) var ending: (offset: Int, position: Position)?

    /// `shownPart`: what the selected part of the state is at `number`.
    init(_ selection: Selection, after number: UInt64, shownPart: [UInt8]?) {
        self.selection = selection
        self.coveredAfter = number
        self.framedThrough = number
        self.shownPart = shownPart
    }

    var end: Int { bytes.end }
    var isEnded: Bool { ending != nil }
    var isUnused: Bool { subscribers.isEmpty }

    // MARK: Subscribers

    func add(_ subscriber: Subscriber) {
        subscriber.index = subscribers.count
        subscribers.append(subscriber)
    }

    func remove(_ subscriber: Subscriber) {
        let index = subscriber.index
        guard index < subscribers.count, subscribers[index] === subscriber else { return }
        subscribers.swapAt(index, subscribers.count - 1)
        subscribers[index].index = index
        subscribers.removeLast()
    }

    /// The offset of the first event after `position`, which must be covered.
    func offset(after position: Position) -> Int {
        let index = position.part == 0 ? UInt16.max : position.part
        var low = 0
        var high = marks.count
        while low < high {
            let middle = (low + high) / 2
            let mark = marks[middle]
            if (mark.number, mark.index) <= (position.number, index) {
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

    /// Frames a committed record. Precondition: records come in order.
    func frame(_ entry: RecordLog.Entry, of session: Session, scratch: inout [UInt8]) {
        scratch.removeAll(keepingCapacity: true)
        let begin = bytes.end
        appendFrames(of: entry, from: session, to: &scratch) { index, end in
            marks.append(Mark(number: entry.number, index: index, end: begin + end))
        }
        bytes.append(scratch)
        framedThrough = entry.number
    }

    /// Makes the stream cover everything after `number`, at most `limit` bytes of it.
    /// Answers whether it does now.
    func extend(backTo number: UInt64, of session: Session, limit: Int) -> Bool {
        guard number < coveredAfter else { return true }
        // As in the session's own history: one record is kept even if it alone is larger.
        let isOne = number + 1 == coveredAfter
        var framed: [UInt8] = []
        var earlier: [Mark] = []
        let later = shownPart
        shownPart = part(of: session.state(at: number))
        defer {
            shownPart = later
            session.endReplay()
        }
        for earlierNumber in (number + 1)...coveredAfter {
            let entry = session.log.entry(earlierNumber)
            appendFrames(of: entry, from: session, to: &framed) { index, end in
                earlier.append(Mark(number: entry.number, index: index, end: end))
            }
            guard framed.count <= limit || isOne else { return false }
        }
        let begin = bytes.start - framed.count
        for mark in earlier.reversed() {
            marks.prepend(Mark(number: mark.number, index: mark.index, end: begin + mark.end))
        }
        bytes.prepend(framed)
        coveredAfter = number
        return true
    }

    /// Drops what the session no longer keeps, and the oldest records beyond `limit` bytes.
    /// A subscriber that is still there is told by `reset` once it has taken the rest of the
    /// event that it was cut off in.
    ///
    /// An eighth of slack: dropping looks at every subscriber, so it should not be done for
    /// each single record.
    func trim(keptAfter: UInt64, limit: Int) {
        guard bytes.count > limit + limit / 8 || coveredAfter + 1_024 < keptAfter else { return }
        var dropped = 0
        var number = coveredAfter
        while dropped < marks.count {
            let mark = marks[dropped]
            let isSurplus =
                bytes.end - (dropped == 0 ? bytes.start : marks[dropped - 1].end) > limit
            let isNewest = mark.number == marks[marks.count - 1].number
            guard mark.number <= keptAfter || (isSurplus && !isNewest) || mark.number == number
            else { break }
            number = mark.number
            dropped += 1
        }
        let offset = dropped == 0 ? bytes.start : marks[dropped - 1].end
        for subscriber in subscribers where subscriber.cursor < offset && !subscriber.isLost {
            loseTrack(subscriber)
        }
        marks.removeFirst(dropped)
        bytes.drop(before: offset)
        coveredAfter = max(number, min(keptAfter, framedThrough))
    }

    /// Law: `subscriber.unsent` holds the rest of the event it is in the middle of, if any;
    /// `lostAfter` is what it has seen when it has taken that.
    private func loseTrack(_ subscriber: Subscriber) {
        subscriber.isLost = true
        let next = markIndex(endingAfter: subscriber.cursor)
        subscriber.lostAfter = position(before: next, of: subscriber)
        guard next < marks.count else { return }
        let mark = marks[next]
        let start = next == 0 ? bytes.start : marks[next - 1].end
        guard start < subscriber.cursor else { return }
        subscriber.lostAfter = position(before: next + 1, of: subscriber)
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
    private func position(before index: Int, of subscriber: Subscriber) -> RecordEvent {
        // Whoever has every event has also what this stream shows nothing of.
        guard index < marks.count else { return RecordEvent(number: framedThrough, index: 0) }
        guard index > 0 else { return RecordEvent(number: coveredAfter, index: 0) }
        return RecordEvent(number: marks[index - 1].number, index: marks[index - 1].index)
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

    /// The session is back in memory, at this record. What is between is in the journal alone.
    func goOn(from number: UInt64) {
        for subscriber in subscribers where !subscriber.isLost && !subscriber.isReplaying {
            loseTrack(subscriber)
        }
        forgetAll()
        coveredAfter = number
        framedThrough = number
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

    /// Appends the chosen events of one record. Only the last carries the bare position
    /// (contract §1), so that a connection cut between two of them loses and repeats nothing.
    private func appendFrames(
        of entry: RecordLog.Entry, from session: Session, to out: inout [UInt8],
        ended: (_ index: UInt16, _ end: Int) -> Void
    ) {
        let events = session.log.events(of: entry)
        let state = changedState(of: entry, from: session)
        let stateIndex = UInt16(clamping: events.count(where: { $0.source != .state }) + 1)
        var last: UInt16 = state == nil ? 0 : stateIndex
        if state == nil {
            for (offset, event) in events.enumerated() where selection.includes(event.source) {
                last = UInt16(clamping: offset + 1)
            }
        }
        var index: UInt16 = 0
        for event in events where event.source != .state {
            index += 1
            guard selection.includes(event.source) else { continue }
            let position = Position(
                session.generation, entry.number, part: index == last ? 0 : index)
            Framing.append(
                session.prefix(of: event.source), position, session.log.data(of: event), to: &out)
            ended(index, out.count)
        }
        if let state {
            Framing.append(
                Framing.state, Position(session.generation, entry.number), state, to: &out)
            ended(stateIndex, out.count)
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
        Framing.append(Framing.end, position, Framing.deleted[...], to: &scratch)
        ending = (bytes.append(scratch), position)
    }
}
