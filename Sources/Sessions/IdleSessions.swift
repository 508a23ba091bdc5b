internal import DequeModule

/// The sessions that may fall asleep, by the tick in which they were last used: those that have
/// been idle for long are found without a look at the others.
///
/// Design: a list for each tick, oldest first; each session knows its place, so that it moves or
/// leaves in constant time. A list that is due is emptied from its end, a few sessions at a time.
///
/// Invariant: holds each session that is awake, where the journal has an archive, exactly once: from
/// the begin of its incarnation to the end. One that is taken out falls asleep or is put back.
struct IdleSessions {
    /// A session is idle after this many ticks without use.
    static let ticks: UInt64 = 4

    /// Where a session stands: the tick of its list, and its index there.
    struct Place {
        var tick: UInt64
        var index: Int
    }

    /// The tick of the first list.
    private var firstTick: UInt64 = 0
    private var lists: Deque<[Session]> = [[]]

    /// Puts the session among those that were last used in `tick`, or in the oldest tick that is
    /// kept; it leaves its earlier place.
    mutating func put(_ session: Session, at tick: UInt64) {
        guard let persistence = session.persistence else { return }
        remove(session)
        let tick = max(tick, firstTick)
        let list = Int(tick - firstTick)
        while lists.count <= list { lists.append([]) }
        persistence.idlePosition = Place(tick: tick, index: lists[list].count)
        lists[list].append(session)
    }

    /// Takes the session out, if it is in.
    mutating func remove(_ session: Session) {
        guard let persistence = session.persistence, let place = persistence.idlePosition else {
            return
        }
        persistence.idlePosition = nil
        let list = Int(place.tick - firstTick)
        let last = lists[list].removeLast()
        guard last !== session else { return }
        lists[list][place.index] = last
        last.persistence?.idlePosition = place
    }

    /// The session at the place, or the first one after it; moves the place behind it. Nil at the
    /// end. What comes and goes between two calls may be missed or be seen twice.
    func next(_ place: inout Place) -> Session? {
        if place.tick < firstTick { place = Place(tick: firstTick, index: 0) }
        while case let list = Int(place.tick - firstTick), list < lists.count {
            guard place.index < lists[list].count else {
                place = Place(tick: place.tick + 1, index: 0)
                continue
            }
            defer { place.index += 1 }
            return lists[list][place.index]
        }
        return nil
    }

    /// Takes out one that was last used in `tick` or before.
    mutating func dequeue(through tick: UInt64) -> Session? {
        while firstTick <= tick {
            if let session = lists.first?.last {
                remove(session)
                return session
            }
            _ = lists.popFirst()
            firstTick += 1
        }
        return nil
    }
}
