internal import DequeModule

/// The sessions that may fall asleep, by the tick of their last use. The idle ones are found
/// without looking at the others.
///
/// Design: a list for each tick, oldest first. Each session stores its place, so that it moves or
/// leaves in constant time. A list that is due is emptied from its end, a few sessions at a time.
///
/// Invariant: if the journal has an archive, each session that is awake is here exactly once, from
/// when it wakes until it leaves memory. A dequeued session falls asleep or is put back.
package struct IdleSessions {
    /// A session is idle after this many ticks without use.
    static let ticks: UInt64 = 4

    /// The place of a session: the tick of its list, and its index there.
    package struct Place: Sendable {
        var tick: UInt64
        var index: Int
    }

    /// The tick of the first list.
    private var firstTick: UInt64 = 0
    private var lists: Deque<[Session]> = [[]]

    /// Moves the session to the list of `tick`, or of the oldest tick if that is later.
    mutating func put(_ session: Session, at tick: UInt64) {
        guard let persistence = session.persistence else { return }
        remove(session)
        let tick = max(tick, firstTick)
        let list = Int(tick - firstTick)
        while lists.count <= list { lists.append([]) }
        persistence.idlePosition = Place(tick: tick, index: lists[list].count)
        lists[list].append(session)
    }

    /// Removes the session, if it is here.
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

    /// Returns the session at the place or the first one after it, and moves the place after that.
    /// Nil at the end. Sessions that move between two calls may be missed or returned twice.
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

    /// Removes and returns a session that was last used in `tick` or before.
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
