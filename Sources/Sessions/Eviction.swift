package import Feeds

/// Removes sessions from memory: those that were not used for some ticks, those that another node
/// is to continue, and, at the limit of awake sessions, the least recently used ones.
///
/// Design: each request that loads a session within the last sixteenth of the limit examines some
/// of the sessions, the least recently used first, and saves those that are at rest. So when the
/// limit is reached, there usually is a session that can leave at once. Otherwise the request is
/// refused, and the next request finds a session that has been saved. If no session is at rest,
/// each such request costs only these examinations. The next request continues where they stopped.
package final class Eviction {
    /// The number of calls of ``beginTick()``.
    private(set) var ticks: UInt64 = 0
    /// The sessions by their last use. Empty without an archive: sessions never sleep then.
    var idle = IdleSessions()
    /// The sessions that are saved or whose snapshots are under way, the least recently used first.
    private var candidates: [Session] = []
    /// The place in `idle` after the session that was examined last.
    private var cursor = Eviction.start
    /// The number of sessions that have left memory, asleep or ended, since the heap was trimmed.
    private var evictedCount = 0

    private static let candidateLimit = 32
    /// The number of sessions that one request examines.
    private static let examinationLimit = 64
    /// The number of sessions that have to leave memory before the heap is trimmed.
    private static let trimThreshold = 10_000
    package static let start = IdleSessions.Place(tick: 0, index: 0)

    // MARK: Uses

    /// Adds a session that has come into memory.
    func add(_ session: Session) {
        session.persistence?.lastUse = ticks
        session.persistence?.isUsed = true
        idle.put(session, at: ticks)
    }

    /// Records that a session is used: it stays awake for some more ticks. Called for every
    /// request; the first one in a tick costs a move within `idle`.
    func recordUse(of session: Session) {
        guard let persistence = session.persistence else { return }
        persistence.isUsed = true
        guard persistence.lastUse != ticks else { return }
        persistence.lastUse = ticks
        idle.put(session, at: ticks)
    }

    /// Makes a session that came into memory without a request the next one to fall asleep.
    func makeOldest(_ session: Session) { idle.put(session, at: 0) }

    func remove(_ session: Session) { idle.remove(session) }

    // MARK: Ticks

    /// Begins a tick. The candidates are released: some of them may have ended, and other sessions
    /// may be at rest by now.
    func beginTick() {
        ticks += 1
        removeCandidates()
    }

    func removeCandidates() {
        candidates = []
        cursor = Self.start
    }

    /// The limit of uncommitted snapshots in bytes. Beyond it no idle session is saved.
    private static let waitingBytes = 16 << 20

    /// Examines up to `limit` idle sessions, and fewer while the journal has much to write or if
    /// their states are large.
    ///
    /// - Returns: whether there may be more.
    func evictIdle(_ limit: Int, in table: SessionTable) -> Bool {
        guard ticks >= IdleSessions.ticks else { return false }
        let due = ticks - IdleSessions.ticks
        for _ in 0..<limit {
            guard table.commits.waitingBytes < Self.waitingBytes, !table.pass.isUsedUp else {
                return true
            }
            guard let session = idle.dequeue(through: due) else { return false }
            if session.isAtRest, session.isSaved {
                evict(session, from: table)
            } else {
                // Examined again at the next tick: its snapshot may be committed by then, or its
                // work may have ended.
                if session.isAtRest { session.save() }
                idle.put(session, at: due + 1)
            }
        }
        return true
    }

    // MARK: Other nodes

    /// Gives up some of the idle sessions, so that other nodes continue them. Examines up to
    /// `limit`, and continues with the next call.
    ///
    /// - Parameters:
    ///   - cursor: the place where the last call has stopped.
    ///   - mayLeave: called for each session at rest.
    ///   - act: called for each session that is given up, before that.
    /// - Returns: the number of sessions that were given up.
    package func giveUp(
        _ limit: Int, from cursor: inout IdleSessions.Place, in table: SessionTable,
        if mayLeave: (Session) -> Bool, act: (Session) -> Void = { _ in }
    ) -> Int {
        var count = 0
        for _ in 0..<limit {
            guard !table.pass.isUsedUp else { return count }
            let place = cursor
            guard let session = idle.next(&cursor) else {
                cursor = Self.start
                return count
            }
            guard session.isAtRest, mayLeave(session) else { continue }
            // It is given up with a later call, once the snapshot is committed.
            guard session.isSaved else {
                session.save()
                continue
            }
            act(session)
            evict(session, from: table)
            // Another session may be at its place now.
            cursor = place
            count += 1
        }
        return count
    }

    // MARK: The limit

    /// Puts a session to sleep if one more would exceed the limit.
    ///
    /// - Parameter isWanted: Whether a request waits for it. If not, a sixteenth of the limit is
    ///   left to requests.
    /// - Returns: whether there is room for one more.
    func makeRoom(in table: SessionTable, isWanted: Bool = true) -> Bool {
        let limit = table.limits.sessions
        let most = limit - max(1, limit / 16)
        guard table.limitedCount >= most else { return true }
        findCandidates(in: table)
        let allowed = isWanted ? limit : most
        guard table.limitedCount >= allowed else { return true }
        guard let index = candidates.firstIndex(where: { $0.isAtRest && $0.isSaved }) else {
            return false
        }
        evict(candidates.remove(at: index), from: table)
        return table.limitedCount < allowed
    }

    /// Whether there is room for all sessions that are being loaded, or will be when
    /// others have left. A topic's session needs no room.
    package func mayMakeRoom(for id: SessionID, in table: SessionTable) -> Bool {
        guard id.topic == nil else { return true }
        let surplus = table.limitedCount + table.loads.operations.count - table.limits.sessions
        guard surplus > 0 else { return true }
        findCandidates(in: table)
        return candidates.count { $0.isAtRest && $0.isSaved } >= surplus
    }

    private func findCandidates(in table: SessionTable) {
        // A session that was used since stays awake.
        candidates.removeAll { $0.uncommitted.isEmpty && !($0.isAtRest && $0.isSaved) }
        let wanted = min(Self.candidateLimit, max(1, table.awakeCount / 8))
        var hasRestarted = false
        for _ in 0..<Self.examinationLimit
        where candidates.count < wanted && !table.pass.isUsedUp {
            if let session = idle.next(&cursor) {
                examine(session)
            } else if hasRestarted {
                return
            } else {
                hasRestarted = true
                cursor = Self.start
            }
        }
    }

    private func examine(_ session: Session) {
        guard session.isAtRest, !candidates.contains(where: { $0 === session }) else { return }
        if !session.isSaved { session.save() }
        candidates.append(session)
    }

    // MARK: Leaving memory

    /// Puts a session that was just created with a large state to sleep, after its present answers.
    /// A request of a few bytes has made it, and nobody may ever use it.
    func putToSleep(_ session: Session, in table: SessionTable) {
        table.background.append { [self] in
            guard session.isAtRest, session.isSaved else { return }
            evict(session, from: table)
        }
    }

    /// - Precondition: the session is at rest, and saved.
    private func evict(_ session: Session, from table: SessionTable) {
        table.placement?.giveUp(session)
        session.fallAsleep()
        countEvicted()
    }

    func countEvicted() { evictedCount += 1 }

    /// Whether enough sessions have left memory, since this last returned true, that the heap
    /// should be trimmed.
    func takeHeapTrim() -> Bool {
        guard evictedCount >= Self.trimThreshold else { return false }
        evictedCount = 0
        return true
    }
}
