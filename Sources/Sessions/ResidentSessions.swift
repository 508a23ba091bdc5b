internal import Feeds
internal import Storage

/// The sessions of a table that are in memory, and the feeds of sessions that are not in memory but
/// have subscribers.
struct ResidentSessions {
    private var byID: [SessionID: Session] = [:]
    /// Invariant: no feed in it has a session in ``byID``.
    private var asleepByID: [SessionID: Feed] = [:]
    private var lastIncarnation: UInt64 = 0

    var count: Int { byID.count + asleepByID.count }

    var awakeCount: Int { byID.count }

    /// The sessions of topics among them.
    private(set) var topicCount = 0

    /// In no order.
    var all: some Collection<Session> { byID.values }

    /// The feeds without a session, in no particular order.
    var asleep: [Feed] { Array(asleepByID.values) }

    subscript(id: SessionID) -> Session? { byID[id] }

    func asleep(_ id: SessionID) -> Feed? { asleepByID[id] }

    mutating func insert(_ session: Session) {
        asleepByID[session.id] = nil
        if byID.updateValue(session, forKey: session.id) == nil, session.id.topic != nil {
            topicCount += 1
        }
    }

    /// Adds a feed without a session.
    mutating func insert(_ feed: Feed) { asleepByID[feed.id] = feed }

    /// Removes a session that has left memory. Its feed stays if it has subscribers.
    mutating func rest(_ session: Session) {
        guard remove(session), !session.streams.isEmpty else { return }
        asleepByID[session.id] = session.feed
    }

    /// - Returns: whether the session was here.
    mutating func remove(_ session: Session) -> Bool {
        guard byID[session.id] === session else { return false }
        byID[session.id] = nil
        if session.id.topic != nil { topicCount -= 1 }
        return true
    }

    /// - Returns: whether the table had this feed without a session.
    mutating func remove(_ feed: Feed) -> Bool {
        guard asleepByID[feed.id] === feed else { return false }
        asleepByID[feed.id] = nil
        return true
    }

    mutating func removeAll() {
        byID = [:]
        topicCount = 0
        asleepByID = [:]
    }

    /// A number that no incarnation of any session here has had.
    mutating func nextIncarnation() -> UInt64 {
        lastIncarnation += 1
        return lastIncarnation
    }

    /// Releases memory: a dictionary keeps the capacity for the most entries that it ever had.
    mutating func shrink() {
        if byID.capacity > 4 * byID.count {
            byID = Dictionary(uniqueKeysWithValues: byID.map { ($0, $1) })
        }
        if asleepByID.capacity > 4 * asleepByID.count {
            asleepByID = Dictionary(uniqueKeysWithValues: asleepByID.map { ($0, $1) })
        }
    }

    /// The first sessions of the range in the order of their ids.
    ///
    /// Examines every session, about 20 ns each, so 20 ms for a million on one loop. An order is
    /// not kept, because every creation and deletion would have to pay for it.
    func page(_ range: SessionRange) -> [Session] {
        var page: [Session] = []
        var last: String?
        for session in byID.values
        where range.contains(session.id.text, of: session.registration.name) {
            if let last, session.id.text >= last { continue }
            page.append(session)
            guard page.count >= 2 * max(range.limit, 500) else { continue }
            page = Self.first(range.limit, of: page)
            last = page.last?.id.text
        }
        return Self.first(range.limit, of: page)
    }

    /// The newest sessions of a selection, the newest first: one more than its limit.
    func taggedPage(
        _ selection: TagSelection, loop: Int
    ) -> [(place: TagPosition, session: Session)] {
        var found: [(place: TagPosition, session: Session)] = []
        for session in byID.values {
            guard let tags = session.tags, !session.hasEnded,
                selection.contains(session.id.text, of: session.registration.name, tags)
            else { continue }
            // Unique in the process: two sessions may be changed in one millisecond.
            let row = Int64(clamping: session.incarnation) << 10 | Int64(loop)
            let place = TagPosition(changed: tags.changed, row: row)
            if place < selection.after ?? .end { found.append((place, session)) }
        }
        return Array(found.sorted { $0.place > $1.place }.prefix(selection.limit + 1))
    }

    private static func first(_ limit: Int, of sessions: [Session]) -> [Session] {
        Array(sessions.sorted { $0.id.text < $1.id.text }.prefix(limit))
    }
}
