internal import DequeModule
internal import Storage

/// When the sessions of one loop show their presence, and when names leave it.
///
/// Bounds of a pass: ``writesOfPass`` writes, ``showsOfPass`` events that are framed, and
/// ``endsOfPass`` names. ``graceLimit`` names wait for the end of their grace; further ones leave
/// at once.
package final class PresenceSchedule {
    private struct Grace {
        let until: Int64
        let name: ExactText
        weak var session: SessionPresence?
    }

    /// The sessions with changes that later passes show.
    private var due: Deque<SessionPresence> = []
    /// The sessions that rest after an event. Invariant: sorted by `until`.
    private var resting: Deque<(until: Int64, session: SessionPresence)> = []
    /// Invariant: sorted by their ends. Some of the names have returned.
    private var graces: Deque<Grace> = []
    /// The sessions whose readers are being sent an event.
    private var delivering: Deque<PresenceEvents> = []

    /// The time between two events of a session.
    static let restMilliseconds: Int64 = 1_000
    static let graceLimit = 65_536
    private static let writesOfPass = 64
    private static let showsOfPass = 64
    private static let endsOfPass = 1_024

    /// When a pass is needed next, in milliseconds of a clock that is never set; 0: at once. Nil if
    /// none is needed.
    package var next: Int64? {
        guard delivering.isEmpty, due.isEmpty else { return 0 }
        guard let rest = resting.first?.until else { return graces.first?.until }
        return graces.first.map { min($0.until, rest) } ?? rest
    }

    func changed(_ session: SessionPresence) {
        switch session.phase {
        case .idle:
            session.phase = .due
            due.append(session)
        case .due: break
        case .resting: session.phase = .resting(isChanged: true)
        }
    }

    /// - Returns: false if there is no room.
    func wait(for name: ExactText, of session: SessionPresence, until: Int64) -> Bool {
        guard graces.count < Self.graceLimit else { return false }
        graces.append(Grace(until: until, name: name, session: session))
        return true
    }

    func deliver(_ events: PresenceEvents) { delivering.append(events) }

    /// - Returns: whether some work is left to the next pass.
    package func run(at now: Int64) -> Bool {
        guard let next, next <= now else { return false }
        endGraces(at: now)
        endRests(at: now)
        for _ in 0..<Self.showsOfPass {
            guard let session = due.popFirst() else { break }
            // `show` may mark it as changed again, if the change could not be sent to another node.
            session.phase = .resting(isChanged: false)
            if !session.show(), case .resting(isChanged: false) = session.phase {
                session.phase = .idle
                continue
            }
            resting.append((now + Self.restMilliseconds, session))
        }
        deliver()
        return self.next.map { $0 <= now } ?? false
    }

    private func endGraces(at now: Int64) {
        for _ in 0..<Self.endsOfPass {
            guard let grace = graces.first, grace.until <= now else { return }
            graces.removeFirst()
            grace.session?.endGrace(of: grace.name, at: grace.until)
        }
    }

    private func endRests(at now: Int64) {
        for _ in 0..<Self.endsOfPass {
            guard let (until, session) = resting.first, until <= now else { return }
            resting.removeFirst()
            guard case .resting(let isChanged) = session.phase else { continue }
            session.phase = .idle
            if isChanged { changed(session) }
        }
    }

    private func deliver() {
        var left = Self.writesOfPass
        while left > 0, let events = delivering.first {
            let (count, isDone) = events.deliver(left)
            left -= max(count, 1)
            if isDone { delivering.removeFirst() }
        }
        // The next pass begins with another session.
        if delivering.count > 1 { delivering.append(delivering.removeFirst()) }
    }

    /// The loop stops.
    func removeAll() { (due, resting, graces, delivering) = ([], [], [], []) }
}
