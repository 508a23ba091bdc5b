internal import Storage
internal import Wire

/// Frames a session's history as Server-Sent Events for one selection, both entries in memory and
/// entries from the journal.
///
/// Fields come in the order `event`, `id`, `cause`, `data` (WHATWG HTML §9.2.6: a reader ignores
/// the third, which the standard does not know). On a chunked stream each event is one chunk
/// (RFC 9112 §7.1).
///
/// Readers at different positions need different framers: a selected part of the state is shown
/// only when it changes.
package struct EventFramer {
    let selection: Selection
    /// The state (for patches) or the part (for `.part`) that was shown last. A part is a copy: a
    /// view of a few bytes would keep the whole state in memory.
    private var shown: ArraySlice<UInt8>?
    /// Whether the part in ``shown`` is not known.
    private(set) var lacksPart = false
    /// Whether ``shown`` is the data of an event of this framer.
    ///
    /// Why: before a restart, another program may have sent the reader another form of the state.
    /// So the first state is always whole.
    private var isBase = false
    /// Whether no object in ``shown`` is known to have two members of one name.
    private var isUnique = false

    /// Called for each event with its position, including its part, and the offset of its end in
    /// `out`.
    typealias Ended = (_ position: HistoryPosition, _ end: Int) -> Void

    init(_ selection: Selection) { self.selection = selection }

    // MARK: The state

    /// Sets the state that the readers have before the next record.
    mutating func showsPart(of state: ShownVersion) {
        forgetBase()
        guard case .part(let pointer) = selection.states else { return }
        keep(state.part(pointer))
    }

    /// After this, ``showsPart(of:)`` has to be called before the next state of a stream that shows
    /// a part.
    mutating func forgetPart() {
        forgetBase()
        guard case .part = selection.states else { return }
        (shown, lacksPart) = (nil, true)
    }

    /// Makes the next state whole.
    mutating func forgetBase() {
        (isBase, isUnique) = (false, false)
        if selection.states == .whole { shown = nil }
    }

    /// The bytes that are kept for the comparison with the next state.
    var heldBytes: Int { shown?.count ?? 0 }

    /// The state or part to show after a mutation, or a patch of the previous one; nil if the part
    /// has not changed.
    mutating func change(to state: ShownVersion) -> StateChange? {
        let value: ArraySlice<UInt8>?
        switch selection.states {
        case .part(let pointer):
            value = state.part(pointer)
            lacksPart = false
            guard value != shown else { return nil }
        default:
            value = state.bytes
            guard selection.asPatches else { return .state(state.bytes) }
        }
        let before = isBase ? shown : nil
        keep(value)
        guard selection.asPatches, state.isPatched(heldBytes) else {
            forgetBase()
            return .state(value ?? Self.null[...])
        }
        isBase = true
        guard let before, let value,
            let patch = state.patch(from: before, to: value, isUnique: &isUnique)
        else { return .state(shown ?? Self.null[...]) }
        return .patch(patch[...])
    }

    private mutating func keep(_ value: ArraySlice<UInt8>?) {
        lacksPart = false
        // For a slice of a whole array, this is the array, not a copy. Its capacity may be much
        // larger than its count.
        shown = value.map { value in
            let bytes = Array(value)
            return (bytes.capacity / 2 > bytes.count ? [] + bytes : bytes)[...]
        }
    }

    // MARK: Entries

    /// Appends the selected events of one record.
    ///
    /// Only the last one has the position without a part (contract §1), so that a client whose
    /// connection ends between two of them neither loses nor repeats an event.
    ///
    /// - Parameters:
    ///   - events: all events of the record without the state. An event's part is its index among
    ///     all of them, selected or not, so that it is the same on every stream.
    ///   - state: the state to show, or its patch, which is the last event.
    ///   - skipped: events up to this part were shown before.
    ///   - sharesState: whether a large state is returned instead of appended, so that its bytes
    ///     are not copied. The offsets that `ended` gets include it.
    @discardableResult
    func append(
        _ record: HistoryPosition, _ events: some RecordEvents, state: StateChange?,
        after skipped: UInt32 = 0, of feed: Feed, to out: inout [UInt8], sharesState: Bool = false,
        ended: Ended
    ) -> SharedData? {
        let stateIndex = UInt32(clamping: events.count + 1)
        let last = state == nil ? lastIndex(events) : stateIndex
        let cause = events.cause
        var index: UInt32 = 0
        for offset in 0..<events.count {
            index += 1
            guard index > skipped, let source = events.source(at: offset),
                selection.includes(source)
            else { continue }
            let id = HistoryPosition(record.number, part: index == last ? 0 : index)
            append(feed.prefix(of: source), id, cause, events.data(at: offset), feed, &out)
            ended(HistoryPosition(record.number, part: index), out.count)
        }
        guard let state, stateIndex > skipped else { return nil }
        let end = HistoryPosition(record.number, part: stateIndex)
        guard sharesState, state.data.count > WorkBudget.smallestBytes else {
            append(state.prefix, HistoryPosition(record.number), cause, state.data, feed, &out)
            ended(end, out.count)
            return nil
        }
        // For a slice of a whole array, this is the array itself, not a copy.
        var data = Array(LineSeparators.escaped(state.data))
        if data.capacity / 2 > data.count { data = [] + data }
        Self.appendHead(
            state.prefix, Position(feed.generation, record.number), cause: cause, data.count,
            isChunked: selection.isChunked, to: &out)
        let shared = SharedData(data: data, offset: out.count)
        Self.appendTail(isChunked: selection.isChunked, to: &out)
        ended(end, out.count + data.count)
        return shared
    }

    /// The data of a large event, which belongs at an offset in the bytes that were appended.
    struct SharedData {
        /// The encoded state itself, or a copy of its part. The state is copied as well if its
        /// array has much more memory than bytes.
        let data: [UInt8]
        let offset: Int
    }

    /// The index, from 1, of the last selected event; 0 if none is.
    private func lastIndex(_ events: some RecordEvents) -> UInt32 {
        var offset = events.count
        while offset > 0 {
            if let source = events.source(at: offset - 1), selection.includes(source) { break }
            offset -= 1
        }
        return UInt32(clamping: offset)
    }

    private func append(
        _ prefix: [UInt8], _ position: HistoryPosition, _ cause: String?,
        _ data: ArraySlice<UInt8>, _ feed: Feed, _ out: inout [UInt8]
    ) {
        Self.append(
            prefix, Position(feed.generation, position), cause: cause, data,
            isChunked: selection.isChunked, to: &out)
    }

    /// Appends an entry of the journal: the selected events of a record or, for the action
    /// log, its line.
    ///
    /// - Parameters:
    ///   - state: the state to show; nil for the action log.
    ///   - skipped: events up to this part were shown before.
    func append(
        _ entry: HistoryEntry, state: StateChange? = nil, after skipped: UInt32 = 0,
        of feed: Feed, to out: inout [UInt8], ended: Ended
    ) {
        guard selection.log else {
            append(
                entry.position, StoredEvents(entry, of: feed), state: state, after: skipped,
                of: feed, to: &out, ended: ended)
            return
        }
        guard let line = ActionLogLine(entry) else { return }
        append(line, of: feed, to: &out, ended: ended)
    }

    /// Appends an entry of the action log.
    func append(
        _ line: ActionLogLine, cause: String? = nil, of feed: Feed, to out: inout [UInt8],
        ended: Ended
    ) {
        line.appendEvent(
            feed.generation, cause: cause, isChunked: selection.isChunked, to: &out)
        ended(line.head.position, out.count)
    }
}

