internal import Cluster
internal import DequeModule
internal import Feeds
internal import Sessions
internal import Storage

/// Finds sessions for requests that only read them. Exists only if several nodes write to
/// the journal.
///
/// Design: reading claims nothing and wakes no session. A session that this node owns is shown from
/// memory once the journal has confirmed that its history ends there. One question serves all reads
/// of a round. Any other session is loaded as a copy, for the reads that asked for it in the same
/// round. The copy is kept for a while, and shown again after such a question. Either way, the
/// reader sees what the journal had at a moment after the request.
///
/// While the journal does not answer, sessions in memory are shown with the time since they were
/// last confirmed.
final class SessionReads {
    /// The reads of one session in one round.
    private final class Group {
        let id: SessionID
        var reads: [SessionRead] = []
        /// When the question was sent, by the loop's own clock in milliseconds.
        var asked: Int64 = 0
        /// How often its load was sent again because there was no room for it.
        var repeats = 0

        init(_ id: SessionID) { self.id = id }

        /// Removes the reads; the caller responds to them.
        func takeReads() -> [SessionRead] {
            defer { reads = [] }
            return reads
        }

        /// Drops the reads whose clients have left.
        ///
        /// - Returns: whether any read is left.
        func dropUnwanted() -> Bool {
            reads.removeAll { !$0.isWanted() }
            return !reads.isEmpty
        }
    }

    /// A session in memory, or a copy, that is being confirmed.
    private struct Question {
        let group: Group
        let shown: any ReadableSession
        let expected: Confirmation

        /// - Parameter epoch: nil for a copy.
        init(_ group: Group, _ shown: any ReadableSession, epoch: Int64? = nil) {
            self.group = group
            self.shown = shown
            expected = Confirmation(
                shown.key, at: shown.feed.history.committed.position, epoch: epoch)
        }
    }

    private let ownership: any Ownership
    /// The reads of this round, in order of the first one of each session.
    private var gathered: [Group] = []
    private var groups: [SessionID: Group] = [:]
    /// Loads that wait for others. Bound: those that clients wait for, and those that have come
    /// since ``answerLate(in:)`` was last called.
    private var waiting: Deque<Group> = []
    /// Groups that wait for an answer, oldest first, and some that have got one.
    private var asked: Deque<Group> = []
    private var pace = LoadPace()
    private var copies = SessionCopies()
    private(set) var counts = ReadCounts()

    /// The time after which a read no longer waits for the journal.
    private static let waitLimit: Int64 = 1_000

    init(_ ownership: any Ownership) { self.ownership = ownership }

    /// Finds a session. Calls `act` later, on the loop of the table.
    func find(_ id: SessionID, _ read: SessionRead, in table: SessionTable) {
        if let limit = read.freshness.limitMilliseconds, let session = table.awake(id),
            table.age(of: session) <= limit
        {
            return showStale(id, read, in: table)
        }
        gather(id, read)
    }

    private func showStale(_ id: SessionID, _ read: SessionRead, in table: SessionTable) {
        let (hop, bound) = (table.services.hop, LoopBound(read))
        _ = hop { table in
            let read = bound.open(on: table)
            // It may have left memory meanwhile.
            guard let session = table.awake(id) else {
                table.cluster?.reads.gather(id, read)
                return
            }
            table.cluster?.reads.counts.unconfirmed += 1
            read.act(.session(session), Age(milliseconds: table.age(of: session)))
        }
    }

    private func gather(_ id: SessionID, _ read: SessionRead) {
        if let group = groups[id] { return group.reads.append(read) }
        let group = Group(id)
        group.reads.append(read)
        groups[id] = group
        gathered.append(group)
    }

    // MARK: Asking

    /// Asks for the sessions of this round. Called once a round.
    func flush(in table: SessionTable) {
        guard !gathered.isEmpty else { return }
        let round = gathered
        gathered = []
        groups.removeAll(keepingCapacity: true)
        var questions: [Question] = []
        for group in round {
            group.asked = table.uptime
            asked.append(group)
            if let session = table.awake(group.id) {
                questions.append(
                    Question(group, session, epoch: session.tenure?.epoch))
            } else if let copy = copies.find(group.id, at: table.uptime, table.feeds.journal.losses)
            {
                questions.append(Question(group, copy))
            } else {
                load(group, in: table)
            }
        }
        guard !questions.isEmpty else { return }
        confirm(questions, in: table)
    }

