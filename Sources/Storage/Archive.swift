package import Cluster

/// Receives the result of a read, or its failure.
package typealias ArchiveAnswer<Value: Sendable> =
    @Sendable (Result<Value, JournalFailure>) -> Void

/// The reads of the records and the snapshots of one session.
///
/// Invariants: those of ``Archive``.
package protocol HistoryArchive: Sendable {
    typealias Answer<Value: Sendable> = ArchiveAnswer<Value>

    /// The records and notes of a session, in order, from the first after `start` up to and
    /// including the record `last`; no more than `limit`, and as many as fit into `limitBytes`, but
    /// at least one if there is any. The read uses an index: records before `start` cost nothing.
    ///
    /// The caller shows none that is after the newest end that it knows, from the session's head or
    /// load, or from a commit. Only ends are sure to outlive the loss of a database.
    func records(
        of session: SessionKey, after start: HistoryPosition, through last: UInt64, limit: Int,
        limitBytes: Int, _ answer: @escaping Answer<[HistoryEntry]>)

    /// The newest kept snapshot at or before `version`; nil if there is none: the rebuild then
    /// starts from the reactor's initial state at version 0.
    func snapshot(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Snapshot?>)

    /// The ``Snapshot/stateVersion`` of that snapshot. Default: the whole snapshot is read.
    func stateVersion(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Int?>)
}

extension HistoryArchive {
    /// The same, without a limit of entries.
    package func records(
        of session: SessionKey, after start: HistoryPosition, through last: UInt64, limitBytes: Int,
        _ answer: @escaping Answer<[HistoryEntry]>
    ) {
        records(
            of: session, after: start, through: last, limit: .max, limitBytes: limitBytes, answer)
    }

    package func stateVersion(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Int?>
    ) {
        snapshot(of: session, at: version) { result in answer(result.map { $0?.stateVersion }) }
    }
}

/// The reading side of a journal.
///
/// Invariants: reads see only committed records, and delay no commit; every reply comes once, on
/// any thread, never from inside the call. An ended session has no records.
package protocol Archive: HistoryArchive {
    /// The head of a session and the range of its kept records. It reads no record, so it works
    /// even if the session's records cannot be read. Nil if there never was a session with this id.
    func head(of session: String, _ answer: @escaping Answer<SavedHead?>)

    /// Loads the data to continue a session; nil if there never was one with this id.
    func load(_ session: String, _ answer: @escaping Answer<SavedSession?>)

    /// The stored reply to a request with this key, if it is still kept.
    func storedAnswer(
        of session: SessionKey, key: String, _ answer: @escaping Answer<StoredAnswer?>)

    /// The first live sessions of the range, ordered by id. The read uses an index: sessions
    /// outside of the range cost nothing. The owners and the ranges of kept records may be missing.
    func page(_ range: SessionRange, _ answer: @escaping Answer<[SavedHead]>)

    /// The first living sessions of the selection, with their tags. Each has its newest committed
    /// tags. A page costs no more than ``TaggedPage/examined`` rows of an index.
    func taggedPage(_ selection: TagSelection, _ answer: @escaping Answer<TaggedPage>)

    /// The timers of a session, in the order in which they are due; none if it has ended.
    func timers(of session: SessionKey, _ answer: @escaping Answer<[SessionTimer]>)
}

package struct SessionKey: Sendable, Hashable {
    package var session: String
    package var generation: String

    package init(session: String, generation: String) {
        self.session = session
        self.generation = generation
    }
}

/// The head of a session: its end in the journal, and the range of its kept records.
package struct SavedHead: Sendable, Equatable {
    package var key: SessionKey
    package var reactor: String
    /// The owner and the input. If only the head was read, there is no input.
    package var creation = SessionCreation()
    /// Whether the session was deleted; the other fields then have no meaning.
    package var isDeleted: Bool
    package var end = HistoryEnd()
    /// Records after this number are kept; 0 if nothing was trimmed.
    package var keptAfter: UInt64 = 0
    package var keptVersion: UInt64 = 0
    /// Nil if the journal has no tags of the session, or if only the head was read.
    package var tags: SessionTags?

    package init(key: SessionKey, reactor: String, isDeleted: Bool = false) {
        self.key = key
        self.reactor = reactor
        self.isDeleted = isDeleted
    }

    /// The client that created the session; nil if it was not authenticated.
    package var owner: ExactText? {
        get { creation.owner }
        set { creation.owner = newValue }
    }
}

/// The data to continue a session. It also has the properties of its head.
@dynamicMemberLookup
package struct SavedSession: Sendable, Equatable {
    package var head: SavedHead
    /// The newest snapshot; nil: start from the initial state.
    package var snapshot: Snapshot?
    /// The mutations since the snapshot, in order; their events and notes are omitted.
    package var mutations: [HistoryEntry] = []
    /// The highest `action` of any record, note, snapshot or running action; 0 if there was none.
    package var lastAction: UInt64 = 0
    /// The latest `time` of the newest snapshot and of the records and notes after it; 0 if there
    /// is none.
    package var lastTime: Int64 = 0
    /// Actions whose effects ran when the process ended.
    package var running: [RunningAction] = []
    /// Sorted by when they are due.
    package var timers: [SessionTimer] = []
    /// Whether there may be stored replies to requests with an `Idempotency-Key`.
    package var hasStoredAnswers = false
    /// Counts the changes of the session's owner; 0 for a journal without owners.
    package var epoch: Int64 = 0
    /// The owner of the session when it was read; nil for a journal without owners.
    package var ownership: SavedOwnership?

    package init(_ head: SavedHead) { self.head = head }

    package init(key: SessionKey, reactor: String, isDeleted: Bool = false) {
        head = SavedHead(key: key, reactor: reactor, isDeleted: isDeleted)
    }

    package subscript<Value>(dynamicMember path: WritableKeyPath<SavedHead, Value>) -> Value {
        get { head[keyPath: path] }
        set { head[keyPath: path] = newValue }
    }

    /// Adds the snapshot, the mutations since, and the running actions.
    ///
    /// - Parameter records: Shows its argument the records and notes after the position.
    package mutating func load(
        _ snapshot: Snapshot?, running: [RunningAction],
        _ records: (HistoryPosition, (HistoryEntry) -> Void) throws -> Void
    ) rethrows {
        var (newest, found) = (snapshot?.lastAction ?? 0, [HistoryEntry]())
        lastTime = snapshot?.time ?? 0
        try records(HistoryPosition(max(snapshot?.number ?? 0, self.keptAfter))) { record in
            newest = max(newest, record.action)
            lastTime = max(lastTime, record.time)
            guard record.kind == .mutation else { return }
            found.append(record)
            found[found.count - 1].events = []
        }
        (self.snapshot, self.running, mutations) = (snapshot, running, found)
        lastAction = max(newest, running.last?.action ?? 0)
    }

    /// The bytes of the session's state: those of the snapshot, of the mutations after it, and of
    /// the timers.
    package var stateBytes: Int {
        let bytes = mutations.reduce(snapshot?.state.count ?? 0) { $0 + $1.content.count }
        return timers.reduce(bytes) { $0 + $1.content.count }
    }
}

/// The owner of a session, as a journal keeps it.
package struct SavedOwnership: Sendable, Equatable {
    /// Nil: nobody has it.
    package var owner: Node?
    /// Counts the changes.
    package var epoch: Int64

    package init(owner: Node?, epoch: Int64) {
        self.owner = owner
        self.epoch = epoch
    }
}
