/// Receives the contents of a journal: each live session, followed by its records, snapshots,
/// stored replies, running actions, timers and tags, then the deleted sessions, the oldest first.
package protocol JournalVisitor: AnyObject {
    /// Times are milliseconds since 1970 (UTC).
    func visit(_ session: SavedHead, created: Int64) throws
    /// In their order; also the newest one of a session whose others are trimmed.
    func visit(_ record: HistoryEntry) throws
    func visit(_ snapshot: Snapshot) throws
    func visit(_ answer: StoredAnswer) throws
    func visit(_ action: RunningAction) throws
    func visit(_ timer: SessionTimer) throws
    /// The tags of the last visited session. Called at most once for each session.
    func visit(_ tags: SessionTags) throws
    func visit(_ tombstone: SavedHead, deleted: Int64) throws
}

/// Writes a journal as text, as ``JournalLine`` describes it: complete with ``finish()`` only.
package final class JournalTextWriter: JournalVisitor {
    private let write: ([UInt8]) throws -> Void
    private var bytes: [UInt8] = JournalLine.head
    private var counts = LineCounts()

    /// - Parameter write: receives whole lines, about 64 KiB at a time.
    package init(write: @escaping ([UInt8]) throws -> Void) { self.write = write }

    package func visit(_ session: SavedHead, created: Int64) throws {
        counts.sessions += 1
        var line = JournalLine("session", session.key.session)
        line.add("reactor", session.reactor)
        line.add("generation", session.key.generation)
        line.add("created", created)
        if let owner = session.owner { line.add("owner", owner.text) }
        if let input = session.creation.input { line.add("input", json: input) }
        line.add("keptAfter", session.keptAfter)
        line.add("keptVersion", session.keptVersion)
        try append(line.finished)
    }

    package func visit(_ record: HistoryEntry) throws {
        counts.records += 1
        try append(HistoryCodec.line(record))
    }

    package func visit(_ snapshot: Snapshot) throws {
        counts.snapshots += 1
        try append(JournalLine.snapshot(snapshot))
    }

    package func visit(_ answer: StoredAnswer) throws {
        counts.answers += 1
        try append(JournalLine.answer(answer))
    }

    package func visit(_ action: RunningAction) throws {
        counts.running += 1
        try append(JournalLine.running(action))
    }

    package func visit(_ timer: SessionTimer) throws {
        counts.timers += 1
        try append(JournalLine.timer(timer))
    }

    package func visit(_ tags: SessionTags) throws {
        counts.tags += 1
        try append(JournalLine.tags(tags))
    }

    package func visit(_ tombstone: SavedHead, deleted: Int64) throws {
        counts.tombstones += 1
        var line = JournalLine("tombstone", tombstone.key.session)
        line.add("reactor", tombstone.reactor)
        line.add("generation", tombstone.key.generation)
        line.add("deleted", deleted)
        try append(line.finished)
    }

    /// Writes the end, which marks the text as complete.
    package func finish() throws {
        bytes += JournalLine.end(counts)
        try flush()
    }

    private func append(_ line: [UInt8]) throws {
        bytes += line
        if bytes.count >= 65_536 { try flush() }
    }

    private func flush() throws {
        try write(bytes)
        bytes.removeAll(keepingCapacity: true)
    }
}