    private func confirm(_ questions: [Question], in table: SessionTable) {
        counts.confirms += 1
        let expected = questions.map(\.expected)
        let (hop, bound) = (table.services.hop, LoopBound(questions))
        ownership.confirm(expected) { result in
            _ = hop { table in
                table.cluster?.reads.confirmed(bound.open(on: table), result, in: table)
            }
        }
    }

    private func confirmed(
        _ questions: [Question], _ result: Result<[String: Change], JournalFailure>,
        in table: SessionTable
    ) {
        for question in questions {
            switch result {
            case .failure(let failure): answerLate(question.group, failure, in: table)
            case .success(let changes):
                let (group, position) = (question.group, question.expected.position)
                let change = changes[group.id.text]
                if let copy = question.shown as? SessionCopy {
                    answer(group, copy, at: position, change, in: table)
                } else if let session = table.awake(group.id), session === question.shown {
                    answer(group, session, at: position, change, in: table)
                } else {
                    // The session has left memory meanwhile.
                    load(group, in: table)
                }
            }
        }
    }

    private func answer(
        _ group: Group, _ session: Session, at position: HistoryPosition, _ change: Change?,
        in table: SessionTable
    ) {
        if let change, !isOwn(change, of: session, since: position) {
            table.depose(session)
            return load(group, in: table)
        }
        if let tenure = session.tenure { tenure.confirmed = max(tenure.confirmed, group.asked) }
        for read in group.takeReads() { read.act(.session(session), .none) }
    }

    /// Whether this node made the change itself: a commit is under way, or had not ended here when
    /// the question was sent.
    ///
    /// Why it may be shown: no other node wrote between those commits, and each answer waits for
    /// the decisions before it.
    private func isOwn(
        _ change: Change, of session: Session, since position: HistoryPosition
    ) -> Bool {
        // Not created yet, or ended already.
        if change.head == nil, session.isEnding || session.isBeingCreated { return true }
        guard change.owner == ownership.members.own.node, let head = change.head, !head.isDeleted,
            head.key == session.key
        else { return false }
        return head.end.position >= position
            && head.end.position <= session.history.newest.position
    }

    // MARK: Copies

    private func answer(
        _ group: Group, _ copy: SessionCopy, at position: HistoryPosition, _ change: Change?,
        in table: SessionTable
    ) {
        // A copy may be shown whichever node owns the session.
        let isNewest =
            change.map { change in
                change.head?.key == copy.key && change.head?.isDeleted == false
                    && change.head?.end.position == position
            } ?? true
        guard isNewest else {
            copies.remove(copy)
            return load(group, in: table)
        }
        for read in group.takeReads() { read.act(.copy(copy), .none) }
    }

    private func load(_ group: Group, in table: SessionTable) {
        guard group.dropUnwanted() else { return }
        guard pace.hasRoom else { return waiting.append(group) }
        let ticket = pace.send()
        let client = group.reads.first?.client
        table.load(group.id, for: client) { [unowned table] result in
            let isRepeated = self.pace.end(ticket, result, after: group.repeats)
            self.loaded(group, result, for: client, isRepeated: isRepeated, in: table)
        }
    }

    /// - Parameters:
    ///   - client: the client for which the session was loaded.
    ///   - isRepeated: whether to send the load again.
    private func loaded(
        _ group: Group, _ result: Result<LoadedSession, JournalFailure>, for client: WorkClient?,
        isRepeated: Bool, in table: SessionTable
    ) {
        if case .failure(.historyLost) = result {
            load(group, in: table)
        } else if isRepeated {
            group.repeats += 1
            waiting.append(group)
        } else if !group.reads.isEmpty {
            if let found = found(group.id, result, for: client, in: table) {
                for read in group.takeReads() { read.act(found, .none) }
                if case .copy(let copy) = found { keep(copy, for: client, in: table) }
            } else {
                refuse(group, client, in: table)
            }
        }
        // Groups whose reads were answered late need no load.
        while pace.hasRoom, let next = waiting.popFirst() { load(next, in: table) }
    }

    /// - Returns: nil if the budget has no room for the session.
    private func found(
        _ id: SessionID, _ result: Result<LoadedSession, JournalFailure>,
        for client: WorkClient?, in table: SessionTable
    ) -> SessionLookup? {
        switch result {
        case .failure(let failure): return .unreadable(failure)
        case .success(.overBudget): return nil
        case .success(.saved(let saved, let charge)):
            let found = self.copy(id, saved, in: table)
            guard case .copy(let copy) = found else { return found }
            return count(copy, charge, for: client, in: table) ? found : nil
        }
    }