/// The event that shows a state, or the selected part of it.
enum StateChange {
    case state(ArraySlice<UInt8>)
    /// The operations (RFC 6902) that change the last shown state or part to the present one.
    case patch(ArraySlice<UInt8>)

    var data: ArraySlice<UInt8> {
        switch self {
        case .state(let data), .patch(let data): data
        }
    }

    var prefix: [UInt8] {
        switch self {
        case .state: EventFramer.state
        case .patch: EventFramer.patch
        }
    }
}

/// The events of one record, without its state.
package protocol RecordEvents {
    var count: Int { get }
    /// Nil if the present reactor has no such event: it counts as a part and is not shown.
    func source(at offset: Int) -> EventSource?
    /// One line of JSON.
    func data(at offset: Int) -> ArraySlice<UInt8>
    /// The `Idempotency-Key` of the request that has left the record. Nil without one, and for a
    /// record that memory does not keep.
    var cause: String? { get }
}

/// The events of a record that was read from the journal.
struct StoredEvents: RecordEvents {
    private let entry: HistoryEntry
    private let feed: Feed

    init(_ entry: HistoryEntry, of feed: Feed) {
        self.entry = entry
        self.feed = feed
    }

    var count: Int { entry.events.count }

    func source(at offset: Int) -> EventSource? {
        feed.source(of: entry.events[offset].name, in: entry.kind)
    }

