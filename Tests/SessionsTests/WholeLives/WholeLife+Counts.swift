@testable import Sessions

// What the table counts as things happen is what a walk over everything finds.
extension WholeLife {
    func checkCounts() {
        let sessions = Array(rig.table.all)
        let awake = sessions.filter { !$0.isAsleep }
        if rig.table.awakeCount != awake.count {
            blame("\(rig.table.awakeCount) sessions are counted as awake, not \(awake.count)")
        }
        let kept = awake.filter { $0.persistence != nil }
        if rig.table.idle.count != kept.count {
            blame("\(rig.table.idle.count) sessions may fall asleep, not \(kept.count)")
        }
        for session in kept where !rig.table.idle.holds(session) {
            blame("\(session.id.text) is awake and would never fall asleep")
        }
        checkSubscriberCount(of: sessions)
    }

    /// Readers of a session that has ended are counted until they have read its end: their streams
    /// are no longer the session's.
    private func checkSubscriberCount(of sessions: [Session]) {
        let streams =
            sessions.flatMap(\.streams) + rig.output.subscribers.values.map(\.stream)
        var seen: Set<ObjectIdentifier> = []
        let count = streams.reduce(0) { sum, stream in
            seen.insert(ObjectIdentifier(stream)).inserted ? sum + stream.subscribers.count : sum
        }
        if rig.table.subscriberCount != count {
            blame("\(rig.table.subscriberCount) subscribers are counted, not \(count)")
        }
    }
}
