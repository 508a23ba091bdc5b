/// Consecutive records and notes of one generation of a session, encoded as a file stores them.
///
/// Why not an array of entries: their strings, arrays and events were half of the cost of a record,
/// mostly memory that one thread allocates and another one frees.
package struct RecordBatch: Sendable, Equatable {
    package let key: SessionKey
    /// The reactor's registered name.
    package let reactor: String
    /// The position that the batch continues; nil if it begins with the session's creation.
    package let after: HistoryPosition?
    /// Identifies decisions that a process has made one upon the other since it loaded the session
    /// or rolled one back. Why: another process's records may end where rolled back ones had ended.
    /// 0: decided upon nothing that may still be on its way.
    package let lineage: UInt64
    /// The epoch of the ownership under which the batch was decided; 0 for a journal without
    /// owners, and for the creation of a session, whose creator is its first owner.
    package var epoch: Int64 = 0
    package private(set) var text: [UInt8] = []
    package private(set) var count = 0
    package private(set) var first = HistoryPosition(0)
    package private(set) var last = HistoryPosition(0)
    package private(set) var version: UInt64 = 0
    package private(set) var created: Int64?
    /// The owner and the input of the session, if the batch begins with its creation.
    package private(set) var creation = SessionCreation()
    package private(set) var deleted: Int64?

    /// A session begins another batch once its last one has this many bytes.
    static let fullBytes = 16_384

    package init(
        of key: SessionKey, _ reactor: String, after: HistoryPosition?, lineage: UInt64
    ) {
        self.key = key
        self.reactor = reactor
        self.after = after
        self.lineage = lineage
    }

    /// Whether no record or note fits between its first entry and the position that it continues.
    package var followsItsEnd: Bool { after.map { first.follows($0) } ?? (created != nil) }

    package var isFull: Bool { text.count >= Self.fullBytes }

    /// - Parameter content: The content of the entry. For a creation, a ``SessionCreation``.
    /// - Precondition: The entry follows the last one; `write` appends exactly that entry.
    mutating func append(
        _ head: HistoryEntry.Head, _ content: [UInt8], _ write: (inout [UInt8]) -> Void
    ) {
        precondition(
            count == 0 || (deleted == nil && head.position.follows(last)), "a gap in a batch")
        if count == 0 {
            first = head.position
            if head.kind == .created {
                created = head.time
                creation = SessionCreation(content: content)
            }
        }
        if head.kind == .deleted { deleted = head.time }
        write(&text)
        count += 1
        last = head.position
        version = head.version
    }

    /// The length of a batch at one point in time.
    package struct Mark: Sendable {
        fileprivate let bytes: Int
        fileprivate let count: Int
        fileprivate let last: HistoryPosition
        fileprivate let version: UInt64
    }

    package var mark: Mark { Mark(bytes: text.count, count: count, last: last, version: version) }

    /// Removes the entries that were added since the mark.
    ///
    /// - Precondition: the mark is of this batch, and had an entry that was not its end.
    package mutating func rollBack(to mark: Mark) {
        text.removeSubrange(mark.bytes...)
        count = mark.count
        last = mark.last
        version = mark.version
        deleted = nil
    }

    package mutating func append(_ other: RecordBatch) {
        precondition(deleted == nil && other.first.follows(last), "a gap between batches")
        text += other.text
        count += other.count
        last = other.last
        version = other.version
        deleted = other.deleted
    }
}

// Access by entry: for tests, for tools and for journals without a file.
extension RecordBatch {
    /// - Precondition: the entry follows the last one.
    package mutating func append(_ entry: HistoryEntry) {
        var encoder = RecordEncoder()
        encoder.begin(entry)
        encoder.finish(in: &self)
    }
}

extension Batch {
    /// - Precondition: no entry follows the deletion of its session.
    ///
    /// - Parameters:
    ///   - ends: Where the histories of the sessions end. Default: at the entry before the first
    ///     one of the session; at a record, if that is one.
    ///   - lineage: See ``RecordBatch/lineage``.
    package init(
        records: [HistoryEntry], after ends: [SessionKey: HistoryPosition] = [:],
        lineage: UInt64 = 0
    ) {
        var (encoder, ends) = (RecordEncoder(), ends)
        for record in records {
            let key = record.key
            if runs.last?.key != key || runs.last?.continues(with: record.position) == false {
                let isNew = record.kind == .created
                let after = isNew ? nil : record.position.after(ends[key])
                runs.append(RecordBatch(of: key, record.reactor, after: after, lineage: lineage))
            }
            ends[key] = record.position
            encoder.begin(record)
            encoder.finish(in: &runs[runs.count - 1])
        }
    }

    package var records: [HistoryEntry] {
        get {
            var found: [HistoryEntry] = []
            for run in runs {
                do {
                    _ = try HistoryCodec.decode(run.text, of: run.key, run.reactor) { record in
                        found.append(record)
                        return true
                    }
                } catch {
                    preconditionFailure("\(error): only this module encodes batches")
                }
            }
            return found
        }
        set { runs = Batch(records: newValue).runs }
    }
}

extension HistoryPosition {
    /// The position that an entry at this one continues: `end`, if it can.
    fileprivate func after(_ end: HistoryPosition?) -> HistoryPosition {
        if let end, follows(end) { return end }
        guard part > 1 else { return HistoryPosition(max(number, 1) - 1) }
        return HistoryPosition(number, part: part - 1)
    }
}

extension RecordBatch {
    fileprivate func continues(with position: HistoryPosition) -> Bool {
        !isFull && deleted == nil && position.follows(last)
    }
}
