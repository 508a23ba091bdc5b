internal import Feeds
internal import Storage

/// The sessions of a table that are in memory. A session that is asleep is one of them as long as
/// it has subscribers.
struct ResidentSessions {
    private var byID: [SessionID: Session] = [:]
    /// Invariant: the number of sessions in `byID` that are asleep.
    private var asleepCount = 0
    private var lastIncarnation: UInt64 = 0

    var count: Int { byID.count }

    var awakeCount: Int { byID.count - asleepCount }

    /// In no order.
    var all: some Collection<Session> { byID.values }

    subscript(id: SessionID) -> Session? { byID[id] }

    func contains(_ session: Session) -> Bool { byID[session.id] === session }

    mutating func insert(_ session: Session) {
        if let earlier = byID.updateValue(session, forKey: session.id), earlier.isAsleep {
            asleepCount -= 1
        }
        if session.isAsleep { asleepCount += 1 }
    }

    /// - Returns: whether the session was here.
    mutating func remove(_ session: Session) -> Bool {
        guard contains(session) else { return false }
        byID[session.id] = nil
        if session.isAsleep { asleepCount -= 1 }
        return true
    }

    mutating func removeAll() {
        byID = [:]
        asleepCount = 0
    }

    /// Counts a session that falls asleep or wakes.
    mutating func sleepChanged(of session: Session, _ isAsleep: Bool) {
        guard contains(session) else { return }
        asleepCount += isAsleep ? 1 : -1
    }

    /// A number that no incarnation of any session here has had.
    mutating func nextIncarnation() -> UInt64 {
        lastIncarnation += 1
        return lastIncarnation
    }

    /// Releases memory: a dictionary keeps the capacity for the most sessions that it ever had.
    mutating func shrink() {
        guard byID.capacity > 4 * byID.count else { return }
        byID = Dictionary(uniqueKeysWithValues: byID.map { ($0, $1) })
    }

    /// The first sessions of the range in the order of their ids.
    ///
    /// Examines every session, about 20 ns each, so 20 ms for a million on one loop. An order is not
    /// kept, because every creation and deletion would have to pay for it.
    func page(_ range: SessionRange) -> [Session] {
        var page: [Session] = []
        for session in byID.values
        where range.contains(session.id.text, of: session.registration.name) {
            if page.count == range.limit, let last = page.last, session.id.text >= last.id.text {
                continue
            }
            let index = page.firstIndex { $0.id.text > session.id.text } ?? page.count
            page.insert(session, at: index)
            if page.count > range.limit { page.removeLast() }
        }
        return page
    }
}
