internal import Cluster
internal import Feeds
internal import Sessions
internal import Storage

/// Claims sessions for this node, and gives them up. Exists only if several nodes write
/// to the journal.
///
/// Design: a session is claimed when it is loaded, and given up when it leaves memory. Each round
/// gives up several sessions in one call.
///
/// Invariants: a session that is being given up is claimed again only after that. Otherwise the
/// journal might execute the claim first, and the session would run here without an owner. A
/// session is claimed, and given up, only after the journal has decided on everything that was
/// submitted of it. Why: a batch that is sent again is accepted under any owner, and a session that
/// was loaded earlier would lack it.
final class SessionClaims {
    private let ownership: any Ownership
    /// Sessions to give up with the next call.
    private var released: [OwnedSession] = []
    /// The sessions of the call that is under way, and those of `released`.
    private var leaving: Set<String> = []
    /// Sessions whose release has failed. The next tick repeats it.
    private var failed: [String: OwnedSession] = [:]
    private var isReleasing = false
    /// Claims that wait until their session is given up. A session has one claim at a time: the one
    /// of its ``PendingOperations/Operation``.
    private var waiting: [String: () -> Void] = [:]
    /// Sessions that this node gave up to their home, each with that member. The next claim of such
    /// a session is referred to the member: another node sent its request here while this node was
    /// still the owner.
    private var homes = Routes<SessionID>()
    private(set) var counts = ClaimCounts()

    /// While this many sessions wait to be given up, ``hasRoom`` is false.
    ///
    /// Why none is dropped: this node would own a session that is not in its memory. Then no node
    /// would wake the session for its timers.
    var releaseLimit = 100_000
    private static let callLimit = 1_000

    init(_ ownership: any Ownership) { self.ownership = ownership }

    var members: Members { ownership.members }
    var homeRest: Int64 { ownership.homeRest }

    /// Whether this loop may claim and create sessions: not while ``releaseLimit`` sessions wait to
    /// be given up. Meanwhile only sessions that are already in memory can join them.
    var hasRoom: Bool { leaving.count + failed.count < releaseLimit }

    /// Whether this node may own sessions.
    var isHeard: Bool { members.isHeard }

    /// The node with its address, which is empty if the last beat did not show the node.
    func member(_ node: Node) -> Member {
        ownership.members[node] ?? Member(node: node, address: "", loops: 0)
    }

    // MARK: Claiming

    /// Makes this node the owner of a session. Calls `act` later, on the loop of the table.
    ///
    /// - Parameters:
    ///   - deposed: The owner to depose, because it is gone or silent; nil if there is none.
    ///   - isDeletion: Whether the session is claimed only to be deleted. Then no node has to be
    ///     able to read it.
    func claim(
        _ id: SessionID, deposing deposed: Node? = nil, isDeletion: Bool = false,
        in table: SessionTable, then act: @escaping (Result<Claim, JournalFailure>) -> Void
    ) {
        let (hop, bound) = (table.services.hop, LoopBound(act))
        // Checked first, because the steps below wait for the database.
        guard isHeard else {
            _ = hop { table in bound.open(on: table)(.failure(.notHeard)) }
            return
        }
        guard !leaving.contains(id.text) else {
            waiting[id.text] = { [self, unowned table] in
                claim(id, deposing: deposed, isDeletion: isDeletion, in: table, then: act)
            }
            return
        }
        guard !table.commits.isUndecided(id) else {
            return table.commits.afterSubmitted { [unowned self, unowned table] in
                guard !table.commits.isStopped else { return }
                claim(id, deposing: deposed, isDeletion: isDeletion, in: table, then: act)
            }
        }
        failed[id.text] = nil
        if let home = takeHome(of: id), deposed == nil, !isDeletion {
            counts.elsewhere += 1
            _ = hop { table in bound.open(on: table)(.success(.elsewhere(home, nil))) }
            return
        }
        let losses = table.feeds.journal.losses
        let answer: ArchiveAnswer<Claim> = { result in
            _ = hop { table in
                table.cluster?.claims.count(result)
                let isVoid = table.feeds.journal.losses != losses
                bound.open(on: table)(isVoid ? .failure(.historyLost) : result)
            }
        }
        if isDeletion {
            ownership.claimForDeletion(id.text, answer)
        } else {
            ownership.claim(id.text, deposing: deposed, answer)
        }
    }

    // MARK: Reading

    /// The member, if any, that can read a session that this node cannot rebuild. Nil if this node
    /// can rebuild it.
    func reader(of saved: SavedSession, in table: SessionTable) -> SessionLookup? {
        let version = saved.snapshot?.stateVersion ?? 0
        if let here = table.registration(saved.reactor), here.stateVersion >= version {
            return nil
        }
        let members = ownership.members
        let traits = SessionTraits(reactor: saved.reactor, owner: saved.owner)
        let owner = saved.ownership?.owner.flatMap { members[$0] }
        if let owner, owner.node != members.own.node, owner.canRead(saved.reactor, version) {
            return .elsewhere(owner, traits)
        }
        let home = members.home(of: saved.key.session, needing: (saved.reactor, version))
        guard let home, home != members.own.node, let member = members[home] else {
            return .noNode(traits, stateVersion: version)
        }
        return .elsewhere(member, traits)
    }

    /// The result of looking for a session without claiming it.
    enum Sight {
        /// Another member owns it.
        case elsewhere(Node, SessionTraits)
        case unowned
        case nothing
        case ended
    }

