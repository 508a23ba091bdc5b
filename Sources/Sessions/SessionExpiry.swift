internal import Feeds
internal import Reactors
internal import Storage

/// Ends the sessions of a loop that nobody has used for the time that their reactor says.
///
/// Design (ADR-0084): the expiry of a session is a row among its timers. A ``TimerSearch`` finds it
/// when it is due. It is a lower bound: an action does not write it, because its record has a time.
/// So the session is loaded then, decides with what it knows, and gets the row anew or ends. A
/// reader leaves no record. So the row gets a later time when the first reader of a feed comes,
/// when the last one leaves, and while a search finds that there are some.
///
/// Each time is set a sixteenth later than necessary. Then the row is not written again for that
/// long: at a creation with its first reader, or when readers come and go often.
package final class SessionExpiry {
    unowned let table: SessionTable

    /// The shortest time after which a session expires. Each node searches twice in it.
    package static let shortest = Duration.seconds(60)
    /// A node whose clock differs by more from the database's is not ready. Records have its time,
    /// so a use is compared with the time of the database, and never with another node's.
    private static let clockSlack: Int64 = 120_000
    /// Of a session whose reactor is hosted by other nodes alone, or has a time at other nodes
    /// alone: this one does not know it.
    private static let unknownLife: Int64 = 86_400_000

    init(_ table: SessionTable) { self.table = table }

    /// Milliseconds without a use after which the session expires; nil: it never does.
    private func life(of registration: Registration) -> Int64? {
        registration.life(table.limits.sessionExpiry)
    }

    /// How long a row has to be due until its session is examined. By then each node has searched
    /// twice, and no node's clock is wrong by more.
    private var grace: Int64 {
        TimerQueue.horizon / 2 + (table.placement == nil ? 0 : Self.clockSlack)
    }

    // MARK: Uses

    /// Adds the row to the creation of a session.
    func begin(_ session: Session) {
        if let life = life(of: session.registration) { session.setExpiry(after: life) }
    }

    /// The first reader of a feed has come, or the last one has left.
    ///
    /// - Parameter isFound: whether the session has a row, although this node may have no time.
    func readersChanged(_ feed: Feed, isFound: Bool = false) {
        let registration = table.registration(feed.reactor)
        let known = registration.map { self.life(of: $0) } ?? Self.unknownLife
        guard let life = known ?? (isFound ? Self.unknownLife : nil) else { return }
        let now = table.journalTime.upperBound
        guard feed.expiry < now + life else { return }
        feed.expiry = now + Self.ahead(life)
        table.journal.expiries?.postpone(feed.key, until: feed.expiry)
    }

    static func ahead(_ life: Int64) -> Int64 { life + life / 16 }

    // MARK: Looking

    /// Examines sessions whose rows are due within a minute: postpones those that are read, and
    /// loads those that are due for long enough, if this node may.
    ///
    /// - Parameter done: called once, on this loop; never if the process ends first.
    package func examine(_ found: [DueTimer], then done: @escaping () -> Void) {
        let now = table.timerTime
        var unread: [SessionID] = []
        for one in found {
            if let feed = table.awake(one.id)?.feed ?? table.asleep(one.id), !feed.streams.isEmpty {
                feed.expiry = one.due
                readersChanged(feed, isFound: true)
            } else if one.isOurs, one.due + grace <= now {
                unread.append(one.id)
            }
        }
        table.loads.wakeWorking(unread, in: table, { [unowned self] in look(at: $0) }, then: done)
    }

    /// Without an archive no search finds a session: it is in the queue of timers.
    func lookIfDue(_ session: Session, at now: Int64) {
        let due = session.feed.expiry
        guard session.persistence == nil, due > 0, due <= now else { return }
        look(at: session.id)
    }

    private func look(at id: SessionID) {
        guard let session = table.awake(id), session.isRunning else { return }
        guard let life = life(of: session.registration) else { return session.removeExpiry() }
        let slack = table.placement == nil ? 0 : Self.clockSlack
        let unused = session.isInUse ? 0 : max(0, table.timerTime - session.lastUse - slack)
        if unused < life { session.setExpiry(after: life - unused) } else { session.expire() }
    }
}

extension Registration {
    /// Milliseconds without a use after which the reactor's sessions expire; nil: they never do.
    ///
    /// - Parameter standard: for reactors that say none.
    package func life(_ standard: Duration?) -> Int64? {
        guard name != Self.topicName, let time = expiresAfter ?? standard else { return nil }
        return TimerTime.milliseconds(max(time, SessionExpiry.shortest))
    }
}

extension Session {
    /// Sets with the present step when the session expires, if nobody uses it.
    func setExpiry(after delay: Int64) {
        let timer = SessionTimer.expiry(
            at: table.journalTime.upperBound + SessionExpiry.ahead(delay))
        feed.expiry = timer.due
        change(to: timer)
        if persistence == nil { waitForTimer() }
    }

    /// The reactor's sessions no longer expire.
    func removeExpiry() { change(to: nil) }

    private func change(to timer: SessionTimer?) {
        guard keepsRecords else { return }
        step().batch.timers.append(TimerChange(of: key, SessionTimer.expiryName, timer))
    }

    /// Whether it is read, at work, or has work to do later.
    var isInUse: Bool {
        !streams.isEmpty || !waits.isEmpty || isWorking || timers.next != nil
    }
}
