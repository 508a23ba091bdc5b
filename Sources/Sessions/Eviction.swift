/// Which sessions leave memory for others that come back, when as many are awake as may be.
///
/// Design: each request that wakes a session in the last sixteenth of the limit looks at some of the
/// sessions, the least recently used first, and saves those that are at rest: so as a rule one that
/// can leave at once is there when the limit is reached. Otherwise the request is refused, and the
/// next one finds it. A table in which nothing is at rest costs each of them these looks and no
/// more; the next one continues where this one stopped.
struct Eviction {
    /// Saved, or their snapshots are under way; the least recently used first.
    var leaving: [Session] = []
    /// Where the last look stopped.
    var cursor = IdleSessions.Place(tick: 0, index: 0)

    static let leavingLimit = 32

    /// Sessions that are looked at for one request.
    static let looks = 64

    /// Others may be at rest by now; and those that have ended are not held any longer.
    mutating func tickBegan() {
        self = Eviction()
    }
}

extension SessionTable {
    /// Puts a session to sleep if one more would be more than may be awake.
    /// Returns whether there is room for one.
    func makeRoom() -> Bool {
        guard awakeCount >= limits.sessions - max(1, limits.sessions / 16) else { return true }
        prepareEviction()
        guard !hasRoomForSession else { return true }
        guard let index = eviction.leaving.firstIndex(where: { $0.isAtRest && $0.isSaved }) else {
            return false
        }
        putToSleep(eviction.leaving.remove(at: index))
        return hasRoomForSession
    }

    private func prepareEviction() {
        // Those that were used since stay.
        eviction.leaving.removeAll { $0.uncommitted.isEmpty && !($0.isAtRest && $0.isSaved) }
        let wanted = min(Eviction.leavingLimit, max(1, awakeCount / 8))
        var isAround = false
        for _ in 0..<Eviction.looks where eviction.leaving.count < wanted {
            if let session = idle.next(&eviction.cursor) {
                considerLeaving(session)
            } else if isAround {
                return
            } else {
                isAround = true
                eviction.cursor = IdleSessions.Place(tick: 0, index: 0)
            }
        }
    }

    private func considerLeaving(_ session: Session) {
        guard session.isAtRest, !eviction.leaving.contains(where: { $0 === session }) else {
            return
        }
        if !session.isSaved { session.takeSnapshot() }
        eviction.leaving.append(session)
    }
}
