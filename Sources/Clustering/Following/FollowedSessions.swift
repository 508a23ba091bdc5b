// Why one file: loads, hints and questions change the same feeds in one order.

internal import Cluster
internal import DequeModule
internal import Feeds
internal import Sessions
internal import Storage

/// The sessions of a loop that have subscribers here, and that this node does not own. Exists only
/// if several nodes write to the journal.
///
/// Design: four times a second, one question asks the journal which of them have new records, an
/// end, another generation or another owner. If the owner reports new records (``SessionHints``),
/// the journal is asked only then, and once a second. A stream begins with a load of its session,
/// so it shows what the journal had at a moment after the request. A position beyond that is
/// `ahead`.
///
/// Following claims nothing, with one exception: a session whose owner is gone is claimed.
/// Otherwise its effects and sources would stay idle. The subscribers stay, whichever node claims
/// the session.
///
/// Bounds: a followed session has a subscriber, and no state in memory. It is forgotten when its
/// last subscriber leaves.
final class FollowedSessions {
    private typealias Load = FollowingLoad

    private let ownership: any Ownership
    /// Loads that are not sent yet, by session. (A load that was sent may be older than a later
    /// request, so that request needs another load.)
    private var unsent: [SessionID: Load] = [:]
    /// The loads that are not sent yet, the oldest first. Bound: those that clients or subscribers
    /// wait for, and those that were added since ``ask(in:)`` was last called.
    private var waiting: Deque<Load> = []
    private var loadsUnderWay: Set<SessionID> = []
    private var pace = LoadPace()
    /// The number of loads that were sent.
    private(set) var loads: UInt64 = 0
    private var claimsUnderWay = 0
    private var isAsking = false
    /// Sessions for which a hint came since the last question about them. Some of them may no
    /// longer be followed.
    private var hinted: Set<SessionID> = []
    /// The number of questions that were sent.
    private(set) var questions: UInt64 = 0
    /// Messages with records that were shown without a question.
    private var received: UInt64 = 0
    private var held = HeldRecords()
    /// Subscribers that were disconnected because the journal did not answer.
    private var unconfirmed: UInt64 = 0

    /// The maximum number of simultaneous claims.
    private static let claimLimit = 16

    init(_ ownership: any Ownership) { self.ownership = ownership }

    func counts(in table: SessionTable) -> FollowCounts {
        let followed = table.followed
        return FollowCounts(
            sessions: followed.count,
            hinted: followed.count { $0.archive?.following?.isHinted ?? false },
            questions: questions, received: received, unconfirmed: unconfirmed)
    }

    func removeAll() {
        hinted = []
        unsent = [:]
        waiting = []
        held = HeldRecords()
    }

    // MARK: Loads

    /// Loads a session for a stream. Calls the stream's `act` later, on the loop of the table. The
    /// state is in memory until `act` returns.
    func open(_ id: SessionID, _ stream: StreamLookup) { load(id).streams.append(stream) }

    /// Loads a session whose subscribers need its state.
    @discardableResult
    private func load(_ id: SessionID) -> Load {
        if let load = unsent[id] { return load }
        let load = Load(id)
        unsent[id] = load
        waiting.append(load)
        return load
    }

    /// A subscriber of the session needs the present state.
    func loadState(of feed: Feed) {
        feed.archive?.following?.hasWaiting = true
        load(feed.id)
    }

    /// Sends the loads of this round, and the question that the hints of this round require.
    /// Called once a round.
    ///
    /// Only one load of a session is under way. Streams that arrive meanwhile share the next load.
    func flush(in table: SessionTable) {
        askHinted(in: table)
        var later: [Load] = []
        defer { if !later.isEmpty { waiting.prepend(contentsOf: later) } }
        while pace.hasRoom, let load = waiting.popFirst() {
            guard isNeeded(load, in: table) else { continue }
            guard loadsUnderWay.insert(load.id).inserted else {
                later.append(load)
                continue
            }
            unsent[load.id] = nil
            loads += 1
            (load.asked, load.number) = (table.uptime, loads)
            // New records wait for this load. Otherwise, in a session that commits all the time,
            // this load would be too old as well.
            if load.isRepeated {
                table.followed(load.id)?.archive?.following?.awaited = loads
            }
            let ticket = pace.send()
            table.load(load.id, for: load.client) { [unowned table] result in
                self.loadsUnderWay.remove(load.id)
                if self.pace.end(ticket, result, after: load.repeats) {
                    self.repeatLoad(
                        load, isOutdated: load.isRepeated, repeats: load.repeats + 1)
                } else {
                    self.loaded(load, result, in: table)
                }
                self.endAwaiting(load, in: table)
            }
        }
    }

