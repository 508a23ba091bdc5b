/// The text being written, and the containers that are open in it.
///
/// Design: a type may open several containers and write to them in any order, while text grows only
/// at its end. Nearly all types write in order, so that is the direct path: a container is a frame,
/// and writing to it closes the containers that were opened inside it. Writing to a closed
/// container cuts the text there, writes, and appends the rest again (`JSONOutput+Insertion`).
/// Frames live as long as the `encode(to:)` call that opened them.
struct JSONOutput {
    var out: [UInt8]
    /// The start of this value: the text before it belongs to the caller.
    private(set) var origin: Int
    var frames: [JSONFrame] = []
    /// The last opened frame that is still open; -1 if there is none.
    var innermost = -1
    /// The slot of the innermost `encode(to:)` call. Writing to a frame outside it is misuse: the
    /// text would be placed in the middle of the slot's value.
    private var barrier = -1
    /// The first fault of a call that can't throw; `JSONWriter` throws it.
    private(set) var misuse: JSONEncodingFailure?
    /// The path of the first error that has no path of its own.
    private var blamed: [any CodingKey]?

    /// The maximum number of nested encodings, including an optional's own. It is above
    /// `JSONScanner.depthLimit`, the limit of arrays and objects for reading and writing alike, and
    /// low enough that an infinite value is an error and not a stack overflow.
    static let encodingLimit = 512

    init(appendingTo out: [UInt8]) {
        self.out = out
        origin = out.count
    }

    /// Resets everything; only the buffers are kept.
    mutating func begin(appendingTo out: [UInt8]) {
        self.out = out
        origin = out.count
        frames.removeAll(keepingCapacity: true)
        innermost = -1
        barrier = -1
        misuse = nil
        blamed = nil
    }

    // MARK: Values

    /// Opens the slot for a value at the end of the text.
    mutating func enter(_ type: any Any.Type) throws -> Entry {
        let entry = Entry(slot: frames.count, innermost: innermost, barrier: barrier)
        guard entry.slot < Self.encodingLimit else {
            throw invalid(type, "the value is nested too deeply")
        }
        if frames.capacity == 0 { frames.reserveCapacity(8) }
        frames.append(JSONFrame(parent: innermost, start: out.count, depth: depth))
        innermost = entry.slot
        barrier = entry.slot
        return entry
    }

    /// The number of arrays and objects around the next value.
    var depth: Int { innermost < 0 ? 0 : frames[innermost].depth }

    /// The state around a slot when it was opened.
    struct Entry {
        let slot: Int
        let innermost: Int
        let barrier: Int
    }

    /// Ends the slot's value: closes its open containers and removes its frames.
    mutating func leave(_ entry: Entry) throws {
        while innermost > entry.slot { close() }
        if entry.slot == 0, frames[0].kind == .slot {
            throw invalid(Any.self, "the value encodes nothing")
        }
        close()
        while frames.count > entry.slot { frames.removeLast() }
        innermost = entry.innermost
        barrier = entry.barrier
    }

    /// Removes all text that was written.
    mutating func clear() {
        out.removeSubrange(origin...)
        frames = []
    }

    /// The elements or members that the frame has so far.
    func count(of frame: Int) -> Int {
        frame < frames.count ? frames[frame].count : 0
    }

    // MARK: Elements

    /// The state that is needed to undo an element or to end it.
    struct Mark {
        let frame: Int
        let length: Int
        let frameCount: Int
        let barrier: Int
        let insertion: Insertion?
    }

    /// Starts the frame's next element at the end of the text.
    mutating func begin(_ frame: Int) -> Mark {
        let insertion = reach(frame)
        let mark = Mark(
            frame: frame, length: out.count, frameCount: frames.count, barrier: barrier,
            insertion: insertion)
        guard frame < frames.count else { return mark }
        if frames[frame].count > 0 { out.append(UInt8(ascii: ",")) }
        frames[frame].count += 1
        return mark
    }

