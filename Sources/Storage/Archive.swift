/// Takes what an archive found, or why it could not be read.
package typealias ArchiveAnswer<Value: Sendable> =
    @Sendable (Result<Value, JournalFailure>) -> Void

/// The reading side of a journal.
///
/// Invariants: only committed records are seen; every answer comes exactly once, on any thread, never
/// from inside the call; a read never holds up a commit.
package protocol Archive: Sendable {
    typealias Answer<Value: Sendable> = ArchiveAnswer<Value>

    /// Where a session stands and what is kept of it, without reading a record: it is answered
    /// too for a session whose records can't be read. Nil if there never was one of this id.
    func head(of session: String, _ answer: @escaping Answer<SavedHead?>)

    /// Loads the data to continue a session; nil if there never was one of this id.
    func load(_ session: String, _ answer: @escaping Answer<SavedSession?>)

    /// The records and notes of a session, in order, from the first after `start` up to and
    /// including the record `last`; as many as fit into `limit` bytes, but one at least if there
    /// is one. An index seek: what came before `start` costs nothing.
    func records(
        of session: SessionKey, after start: HistoryPosition, through last: UInt64, limitBytes: Int,
        _ answer: @escaping Answer<[HistoryEntry]>)

    /// The newest kept snapshot at or before `version`; nil if there is none, which means that
    /// the state of version 0 is the reactor's initial state.
    func snapshot(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Snapshot?>)

    /// The stored answer to a request with this key, if it is still kept.
    func storedAnswer(
        of session: SessionKey, key: String, _ answer: @escaping Answer<StoredAnswer?>)

    /// The first `limit` living sessions after `id` in the order of their ids.
    func page(
        after id: String?, limit: Int, reactor: String?, _ answer: @escaping Answer<[SavedLine]>)
}

/// One life of a session.
package struct SessionKey: Sendable, Hashable {
    package var session: String
    package var generation: String

    package init(session: String, generation: String) {
        self.session = session
        self.generation = generation
    }
}

/// A session as a page of sessions shows it.
package struct SavedLine: Sendable, Equatable {
    package var session: String
    package var reactor: String
    package var generation: String
    package var lastNumber: UInt64
    package var lastVersion: UInt64

    package init(
        session: String, reactor: String, generation: String, lastNumber: UInt64,
        lastVersion: UInt64
    ) {
        self.session = session
        self.reactor = reactor
        self.generation = generation
        self.lastNumber = lastNumber
        self.lastVersion = lastVersion
    }
}

/// Where a session stands in its journal.
package struct SavedHead: Sendable, Equatable {
    package var key: SessionKey
    package var reactor: String
    /// It was deleted: nothing of the rest matters.
    package var isDeleted: Bool
    package var end = HistoryEnd()
    /// Records after this number are kept; 0 if nothing was trimmed.
    package var keptAfter: UInt64 = 0
    /// The version at `keptAfter`.
    package var keptVersion: UInt64 = 0

    package init(key: SessionKey, reactor: String, isDeleted: Bool = false) {
        self.key = key
        self.reactor = reactor
        self.isDeleted = isDeleted
    }
}

/// A session as a journal keeps it.
package struct SavedSession: Sendable, Equatable {
    package var key: SessionKey
    package var reactor: String
    /// It was deleted: nothing of the rest matters.
    package var isDeleted: Bool
    package var end: HistoryEnd
    /// Records after this number are kept; older ones were trimmed. 0 if nothing was.
    package var keptAfter: UInt64
    /// The version at `keptAfter`.
    package var keptVersion: UInt64
    /// The newest one; nil: start from the initial state.
    package var snapshot: Snapshot?
    /// The mutations since the snapshot, in order; events and notes are left out.
    package var mutations: [HistoryEntry]
    /// The greatest `action` of any record, note, snapshot or running action; 0 if there was none.
    package var lastAction: UInt64
    /// Actions whose effects ran when the process ended.
    package var running: [RunningAction]
    /// Whether there may be stored answers to requests with an `Idempotency-Key`.
    package var hasStoredAnswers: Bool

    package init(key: SessionKey, reactor: String, isDeleted: Bool = false) {
        self.key = key
        self.reactor = reactor
        self.isDeleted = isDeleted
        end = HistoryEnd()
        keptAfter = 0
        keptVersion = 0
        mutations = []
        lastAction = 0
        running = []
        hasStoredAnswers = false
    }
}