    /// Whether a client waits for the load. Otherwise it is dropped, unless the session is followed
    /// already: it may need its state for its other subscribers.
    private func isNeeded(_ load: Load, in table: SessionTable) -> Bool {
        guard load.dropUnwanted(), table.followed(load.id) == nil else { return true }
        unsent[load.id] = nil
        return false
    }

    /// Asks for the records that have come during the load.
    private func endAwaiting(_ load: Load, in table: SessionTable) {
        guard load.isRepeated, let feed = table.followed(load.id),
            let following = feed.archive?.following
        else { return }
        if following.awaited == load.number { feed.archive?.following?.awaited = nil }
        if following.hints.isDue { askSoon(about: feed) }
    }

    private func loaded(
        _ load: Load, _ result: Result<LoadedSession, JournalFailure>, in table: SessionTable
    ) {
        // A claim may have loaded the session first.
        if let found = table.present(load.id) { return load.respond(found) }
        switch result {
        case .failure(.historyLost): repeatLoad(load)
        case .failure(let failure):
            load.respond(.unreadable(failure))
            failed(load.id, failure, in: table)
        case .success(.overBudget):
            if !load.refuse() { failed(load.id, .noRoom, in: table) }
            if !load.streams.isEmpty { repeatLoad(load) }
        case .success(.saved(nil, _)):
            abandonVoid(load.id, in: table)
            load.respond(.nothing)
        // The next question shows the end to the streams of this generation of the session.
        case .success(.saved(let saved?, _)) where saved.isDeleted:
            abandonVoid(load.id, in: table)
            load.respond(.ended)
        case .success(.saved(let saved?, let charge)):
            load.charge = charge
            follow(load, saved, in: table)
        }
    }

    /// A load of a followed session has failed. Disconnects the subscribers if loads have failed
    /// for too long.
    private func failed(_ id: SessionID, _ failure: JournalFailure, in table: SessionTable) {
        guard let feed = table.followed(id),
            !(feed.archive?.following?.failures.mayContinue(at: table.uptime) ?? true)
        else { return }
        table.report(.unreadable(failure.detail), of: feed)
        feed.abandonReaders()
    }

    /// Disconnects subscribers whose generation is lost: the session has no other generation.
    private func abandonVoid(_ id: SessionID, in table: SessionTable) {
        if let feed = table.asleep(id), feed.isVoid { feed.abandonReaders() }
    }

    private func repeatLoad(
        _ load: Load, isClaimed: Bool = false, isOutdated: Bool = false, repeats: Int = 0
    ) {
        let next = self.load(load.id)
        next.repeats = max(next.repeats, repeats)
        next.streams += load.streams
        next.isRepeated = next.isRepeated || isOutdated
        next.isClaimed = next.isClaimed || isClaimed || load.isClaimed
    }

    private func follow(_ load: Load, _ saved: SavedSession, in table: SessionTable) {
        let earlier = table.asleep(load.id)
        if let earlier, isOutdated(load, saved, at: earlier) {
            guard isContradicted(by: load, earlier) else {
                return repeatLoad(load, isOutdated: true)
            }
            // Its subscribers get a `reset`, and continue with what the journal has.
            earlier.strandReaders()
        }
        // The subscribers that needed the load may have left.
        guard earlier != nil || !load.streams.isEmpty else { return }
        if !load.isClaimed, !load.streams.isEmpty, needsClaim(saved, in: table) {
            return claim(load, in: table)
        }
        // The subscribers connect again, perhaps to a node that can read the session.
        if let found = table.cluster?.claims.reader(of: saved, in: table) {
            if let earlier, !earlier.isOver { earlier.abandonReaders() }
            return load.respond(found)
        }
        do throws(RecoveryFault) {
            let copy = try SessionLoader(table: table).copyForReaders(load.id, saved) {
                $0.beginFollowing(asked: load.asked)
            }
            let feed = copy.feed
            feed.archive?.following?.loaded(
                saved, mayListen: copy.registration.listensToTopics, by: load.number)
            // The answers to the streams have charges of their own.
            _ = load.charge?.resize(to: 0)
            load.respond(.copy(copy))
            copy.openStreams()
            copy.close()
            feed.endOpening()
            // Without a subscriber the feed is no longer followed.
            if table.followed(load.id) === feed { seekHints(of: feed, in: table) }
        } catch {
            load.respond(.quarantined(error))
        }
    }

    /// Whether this node knows a newer state of the session than the load has.
    private func isOutdated(_ load: Load, _ saved: SavedSession, at present: Feed) -> Bool {
        guard present.key == saved.key else {
            return load.number < (present.archive?.following?.firstLoad ?? 0)
        }
        return present.isVoid || saved.end.position < present.history.committed.position
    }

