import FuzzSupport
@testable import Storage

@main enum RecordsTarget: FuzzTarget {}

private let key = SessionKey(session: "s", generation: "abcdefgh")

/// The records of the journal's file and of an export: bytes of any kind are refused, or read
/// as entries that are the same when they are written and read again, and whose positions
/// have an order.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRecords(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe FuzzInput(start, count).bytes
    let entries = read(bytes)
    var text: [UInt8] = []
    for entry in entries { HistoryCodec.append(entry, to: &text) }
    require(read(text) == entries, "entries change when they are written")
    checkSequence(of: entries)
    for line in bytes.split(separator: 0x0a).prefix(16) { checkLine(Array(line)) }
    for entry in entries {
        guard let copy = exported(HistoryCodec.line(entry).dropLast()) else {
            fatalError("an exported entry cannot be read: \(entry)")
        }
        require(copy.head == entry.head, "an export changes the head of \(entry)")
    }
    return 0
}

private func read(_ text: [UInt8]) -> [HistoryEntry] {
    var entries: [HistoryEntry] = []
    // Damage ends the reading; the entries before it count.
    _ = try? HistoryCodec.decode(text, of: key, "") { entry in
        entries.append(entry)
        return entries.count < 64
    }
    return entries
}

/// Does what the journal's tools do with the entries of a session.
private func checkSequence(of entries: [HistoryEntry]) {
    var sequence = RecordSequence(keptAfter: 0, version: 0)
    var last: HistoryPosition?
    for entry in entries {
        _ = sequence.problem(with: entry)
        if let last { _ = entry.position.follows(last) }
        last = entry.position
        let end = HistoryEnd(entry.position, version: entry.version)
        require(end.position == entry.position, "the end at \(entry.position) is elsewhere")
        require(entry.position.recordBefore <= entry.position, "\(entry.position) has no order")
    }
}

private func exported(_ line: some Sequence<UInt8>) -> HistoryEntry? {
    guard let fields = JournalFields(Array(line)) else { return nil }
    return try? HistoryCodec.entry(fields, of: key)
}

/// A line of an export, of any kind.
private func checkLine(_ line: [UInt8]) {
    guard let fields = JournalFields(line) else { return }
    if let entry = try? HistoryCodec.entry(fields, of: key) {
        require(exported(HistoryCodec.line(entry).dropLast()) == entry, "a line changes: \(entry)")
        checkSequence(of: [entry])
    }
    if let snapshot = try? fields.snapshot(key) {
        let copy = JournalFields(Array(JournalLine.snapshot(snapshot).dropLast()))
        require((try? copy?.snapshot(key)) == snapshot, "a snapshot changes: \(snapshot)")
    }
    if let answer = try? fields.answer(key) {
        let copy = JournalFields(Array(JournalLine.answer(answer).dropLast()))
        require((try? copy?.answer(key)) == answer, "an answer changes: \(answer)")
    }
    _ = try? fields.counts()
}