    private func copy(
        _ id: SessionID, _ saved: SavedSession?, in table: SessionTable
    ) -> SessionLookup {
        guard let saved else { return .nothing }
        guard !saved.isDeleted else { return .ended }
        return table.cluster?.claims.reader(of: saved, in: table)
            ?? SessionLoader(table: table).copy(id, saved)
    }

    /// Counts a copy as long as it is in memory: as optional bytes if there is room for them.
    ///
    /// - Parameter charge: the charge of the load; nil if it was small.
    /// - Returns: false if there is no room for the copy at all.
    private func count(
        _ copy: SessionCopy, _ charge: WorkCharge?, for client: WorkClient?,
        in table: SessionTable
    ) -> Bool {
        let bytes = copy.stateEstimate
        // Otherwise its bytes would count twice.
        _ = charge?.resize(to: 0)
        copy.mayBeKept = countOptional(bytes, of: copy, for: client, in: table)
        guard !copy.mayBeKept else { return true }
        copy.copyCharge = table.services.work.charge(bytes, for: client)
        return copy.copyCharge != nil
    }

    /// Counts the bytes of a copy as optional ones, if they are many. Others give way to it.
    ///
    /// - Returns: false if there is no room.
    private func countOptional(
        _ bytes: Int, of copy: SessionCopy, for client: WorkClient?, in table: SessionTable
    ) -> Bool {
        guard bytes > WorkBudget.smallestBytes else { return true }
        repeat {
            if let charge = copy.copyCharge {
                if charge.resize(to: bytes) { return true }
            } else {
                copy.copyCharge = table.services.work.charge(
                    bytes, for: client, mayBeDropped: true)
                if copy.copyCharge != nil { return true }
            }
        } while copies.removeOldest()
        return false
    }

    /// Keeps a copy for later reads, if there is room. By now the bytes of its state are known.
    private func keep(_ copy: SessionCopy, for client: WorkClient?, in table: SessionTable) {
        guard copy.mayBeKept, let bytes = copy.measure(),
            countOptional(bytes, of: copy, for: client, in: table)
        else { return }
        copies.insert(copy, at: table.uptime, table.feeds.journal.losses)
    }

    /// Refuses the reads of a client that has no room for the session. The others load it
    /// on their own.
    private func refuse(_ group: Group, _ client: WorkClient?, in table: SessionTable) {
        let reads = group.takeReads()
        group.repeats = 0
        group.reads = reads.filter { $0.client != client }
        for read in reads where read.client == client { read.act(.overBudget, .none) }
        load(group, in: table)
    }

    // MARK: Without an answer

    /// Responds to the reads that have waited too long. Called a few times a second.
    func answerLate(in table: SessionTable) {
        copies.removeUnused(at: table.uptime)
        while let group = asked.first,
            group.reads.isEmpty || table.uptime - group.asked >= Self.waitLimit
        {
            asked.removeFirst()
            answerLate(group, .late, in: table)
        }
        waiting.removeAll { !$0.dropUnwanted() }
    }

    private func answerLate(_ group: Group, _ failure: JournalFailure, in table: SessionTable) {
        for read in group.takeReads() {
            guard read.freshness != .confirmed, let session = table.awake(group.id) else {
                read.act(.unreadable(failure), .none)
                continue
            }
            counts.unconfirmed += 1
            read.act(.session(session), Age(milliseconds: table.age(of: session)))
        }
    }

    func removeAll() {
        gathered = []
        groups = [:]
        waiting = []
        asked = []
        copies = SessionCopies()
    }
}

/// The reads of sessions among several nodes.
package struct ReadCounts: Sendable, Equatable {
    /// Questions that ask the journal whether sessions in memory are up to date.
    package var confirms: UInt64 = 0
    /// Reads that were answered without such a question.
    package var unconfirmed: UInt64 = 0

    package mutating func add(_ other: ReadCounts) {
        confirms += other.confirms
        unconfirmed += other.unconfirmed
    }
}

extension JournalFailure {
    fileprivate static let late = JournalFailure(
        reason: .unavailable, detail: "the journal has not answered within a second")
}

extension SessionTable {
    /// Milliseconds since the journal confirmed that memory has the newest state.
    fileprivate func age(of session: Session) -> Int64 {
        uptime - (session.tenure?.confirmed ?? 0)
    }
}