    /// Whether the journal lacks records that were shown: a node sent them, but they were never
    /// committed. Nothing was shown since the load was sent.
    private func isContradicted(by load: Load, _ present: Feed) -> Bool {
        // No record follows the end of a session, so the load is older than the end.
        !present.isVoid && !present.isOver
            && present.archive?.following?.awaited == load.number
    }

    /// Follows a session that this node owned until now, so that its streams continue from the
    /// journal.
    ///
    /// Why nothing is lost or sent twice: the subscribers have received exactly what was committed.
    ///
    /// - Precondition: the session's state has left memory.
    func carryOn(_ feed: Feed, in table: SessionTable) {
        guard !feed.streams.isEmpty else { return table.forget(feed) }
        feed.beginUpkeep(FollowingState(since: table.uptime, loads, questions))
    }

    private func needsClaim(_ saved: SavedSession, in table: SessionTable) -> Bool {
        let following = FollowingState(confirmed: table.uptime)
        following.loaded(
            saved, mayListen: table.registration(saved.reactor)?.listensToTopics, by: loads)
        return following.need(ownership.members, table.uptime) == .claim
    }

    /// Claims a session whose owner is gone, before its streams begin here.
    private func claim(_ load: Load, in table: SessionTable) {
        load.charge = nil
        SessionLoader(table: table).load(load.id) { found in
            switch found {
            case .elsewhere, .noRoom: self.repeatLoad(load, isClaimed: true)
            case .session, .copy, .ended, .nothing, .notInMemory, .quarantined, .unreadable,
                .overBudget, .noNode:
                load.respond(found)
            }
        }
    }

    // MARK: Questions

    /// Asks the journal what has changed. Called four times a second.
    func ask(in table: SessionTable) {
        let now = table.uptime
        held.removeAll()
        waiting.removeAll { !isNeeded($0, in: table) }
        if table.feeds.subscribers.stateBytes > table.feeds.subscribers.stateLimit / 2 {
            for feed in table.followed { feed.dropUnusedStates() }
        }
        for feed in table.followed { look(at: feed, now, in: table) }
        // Their subscribers are still getting the last events.
        for feed in table.asleep where feed.isOver {
            feed.dropUnusedStates()
            feed.advanceWaiting()
        }
        let pause = ownership.followPause
        ask(
            about: table.followed.filter {
                $0.archive?.following?.isDue(at: now, pause) ?? true
            },
            in: table)
    }

    /// Asks about the sessions for which hints have come.
    private func askHinted(in table: SessionTable) {
        guard !isAsking, !hinted.isEmpty else { return }
        let feeds = hinted.compactMap { table.followed($0) }
        hinted = []
        ask(about: feeds, in: table)
    }

    /// There is one question at a time. Hints that arrive meanwhile wait for the next question.
    private func ask(about feeds: [Feed], in table: SessionTable) {
        let asked = feeds.filter { !$0.isVoid }
        guard !isAsking, !asked.isEmpty else { return }
        let now = table.uptime
        isAsking = true
        questions += 1
        for feed in asked { hinted.remove(feed.id) }
        let expected = asked.map { feed in
            Confirmation(
                feed.key, at: feed.history.committed.position,
                epoch: feed.archive?.following?.epoch)
        }
        let (hop, bound) = (table.services.hop, LoopBound((feeds: asked, at: now)))
        let losses = table.feeds.journal.losses
        ownership.changes(of: expected) { result in
            _ = hop { table in
                let asked = bound.open(on: table)
                table.cluster?.followed.answered(
                    asked.feeds,
                    table.feeds.journal.losses == losses ? result : .failure(.historyLost),
                    askedAt: asked.at, in: table)
            }
        }
    }

    private func look(at feed: Feed, _ now: Int64, in table: SessionTable) {
        guard let following = feed.archive?.following else { return }
        // Ten questions have had no answer.
        if now - following.confirmed
            >= max(FollowingState.confirmationLimit, 10 * ownership.followPause)
        {
            unconfirmed += UInt64(feed.streams.subscriberCount)
            return feed.abandonReaders()
        }
        seekHints(of: feed, in: table)
        if feed.isVoid {
            load(feed.id)
        } else {
            meetNeed(of: feed, following, now, in: table)
        }
    }

    private func answered(
        _ feeds: [Feed], _ result: Result<[String: Change], JournalFailure>,
        askedAt moment: Int64, in table: SessionTable
    ) {
        isAsking = false
        guard case .success(let changes) = result else { return }
        for feed in feeds {
            guard table.followed(feed.id) === feed, !feed.isVoid,
                feed.archive?.following?.lastQuestion ?? 0 < questions
            else { continue }
            let change = changes[feed.id.text]
            let isDecided = change?.isDecided ?? true
            feed.archive?.following?.confirmed = moment
            feed.archive?.following?.hints.isDue = !isDecided || hinted.contains(feed.id)
            // An undecided change does not say what became of a record that a reader lacks.
            if isDecided { feed.archive?.following?.answered = questions }
            if let change, isDecided { receive(change, of: feed, in: table) }
            let following = feed.archive?.following
            if following?.hasWaiting ?? false { feed.advanceWaiting() }
        }
    }

