internal import Feeds
internal import Reactors
internal import Storage

/// Ends the sessions of a loop that nobody has used for the time that their reactor says.
///
/// Design (ADR-0084): a session that may expire has a row among its timers. The row's time is a
/// lower bound, because actions do not write the row: their records have times. When the row is
/// due, a ``TimerSearch`` finds it, and a loop loads the session. The session then ends, or the row
/// gets a later time. Readers leave no record, so their node postpones the row, independently of
/// searches: when the first reader comes, when the last one leaves, and every ten seconds between.
///
/// Each new time is a sixteenth of the session's time later than necessary. So readers write the
/// row at most once in that sixteenth, even if they come and go often. If a node is killed, the row
/// already covers the time for which it had readers.
package final class SessionExpiry {
    unowned let table: SessionTable
    /// The feeds that have readers.
    private var read: [ObjectIdentifier: Feed] = [:]

    /// The shortest time after which a session expires. Readers postpone the expiry several times
    /// within it (``readersEvery``).
    package static let shortest = Duration.seconds(60)
    /// The time between two calls of ``postponeRead()``.
    package static let readersEvery = Duration.seconds(10)
    /// How far a node's clock may be from the database's, in milliseconds: a node that exceeds this
    /// is not ready. Each node stamps its records with its own clock.
    private static let clockSlack: Int64 = 120_000
    /// How long a row must be due before its session is loaded, in milliseconds. By then each node
    /// with readers has postponed the row, even if it writes late.
    static let grace: Int64 = 30_000
    /// A day, in milliseconds: how long a reader postpones the expiry of a session if this node has
    /// no time for its reactor. Other nodes may have one.
    private static let unknownLife: Int64 = 86_400_000
    /// How many bytes an end counts as until it is committed.
    private static let endBytes = 1_024

    init(_ table: SessionTable) { self.table = table }

    /// The milliseconds without a use after which a session expires; nil: it never does.
    private func life(of registration: Registration) -> Int64? {
        registration.life(table.limits.sessionExpiry)
    }

    private var slack: Int64 { table.placement == nil ? 0 : Self.clockSlack }

    // MARK: Uses

    /// Adds the row to the commit that creates a session.
    func begin(_ session: Session) {
        if let life = life(of: session.registration) { session.setExpiry(after: life) }
    }

    /// A feed has got its first reader, or lost its last one.
    func readersChanged(_ feed: Feed) {
        read[ObjectIdentifier(feed)] = feed.streams.isEmpty ? nil : feed
        postpone(feed)
    }

    /// Postpones the expiry of the sessions that have readers. Called every ``readersEvery``.
    package func postponeRead() {
        for feed in read.values { postpone(feed) }
    }

    private func postpone(_ feed: Feed) {
        let known = table.registration(feed.reactor).flatMap { life(of: $0) }
        guard let life = known ?? (table.placement == nil ? nil : Self.unknownLife) else { return }
        let now = table.journalTime.upperBound
        guard feed.expiry < now + life else { return }
        let due = now + Self.ahead(life)
        if table.journal.expiries?.postpone(feed.key, until: due) ?? true { feed.expiry = due }
    }

    static func ahead(_ life: Int64) -> Int64 { life + life / 16 }

    // MARK: Looking

    /// Loads the sessions whose rows have been due for ``grace`` (in a cluster, for two minutes
    /// more). They end, or their rows get later times. While half of the room for commits is taken,
    /// loads none: the next search finds them again.
    ///
    /// - Parameter done: called once, on this loop; never if the process ends first.
    package func examine(_ found: [DueTimer], then done: @escaping () -> Void) {
        let end = table.timerTime - Self.grace - slack
        let due = table.commits.hasHalfOfRoom ? found.filter { $0.due <= end }.map(\.id) : []
        table.loads.wakeWorking(due, in: table, { [unowned self] in look(at: $0) }, then: done)
    }

    /// Examines a session that waits in the queue of timers. Why: without an archive there is no
    /// search.
    func lookIfDue(_ session: Session, at now: Int64) {
        let due = session.feed.expiry
        guard session.persistence == nil, due > 0, due <= now else { return }
        look(at: session.id)
    }

    private func look(at id: SessionID) {
        guard table.commits.hasHalfOfRoom, let session = table.awake(id), session.isRunning else {
            return
        }
        guard let life = life(of: session.registration) else { return session.removeExpiry() }
        let unused = session.isInUse ? 0 : max(0, table.timerTime - session.lastUse - slack)
        guard unused >= life else { return session.setExpiry(after: life - unused) }
        session.expire()
        if let step = session.uncommitted.last { table.commits.charge(Self.endBytes, to: step) }
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

    /// Removes the row, because the session ends now, or its reactor's sessions no longer expire.
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