    /// The same for a member of an object: its value is written next.
    mutating func begin(_ frame: Int, key: String) -> Mark {
        let mark = begin(frame)
        JSONText.append(key, to: &out)
        out.append(UInt8(ascii: ":"))
        return mark
    }

    /// Writes a member whose value is not a container.
    mutating func member(
        _ frame: Int, _ key: String, _ value: (inout JSONOutput) throws -> Void
    ) throws {
        try fill(begin(frame, key: key), value)
    }

    /// Writes an element that is not a container.
    mutating func element(_ frame: Int, _ value: (inout JSONOutput) throws -> Void) throws {
        try fill(begin(frame), value)
    }

    /// Writes the only value of a slot; it is not a container.
    mutating func scalar(_ slot: Int, _ value: (inout JSONOutput) throws -> Void) throws {
        try fill(beginScalar(slot), value)
    }

    private mutating func fill(
        _ mark: Mark, _ value: (inout JSONOutput) throws -> Void
    ) throws {
        do {
            try value(&self)
        } catch {
            rollBack(mark, because: error)
            throw error
        }
        finish(mark)
    }

    mutating func finish(_ mark: Mark) {
        if let insertion = mark.insertion { endInsertion(insertion, mark) }
    }

    /// Removes an element whose encoding failed: the type may then encode another value.
    mutating func rollBack(_ mark: Mark, because error: any Error) {
        if blamed == nil, !(error is EncodingError) { blamed = path(to: out.count) }
        guard mark.frame < mark.frameCount else { return }
        frames.removeLast(frames.count - mark.frameCount)
        out.removeSubrange(mark.length...)
        innermost = mark.frame
        barrier = mark.barrier
        if frames[mark.frame].kind == .scalar {
            frames[mark.frame].kind = .slot
        } else {
            frames[mark.frame].count -= 1
        }
        finish(mark)
    }

    /// Makes `frame` the innermost one. Returns the text that was cut off if it was closed.
    private mutating func reach(_ frame: Int) -> Insertion? {
        if frame == innermost { return nil }
        guard frame < frames.count, frame >= barrier else {
            recordMisuse("a container is used outside of the encode(to:) that it was made for")
            return nil
        }
        guard frames[frame].isOpen else {
            return beginInsertion(at: frames[frame].end, reopening: frame)
        }
        while innermost > frame { close() }
        return nil
    }

    // MARK: Frames

    /// Opens a frame within `parent`, at the end of the text.
    mutating func open(_ kind: JSONFrame.Kind, in parent: Int) -> Int {
        // Invariant: if `parent` is stale, a misuse is recorded and the text is discarded.
        let depth = parent < frames.count ? frames[parent].depth : 0
        frames.append(JSONFrame(parent: parent, start: out.count, depth: depth))
        innermost = frames.count - 1
        if kind != .slot { fill(innermost, with: kind) }
        return innermost
    }

    /// The open container of the same kind that a type opened under this key before.
    ///
    /// Why: Foundation's encoder returns the same container again, and a duplicate key cannot be
    /// read back. The key is read from the text before the container.
    func opened(_ kind: JSONFrame.Kind, under key: String, in frame: Int) -> Int? {
        guard frame < frames.count, frames[frame].count > 0 else { return nil }
        var label: [UInt8] = []
        for index in frames.indices.dropFirst(frame + 1)
        where frames[index].parent == frame && frames[index].kind == kind {
            if label.isEmpty {
                JSONText.append(key, to: &label)
                label.append(UInt8(ascii: ":"))
            }
            if out[..<frames[index].start].suffix(label.count) == label[...] { return index }
        }
        return nil
    }

