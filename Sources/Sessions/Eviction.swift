/// Which sessions leave memory for others that come back, when as many are awake as may be.
///
/// Design: a look at all sessions finds the least recently used ones that are at rest, an eighth of
/// all. The first of them are saved ahead of the need: in the last sixteenth of the limit each
/// request that wakes a session sees to that, so that as a rule a session that can leave at once is
/// there when the limit is reached. Otherwise the request is refused, and the next one finds it.
struct Eviction {
    /// Found by the last look, the least recently used last. They may have been used since.
    var candidates: [Session] = []
    /// Saved, or their snapshots are under way; the least recently used first.
    var leaving: [Session] = []
    /// What a look costs is earned by the requests that need one: a full table in which nothing is
    /// at rest would otherwise be looked through for each of them.
    private var credit = Int.max

    static let leavingLimit = 32

    /// Sessions that one request pays for looking at.
    private static let creditPerRequest = 64

    /// Others may be at rest by now; and those that have ended are not held any longer.
    mutating func tickBegan() {
        self = Eviction()
    }

    /// Whether all sessions may be looked at for one more request.
    mutating func mayLook(at count: Int) -> Bool {
        if credit < .max { credit += Self.creditPerRequest }
        guard candidates.isEmpty, leaving.count < Self.leavingLimit / 2, credit >= count else {
            return false
        }
        credit = 0
        return true
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
        if eviction.mayLook(at: awakeCount) { lookForCandidates() }
        while eviction.leaving.count < Eviction.leavingLimit,
            let session = eviction.candidates.popLast()
        {
            guard session.isAtRest else { continue }
            if !session.isSaved { session.takeSnapshot() }
            eviction.leaving.append(session)
        }
    }

    private func lookForCandidates() {
        // By age in ticks. From the fourth on they leave by themselves.
        var ages: [[Session]] = Array(repeating: [], count: 4)
        let wanted = max(1, awakeCount / 8)
        let leaving = Set(eviction.leaving.map(\.id))
        for session in all where session.isAtRest && !leaving.contains(session.id) {
            guard let age = session.age else { continue }
            let index = Int(min(age, 3))
            if ages[index].count < wanted { ages[index].append(session) }
        }
        eviction.candidates = Array(ages.joined().suffix(wanted))
    }
}
