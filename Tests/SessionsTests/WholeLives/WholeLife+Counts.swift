@testable import Feeds
import Storage

@testable import Sessions

// The counters of the table equal a count over everything.
extension WholeLife {
    func checkCounts() {
        let sessions = Array(rig.table.sessions.all)
        if rig.table.turns.slot.isBusy { blame("a session is named as the one at work") }
        let asleep = rig.table.sessions.asleep
        for session in sessions where !session.isAwake {
            blame("\(session.id.text) has left memory, and is among the sessions")
        }
        for feed in asleep where feed.isAwake || feed.streams.isEmpty {
            blame("\(feed.id.text) is among the feeds without a session")
        }
        checkIdleSessions(sessions.filter { $0.persistence != nil })
        checkSubscriberCount(of: sessions.map(\.feed) + asleep)
    }

    /// Each session that may fall asleep is in the lists once, at the place that it knows.
    private func checkIdleSessions(_ kept: [Session]) {
        var (place, idle) = (IdleSessions.Place(tick: 0, index: 0), Set<ObjectIdentifier>())
        var count = 0
        while let session = rig.table.eviction.idle.next(&place) {
            count += 1
            guard let own = session.persistence?.idlePosition, own.tick == place.tick,
                own.index == place.index - 1
            else { continue }
            idle.insert(ObjectIdentifier(session))
        }
        if count != kept.count {
            blame("\(count) sessions may fall asleep, not \(kept.count)")
        }
        for session in kept where !idle.contains(ObjectIdentifier(session)) {
            blame("\(session.id.text) is awake and would never fall asleep")
        }
    }

    /// Readers of an ended session are counted until they have received its end: their streams no
    /// longer belong to the session.
    private func checkSubscriberCount(of feeds: [Feed]) {
        let streams =
            feeds.flatMap(\.streams.all) + rig.output.subscribers.values.map(\.stream)
            + rig.table.relays.subscribers.map(\.stream)
        var seen: Set<ObjectIdentifier> = []
        let count = streams.reduce(0) { sum, stream in
            seen.insert(ObjectIdentifier(stream)).inserted ? sum + stream.localCount : sum
        }
        let counted = rig.table.subscriberCount + (rig.second?.table.subscriberCount ?? 0)
        if counted != count {
            blame("\(counted) subscribers are counted, not \(count)")
        }
    }
}
