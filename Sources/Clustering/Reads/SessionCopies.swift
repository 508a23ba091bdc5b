internal import Feeds
internal import Sessions
internal import Storage

/// Copies of sessions that are not awake at this node, for later reads.
///
/// Each is shown only after the journal has confirmed that the session's history still ends where
/// the copy does. A copy that was not read for ``lifetime`` is removed. At ``limit``, or if the
/// work budget has no room for another copy, the one that was read least recently is removed.
struct SessionCopies {
    private struct Entry {
        let copy: SessionCopy
        /// By the loop's own clock in milliseconds.
        var lastRead: Int64
        /// How often history had been lost when the copy was loaded. After another loss, the copy
        /// is void.
        let losses: UInt64
    }

    private var entries: [SessionID: Entry] = [:]

    /// A state may be large.
    static let limit = 64
    static let lifetime: Int64 = 2_000

    mutating func find(_ id: SessionID, at now: Int64, _ losses: UInt64) -> SessionCopy? {
        guard let entry = entries[id] else { return nil }
        guard entry.losses == losses else {
            entries[id] = nil
            return nil
        }
        entries[id]?.lastRead = now
        return entry.copy
    }

    mutating func insert(_ copy: SessionCopy, at now: Int64, _ losses: UInt64) {
        if entries.count >= Self.limit, entries[copy.id] == nil { removeOldest() }
        entries[copy.id] = Entry(copy: copy, lastRead: now, losses: losses)
    }

    /// Removes the copy that was read least recently.
    ///
    /// - Returns: false if there is none.
    @discardableResult
    mutating func removeOldest() -> Bool {
        guard let oldest = entries.min(by: { $0.value.lastRead < $1.value.lastRead }) else {
            return false
        }
        entries[oldest.key] = nil
        return true
    }

    /// Removes a copy, unless a newer one was made meanwhile.
    mutating func remove(_ copy: SessionCopy) {
        if entries[copy.id]?.copy === copy { entries[copy.id] = nil }
    }

    mutating func removeUnused(at now: Int64) {
        guard !entries.isEmpty else { return }
        entries = entries.filter { now - $0.value.lastRead < Self.lifetime }
    }
}