    /// Makes a slot a container; returns the existing one if it is one already.
    mutating func fill(_ slot: Int, with kind: JSONFrame.Kind) {
        guard slot < frames.count, slot >= barrier else {
            return recordMisuse(
                "an encoder is used outside of the encode(to:) that it was made for")
        }
        if frames[slot].kind == kind { return }
        guard frames[slot].kind == .slot else {
            return recordMisuse("a value encodes itself in two ways at once")
        }
        frames[slot].kind = kind
        frames[slot].depth += 1
        if frames[slot].depth > JSONScanner.depthLimit {
            recordMisuse(Self.tooDeep, at: frames[slot].start)
        }
        if !frames[slot].isOpen {
            if kind == .array {
                out[frames[slot].start] = UInt8(ascii: "[")
                out[frames[slot].end] = UInt8(ascii: "]")
            }
        } else if kind == .array {
            out.append(UInt8(ascii: "["))
        } else if kind == .object {
            out.append(UInt8(ascii: "{"))
        }
    }

    /// Starts the only value of a slot; the value is not a container of the slot.
    mutating func beginScalar(_ slot: Int) throws -> Mark {
        guard slot < frames.count, slot >= barrier, frames[slot].kind == .slot else {
            let context = EncodingError.Context(
                codingPath: path(to: out.count),
                debugDescription: "a value encodes itself in two ways at once")
            throw EncodingError.invalidValue(Any.self, context)
        }
        let insertion = frames[slot].isOpen ? nil : beginInsertion(replacing: slot)
        frames[slot].kind = .scalar
        return Mark(
            frame: slot, length: out.count, frameCount: frames.count, barrier: barrier,
            insertion: insertion)
    }

    /// Opens the object of a `TaggedCodable` enum's case and writes its `type`.
    mutating func beginCase(_ name: String, in frame: Int) {
        guard frame < frames.count, frame >= barrier, frames[frame].kind == .tag else {
            return recordMisuse(JSONTag.notAnEnum)
        }
        frames[frame].kind = .object
        frames[frame].count = 1
        out.append(contentsOf: "{\"\(JSONTag.name)\":".utf8)
        JSONText.append(name, to: &out)
    }

    mutating func close() {
        let index = innermost
        switch frames[index].kind {
        case .slot:
            // Precedent: Foundation writes an empty object for a value that encodes nothing.
            out.append(contentsOf: "{}".utf8)
            frames[index].end = out.count - 1
        case .tag: recordMisuse(JSONTag.notAnEnum)
        case .scalar: frames[index].end = out.count
        case .array: close(index, with: UInt8(ascii: "]"))
        case .object: close(index, with: UInt8(ascii: "}"))
        }
        frames[index].isOpen = false
        innermost = frames[index].parent
    }

    private mutating func close(_ index: Int, with bracket: UInt8) {
        if frames[index].order != .written, frames[index].count > 1 { sort(index) }
        frames[index].end = out.count
        out.append(bracket)
    }

    // MARK: Errors

    mutating func recordMisuse(_ misuse: String) {
        if self.misuse == nil { self.misuse = JSONEncodingFailure(path: "", reason: misuse) }
    }

    private mutating func recordMisuse(_ fault: String, at offset: Int) {
        guard misuse == nil else { return }
        misuse = JSONEncodingFailure(
            path: JSONPointer(path(to: offset)).description, reason: fault)
    }

    static let tooDeep =
        "too deep to be decoded again: more than \(JSONScanner.depthLimit) nested arrays and objects"

    func invalid(_ value: Any, _ reason: String) -> EncodingError {
        .invalidValue(value, .init(codingPath: path(to: out.count), debugDescription: reason))
    }

    func failure(for error: any Error) -> JSONEncodingFailure {
        if case EncodingError.invalidValue(_, let context) = error {
            return JSONEncodingFailure(
                path: JSONPointer(context.codingPath).description,
                reason: context.debugDescription)
        }
        return JSONEncodingFailure(
            path: JSONPointer(blamed ?? []).description, reason: String(describing: error))
    }
}
