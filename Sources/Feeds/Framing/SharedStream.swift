// Why one file: the framed bytes, their marks and the offsets of the subscribers change together.

internal import DequeModule
internal import Storage
internal import Wire

/// The events of one selection, framed once for all of its subscribers.
///
/// Design: a live subscriber is an offset in these bytes. Live delivery and resumption are the same
/// code: write from the offset to the end. A stream exists while it has subscribers; it is framed
/// from the session's history and can be framed again.
package final class SharedStream {
    let selection: Selection

    private(set) var bytes = ChunkedBytes()
    /// Invariant: ascending by position; each event begins at the end of the event before it.
    private var marks: Deque<Mark> = []
    /// `bytes` contains the selected events after this position, up to `framedThrough`. Invariant:
    /// except on the action log, both are positions of records, whose events are added and dropped
    /// together.
    private(set) var coveredAfter: HistoryPosition
    private(set) var framedThrough: HistoryPosition {
        didSet { if hasAhead { admitAhead() } }
    }
    /// Whether a subscriber may be ahead of what is framed.
    private var hasAhead = false
    private var framer: EventFramer
    /// The snapshot block of one record number, for subscribers that connect at the same time.
    private var snapshot: (number: UInt64, block: ChargedBytes.Shared)?
    /// A large snapshot block, while it is being sent to a subscriber.
    private weak var largeSnapshot: ChargedBytes.Shared?
    private var largeSnapshotNumber: UInt64 = 0
    private(set) var subscribers: [Subscriber] = []
    /// The subscribers that are on this loop for readers on other ones.
    private var remoteCount = 0
    /// On other loops. Invariant: as long as one has a reader.
    private(set) var replicas: [RemoteReader] = []
    /// The charge of the kept bytes of states, for ``payer``; nil if they are few.
    private var charge: WorkCharge?
    /// In a replica: whether the first kept event is the first of a history, its `reset`. A reader
    /// that lacks it has no position in this history.
    private var beginsHistory = false
    /// In a replica: the charge of each run of kept bytes, and the offset at which the run ends.
    private var runCharges: Deque<(end: Int, charge: WorkCharge)> = []
    /// The subscriber whose client's share the kept bytes count in.
    private weak var payer: Subscriber?
    /// The subscribers before this index are the next to move.
    private var moveIndex = 0
    /// The tally of the loop.
    let tally: SubscriberTally
    /// For a stream of states of a followed session: the state at `framedThrough`, or an earlier
    /// one; nil if none is kept. The framer is at the same state.
    var keptState: KeptState? {
        // The records after it are shown to each reader from the journal.
        didSet { if keptState == nil { framer.forgetBase() } }
    }
    /// The offset and the position of the `end` event; nil while the session lives.
    private(set) var ending: (offset: Int, position: Position)?

    init(_ selection: Selection, after position: HistoryPosition, tally: SubscriberTally) {
        self.selection = selection
        self.tally = tally
        framer = EventFramer(selection)
        self.coveredAfter = position
        self.framedThrough = position
    }

    var end: Int { bytes.end }
    var isUnused: Bool { subscribers.isEmpty && replicas.isEmpty }

    /// The subscribers whose connections are on this loop.
    var localCount: Int { subscribers.count - remoteCount }

    /// The subscribers on all loops.
    var readerCount: Int { replicas.reduce(localCount) { $0 + $1.readers } }

    // MARK: Subscribers

    func add(_ subscriber: Subscriber) {
        subscriber.index = subscribers.count
        subscribers.append(subscriber)
        moveIndex = subscribers.count
        if subscriber.isRemote { remoteCount += 1 } else { tally.add(subscriber) }
    }

    /// - Returns: false if it is not one of them.
    @discardableResult
    func remove(_ subscriber: Subscriber) -> Bool {
        let index = subscriber.index
        guard index < subscribers.count, subscribers[index] === subscriber else { return false }
        subscribers.swapAt(index, subscribers.count - 1)
        subscribers[index].index = index
        subscribers.removeLast()
        if subscriber.isRemote { remoteCount -= 1 } else { tally.remove(subscriber) }
        if subscriber === payer { passCharge() }
        return true
    }

    /// The offset of the first event after `position`.
    ///
    /// - Precondition: the position is covered.
    func offset(after position: HistoryPosition) -> Int {
        let next = marks.firstIndex(after: position)
        return next == 0 ? bytes.start : marks[next - 1].end
    }

    /// The state of a subscriber that has everything up to `position`.
    ///
    /// - Precondition: the position is covered, or later than all that is framed.
    func place(after position: HistoryPosition) -> Subscriber.State {
        // A followed session may have ended meanwhile.
        if ending != nil { return .draining(offset(after: position)) }
        guard position.number <= framedThrough.number || selection.log else {
            hasAhead = true
            return .ahead(of: position)
        }
        return .live(offset(after: position))
    }

    /// More is framed, so subscribers that were ahead of the stream may now be live.
    private func admitAhead() {
        hasAhead = false
        for subscriber in subscribers { subscriber.streamAdvanced() }
    }

    /// Passes the bytes from `offset` to the end, piece by piece, until `act` returns false.
    func read(from offset: Int, _ act: (Span<UInt8>) -> Bool) {
        guard offset < bytes.end else { return }
        bytes.read(from: offset, act)
    }

    /// The newest bytes; see ``PendingDeliveries``.
    ///
    /// Why it is passed around: nearly every subscriber has all bytes before it, and searching for
    /// its next byte would cost as much as the rest of the delivery.
    var newestChunk: ChunkedBytes.Chunk { bytes.newestChunk }

    /// Writes to the subscribers that wait for a later pass, or for the end of the round.
    func deliverPending() {
        for subscriber in subscribers where subscriber.isPending { subscriber.deliverPending() }
    }

    // MARK: Framing

    /// Sets the state that the readers have before the next record.
    func showsPart(of state: ShownVersion) { framer.showsPart(of: state) }

    /// How many bytes a stream may have beyond its limit, until its subscribers have received them
    /// or fall behind. Why a bound: a few small actions can make many bytes of states.
    static let surplusBytes = 4 << 20

    /// Whether subscribers have to get bytes before more are added.
    func isFull(_ limit: Int) -> Bool { bytes.count - limit > Self.surplusBytes }

    /// Whether a subscriber reads the stream's bytes. Others read the journal.
    var isRead: Bool { subscribers.contains(where: \.readsStream) }

    /// Frames the events of at least one record, up to `position`. Stops earlier if the stream is
    /// full (``isFull(_:)``), or has grown by `room` bytes. An action log is framed whole.
    ///
    /// - Returns: the number of framed bytes.
    /// - Precondition: `position` is after `framedThrough`.
    func frame(
        through position: HistoryPosition, of feed: Feed, scratch: inout [UInt8], limit: Int,
        room: Int
    ) -> Int {
        let begin = bytes.end
        guard !selection.log else {
            frameNext(position, feed, nil, &scratch)
            return bytes.end - begin
        }
        for number in (framedThrough.number + 1)...position.number {
            frameNext(HistoryPosition(number), feed, nil, &scratch)
            if isFull(limit) || bytes.end - begin >= room { break }
        }
        return bytes.end - begin
    }

    /// Frames the events of the next record.
    ///
    /// - Parameter state: as the record has left it; nil if the record has changed none.
    /// - Returns: the number of bytes.
    /// - Precondition: if there is a state, the stream does not lack its part of the one before.
    func frameNext(
        of feed: Feed, showing state: ShownVersion?, scratch: inout [UInt8]
    ) -> Int {
        let begin = bytes.end
        frameNext(HistoryPosition(framedThrough.number + 1), feed, state, &scratch)
        return bytes.end - begin
    }

    /// Skips the events up to `position`, which no subscriber would read.
    ///
    /// - Precondition: ``isRead`` is false.
    func skip(to position: HistoryPosition) {
        removeAll()
        framer.forgetPart()
        coveredAfter = position
        framedThrough = position
    }

    /// Whether the state before the next record has to be found.
    var lacksPart: Bool { framer.lacksPart }

    /// Forgets the last part. The state before the next record is found when that is framed.
    func forgetPart() { framer.forgetPart() }

    /// Charges the bytes that the stream keeps of states. Without room it keeps none, and
    /// subscribers that have not received them fall behind.
    func account() {
        // The subscribers that still get the end need the bytes.
        guard ending == nil else { return }
        let kept = bytes.count + framer.heldBytes
        guard kept > WorkBudget.smallestBytes, !isUnused else { return charge = nil }
        if let charge {
            guard !charge.resize(to: kept) else { return }
        } else {
            payer = subscribers.first
            charge = tally.work.charge(kept, for: payer?.client, mayBeDropped: true)
            guard charge == nil else { return }
        }
        charge = nil
        dropAll()
        framer.forgetPart()
    }

    /// The subscriber that the kept bytes count for has left. They count for another one from now
    /// on.
    private func passCharge() {
        payer = subscribers.first
        charge = isUnused ? nil : charge?.passed(to: payer?.client)
    }

    private func frameNext(
        _ position: HistoryPosition, _ feed: Feed, _ state: ShownVersion?,
        _ scratch: inout [UInt8]
    ) {
        scratch.removeAll(keepingCapacity: true)
        let begin = bytes.end
        var shared: EventFramer.SharedData?
        if selection.log {
            _ = append(
                after: framedThrough, through: position, from: feed, to: &scratch, limit: .max,
                with: &framer
            ) { position, end in
                marks.append(Mark(position: position, end: begin + end))
            }
        } else if let (head, events) = feed.history.record(position.number) {
            let shown = state.flatMap { framer.change(to: $0) }
            shared = framer.append(
                head.position, events, state: shown, of: feed, to: &scratch, sharesState: true
            ) { position, end in
                marks.append(Mark(position: position, end: begin + end))
            }
        }
        if let shared {
            bytes.append(Array(scratch[..<shared.offset]))
            bytes.append(shared.data)
            bytes.append(Array(scratch[shared.offset...]))
        } else {
            add(&scratch)
        }
        framedThrough = position
        feed.loop.replicas.examine(self, of: feed)
    }

    /// Adds framed bytes. Many are shared, not copied, so the next events are framed in
    /// other memory.
    private func add(_ scratch: inout [UInt8]) {
        bytes.append(scratch)
        if scratch.count >= ChunkedBytes.largestChunkBytes { scratch = [] }
    }

    /// Frames the next records and notes, which another node has committed. Stops early if they
    /// make too many bytes, or if the pass has no time for their states.
    ///
    /// - Parameter end: the position of the last of them that this stream may show.
    /// - Returns: the bytes that were added.
    /// - Throws: if the state after a record cannot be made. Nothing is added then.
    /// - Precondition: if the stream shows states and a record is a mutation, the stream has the
    ///   state before the records.
    func frame(
        _ entries: [HistoryEntry], through end: HistoryPosition, of feed: Feed,
        scratch: inout [UInt8]
    ) throws(RecoveryFault) -> Int {
        scratch.removeAll(keepingCapacity: true)
        let begin = bytes.end
        let count = marks.count
        var end = end
        do {
            for entry in entries where selection.log || entry.part == 0 {
                // Encoding a state takes time even if only a part of it is shown.
                if scratch.count > Self.surplusBytes
                    || selection.readsStates && feed.loop.pass.isUsedUp
                {
                    end = HistoryPosition(entry.number - 1)
                    break
                }
                let state = try keptState?.state(after: entry, of: feed)
                let shown = state.flatMap {
                    framer.change(to: ShownVersion($0, feed.loop.pass))
                }
                framer.append(entry, state: shown, of: feed, to: &scratch) { position, end in
                    marks.append(Mark(position: position, end: begin + end))
                }
            }
        } catch {
            keptState = nil
            marks.removeLast(marks.count - count)
            throw error
        }
        if keptState?.exceedsLimit ?? false { keptState = nil }
        let made = scratch.count
        add(&scratch)
        framedThrough = end
        feed.loop.replicas.examine(self, of: feed)
        return made
    }

    /// Extends the stream to cover the events after `position`, by at most `limit` bytes.
    ///
    /// - Returns: whether the stream covers them now.
    func extend(backTo position: HistoryPosition, of feed: Feed, limit: Int) -> Bool {
        guard position < coveredAfter else { return true }
        var framed: [UInt8] = []
        var earlier: [Mark] = []
        var framer = EventFramer(selection)
        if case .part = selection.states {
            framer.showsPart(of: feed.shown(at: position.number))
        }
        defer { feed.endReplay() }
        let isWhole = append(
            after: position, through: coveredAfter, from: feed, to: &framed, limit: limit,
            with: &framer
        ) { position, end in
            earlier.append(Mark(position: position, end: end))
        }
        guard isWhole else { return false }
        let begin = bytes.start - framed.count
        for mark in earlier.reversed() {
            marks.prepend(Mark(position: mark.position, end: begin + mark.end))
        }
        bytes.prepend(framed)
        if coveredAfter == framedThrough { self.framer = framer }
        coveredAfter = position
        return true
    }

    /// Drops events that the session no longer keeps, and the oldest records beyond `limit` bytes.
    /// Subscribers that have not got them fall behind.
    ///
    /// The limit may be exceeded by an eighth: dropping visits every subscriber, so it is not done
    /// for each record.
    func trim(keptAfter: HistoryPosition, limit: Int) {
        // A subtraction, because the limit may be `Int.max`.
        guard bytes.count - limit > limit / 8 || coveredAfter.number + 1_024 < keptAfter.number
        else { return }
        var dropped = 0
        var last = coveredAfter
        while dropped < marks.count {
            let mark = marks[dropped]
            let isSurplus =
                bytes.end - (dropped == 0 ? bytes.start : marks[dropped - 1].end) > limit
            let isNewest = isTogether(mark.position, marks[marks.count - 1].position)
            guard
                mark.position <= keptAfter || (isSurplus && !isNewest)
                    || isTogether(mark.position, last)
            else { break }
            last = mark.position
            dropped += 1
        }
        let offset = dropped == 0 ? bytes.start : marks[dropped - 1].end
        deliverPending()
        for subscriber in subscribers { leaveBehind(subscriber, before: offset) }
        marks.removeFirst(dropped)
        dropBytes(before: offset)
        let covered = selection.log ? last : HistoryPosition(last.number)
        coveredAfter = max(covered, min(keptAfter, framedThrough))
    }

    /// Whether two events are dropped together: the events of one record are; on the action log
    /// each entry is dropped separately.
    private func isTogether(_ one: HistoryPosition, _ other: HistoryPosition) -> Bool {
        selection.log ? one == other : one.number == other.number
    }

    /// Makes the subscriber fall behind if it is live and before `offset`.
    ///
    /// Invariant: it gets the rest of an event that was partly written, so that whole
    /// events follow.
    private func leaveBehind(_ subscriber: Subscriber, before offset: Int) {
        if case .ahead(let position) = subscriber.state, offset == .max {
            return subscriber.fallBehind(after: position)
        }
        guard case .live(let cursor) = subscriber.state, cursor < offset else { return }
        let next = marks.firstIndex(endingAfter: cursor)
        let start = next == 0 ? bytes.start : marks[next - 1].end
        guard next < marks.count, start < cursor else {
            return subscriber.fallBehind(after: position(before: next))
        }
        var rest: [UInt8] = []
        let wanted = marks[next].end - cursor
        rest.reserveCapacity(wanted)
        bytes.read(from: cursor) { span in
            rest.append(copying: span.extracting(first: min(span.count, wanted - rest.count)))
            return rest.count < wanted
        }
        subscriber.fallBehind(after: position(before: next + 1), rest: rest)
    }

    /// The position of a reader that has all bytes before an offset between two events.
    func position(at offset: Int) -> HistoryPosition? {
        position(before: marks.firstIndex(endingAfter: offset))
    }

    /// The position of a reader that has all events before the mark of this index.
    private func position(before index: Int) -> HistoryPosition? {
        // A reader that has all events has also passed later records without an event
        // on this stream.
        guard index < marks.count else { return framedThrough }
        guard index == 0 else { return marks[index - 1].position }
        return beginsHistory ? nil : coveredAfter
    }

    /// Drops every event. Subscribers that have not got them fall behind.
    ///
    /// - Precondition: the session has not ended.
    func dropAll() {
        guard bytes.count > 0 else { return }
        deliverPending()
        for subscriber in subscribers { leaveBehind(subscriber, before: bytes.end) }
        removeAll()
    }

    /// Whether every subscriber has got all bytes.
    var isAtRest: Bool { subscribers.allSatisfy(\.isAtRest) }

    /// Drops every byte.
    ///
    /// - Precondition: no subscriber needs one.
    func removeAll() {
        marks.removeAll(keepingCapacity: false)
        dropBytes(before: bytes.end)
        charge = nil
        coveredAfter = framedThrough
        dropSnapshot()
    }

    private func dropBytes(before offset: Int) {
        if offset > bytes.start { beginsHistory = false }
        bytes.drop(before: offset)
        while let first = runCharges.first, first.end <= bytes.start { runCharges.removeFirst() }
    }

    /// Releases the snapshot block.
    func dropSnapshot() {
        snapshot = nil
        largeSnapshot = nil
    }

    /// The session was loaded into memory again, at this position. Only the journal has the events
    /// between.
    func restart(at position: HistoryPosition) {
        deliverPending()
        for subscriber in subscribers { leaveBehind(subscriber, before: .max) }
        removeAll()
        coveredAfter = position
        framedThrough = position
        framer.forgetBase()
        // A blocked one continues when its connection has accepted the rest of the present event.
        for subscriber in subscribers where !subscriber.isBlocked { subscriber.resume() }
    }

    /// The session's history is void. The subscribers get the rest of an event that was partly
    /// written, and wait for the session's next generation.
    func strand() {
        deliverPending()
        for subscriber in subscribers {
            leaveBehind(subscriber, before: .max)
            subscriber.strand()
        }
        removeAll()
        keptState = nil
    }

    /// The `snapshot` block at `number`, made once per number.
    ///
    /// - Parameter client: that holds the block.
    func snapshotBlock(
        at number: UInt64, for client: @autoclosure () -> WorkClient?,
        make: () throws(WorkOverload) -> ChargedBytes
    ) throws(WorkOverload) -> ChargedBytes {
        if let snapshot, snapshot.number == number {
            return try snapshot.block.held(by: client())
        }
        if let largeSnapshot, largeSnapshotNumber == number {
            return try largeSnapshot.held(by: client())
        }
        let block = try make()
        if block.bytes.count <= WorkBudget.smallestBytes {
            snapshot = (number, block.shared)
        } else {
            (largeSnapshot, largeSnapshotNumber) = (block.shared, number)
        }
        return block
    }

    /// Appends the events after `start` up to `end`.
    ///
    /// - Returns: false, with some of them appended, if they exceed `limit` bytes; the first entry
    ///   alone may exceed it.
    private func append(
        after start: HistoryPosition, through end: HistoryPosition, from feed: Feed,
        to out: inout [UInt8], limit: Int, with framer: inout EventFramer,
        ended: EventFramer.Ended
    ) -> Bool {
        guard
            case .entries(let entries) = feed.history.entries(
                after: start, through: end, notes: selection.log)
        else { return false }
        var isFirst = true
        var encoded = 0
        for (head, events) in entries {
            append(head, events, from: feed, to: &out, with: &framer, &encoded, ended)
            // Encoding a state takes time even if only a part of it is shown.
            guard isFirst || (out.count <= limit && encoded <= Self.surplusBytes) else {
                return false
            }
            isFirst = false
        }
        return true
    }

    private func append(
        _ head: HistoryEntry.Head, _ events: KeptEvents, from feed: Feed,
        to out: inout [UInt8], with framer: inout EventFramer, _ encoded: inout Int,
        _ ended: EventFramer.Ended
    ) {
        guard !selection.log else {
            guard let line = feed.line(head, events) else { return }
            return framer.append(
                line, cause: events.cause, of: feed, to: &out, ended: ended)
        }
        var state: StateChange?
        if selection.readsStates, head.kind == .mutation {
            let version = feed.shown(at: head.position.number, events)
            let before = feed.loop.pass.patchWork
            state = framer.change(to: version)
            encoded += version.bytes.count + feed.loop.pass.patchWork - before
        }
        framer.append(head.position, events, state: state, of: feed, to: &out, ended: ended)
    }

    /// Appends the session's last event.
    func appendEnd(_ position: Position, scratch: inout [UInt8]) {
        deliverPending()
        scratch.removeAll(keepingCapacity: true)
        EventFramer.append(
            EventFramer.end, position, EventFramer.deleted[...], isChunked: selection.isChunked,
            to: &scratch)
        ending = (bytes.append(scratch), position)
    }

    // MARK: Replicas, on the loop of the session

    /// The next subscriber to move to another loop: the newest, and then each in its turn, from the
    /// last to the first.
    ///
    /// - Precondition: there is one.
    func nextToMove() -> Subscriber {
        if moveIndex <= 0 || moveIndex > subscribers.count { moveIndex = subscribers.count }
        moveIndex -= 1
        return subscribers[moveIndex]
    }

    func replica(on loop: Int) -> RemoteReader? { replicas.first { $0.loop == loop } }

    func add(_ replica: RemoteReader) { replicas.append(replica) }

    func remove(_ replica: RemoteReader) { replicas.removeAll { $0 === replica } }

    /// Its subscriber joins the stream of another generation.
    func moveReplica(_ replica: RemoteReader, to next: SharedStream) {
        guard replicas.contains(where: { $0 === replica }) else { return }
        remove(replica)
        next.add(replica)
    }

    /// Bytes from `offset` on, up to the end of an event: all of them, or `limit`, or one event.
    func run(from offset: Int, limit: Int = .max) -> FramedRun {
        var (end, through) = (bytes.end, framedThrough)
        if end - offset > limit {
            let index = max(
                marks.firstIndex(endingAfter: offset),
                marks.firstIndex(endingAfter: offset + limit) - 1)
            if index < marks.count { (end, through) = (marks[index].end, marks[index].position) }
        }
        var run: [UInt8] = []
        let wanted = end - offset
        run.reserveCapacity(wanted)
        read(from: offset) { span in
            run.append(copying: span.extracting(first: min(span.count, wanted - run.count)))
            return run.count < wanted
        }
        return FramedRun(through: through, bytes: run)
    }

    /// All bytes from `offset` on, counted once for all loops if they are many.
    func chargedRun(from offset: Int) -> FramedRun {
        var run = run(from: offset)
        guard run.bytes.count > WorkBudget.smallestBytes else { return run }
        run.charge = tally.work.charge(
            run.bytes.count, for: (payer ?? subscribers.first)?.client, mayBeDropped: true)
        run.mayBeKept = run.charge != nil
        return run
    }

    // MARK: A replica, on the loop of its readers

    /// Appends events that the loop of the session has framed. They are kept and dropped together.
    func append(_ run: FramedRun) {
        bytes.append(run.bytes)
        marks.append(Mark(position: run.through, end: bytes.end))
        framedThrough = run.through
        if let charge = run.charge { runCharges.append((bytes.end, charge)) }
    }

    /// The events so far are void, and the next one is a `reset`. Subscribers that have not got all
    /// of them fall behind.
    func beginAnew() {
        dropAll()
        removeAll()
        coveredAfter = HistoryPosition(0)
        framedThrough = HistoryPosition(0)
        beginsHistory = true
        for subscriber in subscribers { subscriber.displace() }
    }

    /// Disconnects the subscribers.
    func abandonAll() {
        deliverPending()
        for subscriber in subscribers { subscriber.abandon() }
    }
}