    private func receive(_ change: Change, of feed: Feed, in table: SessionTable) {
        guard let head = change.head else {
            table.cluster?.hints?.unfollow(feed.id)
            table.rememberEnded(feed.id)
            return feed.endElsewhere(at: change.end)
        }
        guard head.key == feed.key else {
            // The session was deleted and created again, or history was lost.
            feed.strandReaders()
            load(feed.id)
            return
        }
        if feed.archive?.following?.awaited == nil {
            feed.advance(to: head)
        } else {
            feed.archive?.following?.hints.isDue = true
        }
        feed.archive?.following?.setOwner(change.owner, epoch: change.epoch)
        seekHints(of: feed, in: table)
        guard let following = feed.archive?.following else { return }
        meetNeed(of: feed, following, table.uptime, in: table)
    }

    // MARK: Hints

    /// Asks the session's owner for hints, unless it was asked just now.
    private func seekHints(of feed: Feed, in table: SessionTable) {
        guard let links = table.cluster?.hints, let following = feed.archive?.following else {
            return
        }
        let members = ownership.members
        let owner = following.owner.flatMap { node in
            node == members.own.node || following.isOver ? nil : members[node]?.node
        }
        switch feed.archive?.following?.hints.next(owner, following.epoch, table.uptime) {
        case .nothing?, nil: break
        case .follow(let owner)?: links.follow(feed.id, at: owner)
        case .unfollow?: links.unfollow(feed.id)
        }
    }

    /// The owner reports the session's newest position. The next question asks for the records up
    /// to it.
    func hint(_ id: SessionID, at end: CommittedEnd, in table: SessionTable) {
        guard let feed = table.followed(id), !feed.isVoid else { return }
        feed.archive?.following?.hints.come()
        let isKnown =
            end.generation == feed.key.generation
            && end.position <= feed.history.committed.position
        guard !isKnown else { return }
        askSoon(about: feed)
    }

    /// The owner has committed these records.
    func receive(
        _ id: SessionID, _ records: CommittedRecords, from owner: Node, in table: SessionTable
    ) {
        if held.isFull { held.removeAll() }
        guard let feed = table.followed(id), let archive = feed.archive,
            archive.following?.awaited == nil,
            let bytes = feed.show(records, by: Writer(number: owner.number))
        else { return hint(id, at: records.committedEnd, in: table) }
        archive.following?.hints.come()
        received += 1
        held.append(feed, bytes: bytes)
    }

    func hintsEnded(of id: SessionID, in table: SessionTable) {
        guard let feed = table.followed(id) else { return }
        feed.archive?.following?.hints.end(table.uptime)
        askSoon(about: feed)
    }

    private func askSoon(about feed: Feed) {
        feed.archive?.following?.hints.isDue = true
        guard feed.archive?.following?.awaited == nil else { return }
        hinted.insert(feed.id)
    }

    // MARK: Claims

    /// Claims the session if its owner is gone. If it is not known whether the session acts without
    /// a request, loads it first.
    private func meetNeed(
        of feed: Feed, _ following: FollowingState, _ now: Int64, in table: SessionTable
    ) {
        guard !table.isLoading(feed.id) else { return }
        switch following.need(ownership.members, now, hasPresence: feed.hasPresence) {
        case .nothing: break
        case .owned: feed.archive?.following?.ownerIsPresent()
        case .load: load(feed.id)
        case .claim:
            // The other sessions are claimed when these are loaded.
            guard claimsUnderWay < Self.claimLimit else { return }
            claimsUnderWay += 1
            feed.archive?.following?.claimed = now
            SessionLoader(table: table).load(feed.id) { [weak feed] found in
                self.claimsUnderWay -= 1
                guard case .elsewhere(let member, _) = found, let feed,
                    feed.archive?.following?.claimWasRefused(for: member.node) ?? false
                else { return }
                // The session's records need a program that this node does not have. A stream at a
                // node that has it claims the session.
                feed.abandonReaders()
            }
        }
    }
}

extension SessionTable {
    /// The followed feeds that have not ended. Another node decides on their sessions, or no node
    /// does.
    fileprivate var followed: [Feed] { asleep.filter { $0.isElsewhere && !$0.isOver } }

    fileprivate func followed(_ id: SessionID) -> Feed? {
        asleep(id).flatMap { $0.isElsewhere && !$0.isOver ? $0 : nil }
    }
}