    func data(at offset: Int) -> ArraySlice<UInt8> { entry.events[offset].data[...] }

    var cause: String? { nil }
}

// Blocks, and their constant parts, which are encoded once.
extension EventFramer {
    static let state = prefix("state")
    static let patch = prefix("patch")
    static let snapshot = prefix("snapshot")
    static let end = prefix("end")
    static let deleted = Array("{\"reason\":\"deleted\"}".utf8)
    package static let null = Array("null".utf8)

    static let causeField = Array("\ncause: ".utf8)
    private static let dataField = Array("\ndata: ".utf8)
    static let blankLine = Array("\n\n".utf8)
    private static let idField = Array("id: ".utf8)

    /// `event: <name>` and the beginning of the id line.
    ///
    /// - Parameter name: one line without NUL, which registration has checked.
    static func prefix(_ name: String) -> [UInt8] {
        Array("event: \(name)\nid: ".utf8)
    }

    /// The fields before the data of a snapshot.
    static func snapshotHead(_ position: Position) -> [UInt8] {
        var head = snapshot
        position.append(to: &head)
        return head + dataField
    }

    /// - Parameters:
    ///   - cause: 1 to 255 visible characters of ASCII.
    ///   - data: one line of JSON, as it is stored.
    static func append(
        _ prefix: [UInt8], _ position: Position, cause: String? = nil, _ data: ArraySlice<UInt8>,
        isChunked: Bool, to out: inout [UInt8]
    ) {
        let data = LineSeparators.escaped(data)
        // Otherwise the end of a large event would make the array grow by as much again.
        if data.count > WorkBudget.smallestBytes {
            out.reserveCapacity(out.count + data.count + 1_024)
        }
        appendHead(prefix, position, cause: cause, data.count, isChunked: isChunked, to: &out)
        out.append(contentsOf: data)
        appendTail(isChunked: isChunked, to: &out)
    }

    /// Appends what comes before the data of an event.
    private static func appendHead(
        _ prefix: [UInt8], _ position: Position, cause: String?, _ dataCount: Int,
        isChunked: Bool, to out: inout [UInt8]
    ) {
        if isChunked {
            let fields = prefix.count + position.byteCount + dataField.count + blankLine.count
            let extra = cause.map { causeField.count + $0.utf8.count } ?? 0
            ChunkEncoder.appendSize(fields + extra + dataCount, to: &out)
        }
        out.append(contentsOf: prefix)
        position.append(to: &out)
        if let cause {
            out.append(contentsOf: causeField)
            out.append(contentsOf: cause.utf8)
        }
        out.append(contentsOf: dataField)
    }

    /// Appends what comes after the data of an event.
    private static func appendTail(isChunked: Bool, to out: inout [UInt8]) {
        out.append(contentsOf: blankLine)
        if isChunked { ChunkEncoder.appendEnd(to: &out) }
    }

    /// The block that announces a gap: the following events do not continue the client's. Not
    /// framed as a chunk.
    ///
    /// - Parameter position: nil if a snapshot follows, whose id is the first one after the gap. A
    ///   client that is cut off between the two resumes before the gap, and gets both again; with
    ///   the position it would never get the snapshot.
    static func resetBlock(_ reason: ResetReason, _ position: Position?) -> [UInt8] {
        var block = Array("event: reset".utf8)
        if let position {
            block.append(UInt8(ascii: "\n"))
            block.append(contentsOf: idField)
            position.append(to: &block)
        }
        block.append(contentsOf: dataField)
        block.append(contentsOf: Array("{\"reason\":\"\(reason.rawValue)\"}".utf8))
        block.append(contentsOf: blankLine)
        return block
    }

    /// The block that sets Last-Event-ID and dispatches no event. Not framed as a chunk.
    static func idBlock(_ position: Position) -> [UInt8] {
        var block = idField
        position.append(to: &block)
        block.append(contentsOf: blankLine)
        return block
    }
}
