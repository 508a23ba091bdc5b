internal import Feeds
internal import Reactors
internal import Storage

/// Ends the sessions of a loop that nobody has used for a time: the reactor's `expiresAfter`, or
/// the server's setting.
///
/// Design (ADR-0084): a session that may expire has a row among its timers, the expiry row. The
/// row's time is a lower bound, because actions do not write the row: their records have times.
/// When the row is due, a ``TimerSearch`` finds it, and a loop loads the session. The session then
/// ends, or the row gets a later time. Readers leave no record. So the row also gets a later time
/// when a feed gets its first reader, when it loses its last one, and when a search finds the row
/// while there are readers.
///
/// Each new time has a sixteenth added. So the row is not written again for that long, although
/// readers come and go. The first reader after the creation does not write it either.
package final class SessionExpiry {
    unowned let table: SessionTable

    /// The shortest time after which a session expires. Each node searches twice in this time.
    package static let shortest = Duration.seconds(60)
    /// How far a node's clock may be from the database's, in milliseconds: a node that exceeds this
    /// is not ready. Each node stamps its records with its own clock.
    private static let clockSlack: Int64 = 120_000
    /// A day, in milliseconds: how long a reader postpones the expiry of a session whose reactor
    /// this node does not host. The node does not know the reactor's time.
    private static let unknownLife: Int64 = 86_400_000

    init(_ table: SessionTable) { self.table = table }

    /// The milliseconds without a use after which a session expires; nil: it never does.
    private func life(of registration: Registration) -> Int64? {
        registration.life(table.limits.sessionExpiry)
    }

    /// How long a row must be due before its session is loaded, in milliseconds. By then each node
    /// has searched twice, even if the clocks of nodes differ.
    private var grace: Int64 {
        TimerQueue.horizon / 2 + (table.placement == nil ? 0 : Self.clockSlack)
    }

    // MARK: Uses

    /// Adds the row to the commit that creates a session.
    func begin(_ session: Session) {
        if let life = life(of: session.registration) { session.setExpiry(after: life) }
    }

    /// Postpones the expiry: a feed has got its first reader, or lost its last one.
    func readersChanged(_ feed: Feed) {
        let registration = table.registration(feed.reactor)
        guard let life = registration.map({ self.life(of: $0) }) ?? Self.unknownLife else { return }
        let now = table.journalTime.upperBound
        guard feed.expiry < now + life else { return }
        feed.expiry = now + Self.ahead(life)
        table.journal.expiries?.postpone(feed.key, until: feed.expiry)
    }

    static func ahead(_ life: Int64) -> Int64 { life + life / 16 }

    // MARK: Looking

    /// Examines sessions whose rows are due within a minute. Postpones those that have readers on
    /// this node. Loads the others if this node may, once their rows have been due for the grace
    /// time.
    ///
    /// - Parameter done: called once, on this loop; never if the process ends first.
    package func examine(_ found: [DueTimer], then done: @escaping () -> Void) {
        let now = table.timerTime
        var unread: [SessionID] = []
        for one in found {
            if let feed = table.awake(one.id)?.feed ?? table.asleep(one.id), !feed.streams.isEmpty {
                feed.expiry = one.due
                readersChanged(feed)
            } else if one.isOurs, one.due + grace <= now {
                unread.append(one.id)
            }
        }
        table.loads.wakeWorking(unread, in: table, { [unowned self] in look(at: $0) }, then: done)
    }

    /// Examines a session that waits in the queue of timers. Why: without an archive there is no
    /// search.
    func lookIfDue(_ session: Session, at now: Int64) {
        let due = session.feed.expiry
        guard session.persistence == nil, due > 0, due <= now else { return }
        look(at: session.id)
    }

    private func look(at id: SessionID) {
        guard let session = table.awake(id), session.isRunning else { return }
        guard let life = life(of: session.registration) else { return session.removeExpiry() }
        let slack = table.placement == nil ? 0 : Self.clockSlack
        let unused = session.isInUse ? 0 : max(0, table.time - session.lastUse - slack)
        if unused < life { session.setExpiry(after: life - unused) } else { session.expire() }
    }
}

extension Registration {
    /// The milliseconds without a use after which the reactor's sessions expire; nil: they never
    /// do.
    ///
    /// - Parameter standard: the time for reactors without an `expiresAfter`.
    package func life(_ standard: Duration?) -> Int64? {
        guard name != Self.topicName, let time = expiresAfter ?? standard else { return nil }
        return TimerTime.milliseconds(max(time, SessionExpiry.shortest))
    }
}

extension Session {
    /// Sets when the session expires if nobody uses it, with the present step.
    func setExpiry(after delay: Int64) {
        let timer = SessionTimer.expiry(
            at: table.journalTime.upperBound + SessionExpiry.ahead(delay))
        feed.expiry = timer.due
        change(to: timer)
        if persistence == nil { waitForTimer() }
    }

    /// Removes the row, because the reactor's sessions no longer expire.
    func removeExpiry() { change(to: nil) }

    private func change(to timer: SessionTimer?) {
        guard keepsRecords else { return }
        step().batch.timers.append(TimerChange(of: key, SessionTimer.expiryName, timer))
    }

    /// Whether the session has readers on this node, works, or has timers.
    var isInUse: Bool {
        !streams.isEmpty || !waits.isEmpty || isWorking || timers.next != nil
    }
}