    /// Finds out whether another member owns a session. Calls `act` later, on the loop
    /// of the table.
    ///
    /// - Parameter deposed: An owner that is gone or silent. If it owns the session, the session
    ///   counts as unowned.
    func look(
        for id: SessionID, deposing deposed: Node?, in table: SessionTable,
        then act: @escaping (Result<Sight, JournalFailure>) -> Void
    ) {
        // No session has this generation, so the answer describes the present one.
        let none = Confirmation(
            SessionKey(session: id.text, generation: ""), at: HistoryPosition(0))
        let (hop, bound, losses) = (table.services.hop, LoopBound(act), table.feeds.journal.losses)
        ownership.confirm([none]) { result in
            _ = hop { table in
                let act = bound.open(on: table)
                guard table.feeds.journal.losses == losses else {
                    return act(.failure(.historyLost))
                }
                switch result {
                case .failure(let failure): act(.failure(failure))
                case .success(let changes):
                    table.cluster?.claims.look(
                        at: changes[id.text], of: id, deposing: deposed, in: table, then: act)
                }
            }
        }
    }

    private func look(
        at change: Change?, of id: SessionID, deposing deposed: Node?, in table: SessionTable,
        then act: @escaping (Result<Sight, JournalFailure>) -> Void
    ) {
        if let head = change?.head {
            let members = ownership.members
            guard let owner = change?.owner, owner != members.own.node, owner != deposed,
                members[owner] != nil
            else { return act(.success(.unowned)) }
            let traits = SessionTraits(reactor: head.reactor, owner: head.owner)
            return act(.success(.elsewhere(owner, traits)))
        }
        table.ask { archive, answer in
            archive.head(of: id.text, answer)
        } then: { head in
            act(
                head.map { head in
                    guard let head else { return .nothing }
                    return head.isDeleted ? .ended : .unowned
                })
        }
    }

    private func count(_ result: Result<Claim, JournalFailure>) {
        switch result {
        case .success(.owned): counts.owned += 1
        case .success(.elsewhere): counts.elsewhere += 1
        case .success(.noNode), .success(.nothing), .success(.ended), .failure: break
        }
    }

    func countDeposed() { counts.deposed += 1 }

    func countHandedOver(_ count: Int) { counts.handedOver += UInt64(count) }

    // MARK: Homes

    /// The member that should continue the session when it is at rest: its home, if that can read
    /// it. Nil if this is this node, or if there is none.
    func home(of session: Session, _ members: Members) -> Node? {
        let registration = session.registration
        let home = members.home(
            of: session.id.text, needing: (registration.name, registration.stateVersion))
        return home == members.own.node ? nil : home
    }

    /// Remembers that a session goes to its home, and counts it.
    func sendHome(_ session: Session, _ members: Members) {
        guard let home = home(of: session, members) else { return }
        homes.remember(home, of: session.id)
        counts.sentHome += 1
    }

    /// The home for which a session was given up. Returned only once, because two nodes with
    /// different views of the members would refer a session to each other for ever.
    private func takeHome(of id: SessionID) -> Node? {
        guard let home = homes[id] else { return nil }
        homes.forget(id)
        return members[home].flatMap { $0.isLeaving ? nil : home }
    }

    // MARK: Giving up

    /// Gives up a session that leaves memory, unless it was never created.
    func release(_ session: Session) {
        guard let owned = session.ownership else { return }
        let commits = session.table.commits
        guard commits.isUndecided(session.id) else { return release(owned) }
        commits.afterSubmitted { [unowned self] in release(owned) }
    }

    func release(_ session: OwnedSession) {
        released.append(session)
        leaving.insert(session.key.session)
    }

    /// Gives up the sessions that left memory in this round.
    func flush(in table: SessionTable) {
        guard !released.isEmpty, !isReleasing else { return }
        isReleasing = true
        let call = Array(released.prefix(Self.callLimit))
        released.removeFirst(call.count)
        let hop = table.services.hop
        ownership.release(call) { result in
            _ = hop { table in table.cluster?.claims.ended(call, result) }
        }
    }

    private func ended(_ call: [OwnedSession], _ result: Result<Void, JournalFailure>) {
        isReleasing = false
        var late: [() -> Void] = []
        for session in call {
            let id = session.key.session
            leaving.remove(id)
            if let claim = waiting.removeValue(forKey: id) {
                late.append(claim)
            } else if case .failure = result {
                failed[id] = session
            }
        }
        for claim in late { claim() }
    }

    func tickBegan() {
        for session in failed.values { release(session) }
        failed = [:]
    }

    func removeAll() {
        (released, leaving, failed, waiting) = ([], [], [:], [:])
        homes = Routes()
    }
}

/// The results of claims.
package struct ClaimCounts: Sendable, Equatable {
    /// Sessions that this node has become the owner of.
    package var owned: UInt64 = 0
    /// Sessions that another node owned.
    package var elsewhere: UInt64 = 0
    /// Sessions that this node owned and that had another owner before it gave them up.
    package var deposed: UInt64 = 0
    /// Sessions that this node has given up because it leaves.
    package var handedOver: UInt64 = 0
    /// Sessions that this node has given up because another node is their home.
    package var sentHome: UInt64 = 0

    package mutating func add(_ other: ClaimCounts) {
        owned += other.owned
        elsewhere += other.elsewhere
        deposed += other.deposed
        handedOver += other.handedOver
        sentHome += other.sentHome
    }
}

extension JournalFailure {
    /// The members may have declared this node gone.
    static let notHeard = JournalFailure(
        reason: .unavailable, detail: "no heartbeat of this node has reached the database in time")
}
