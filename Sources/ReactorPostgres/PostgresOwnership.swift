internal import Cluster
internal import Storage

/// The owners of sessions in PostgreSQL: columns of their rows (ADR-0048).
///
/// Beats, claims, confirmations and questions about followed sessions have a connection each. None
/// of them delays a read.
final class PostgresOwnership: Ownership {
    private let connector: Connector
    private let node: Node
    private let rules: Rules
    private let membership: Membership
    private let archive: PostgresArchive
    private let claimQueue: ConnectionQueue
    private let confirmQueue: ConnectionQueue
    private let followQueue: ConnectionQueue
    private let claims: QuestionQueue<Claims.Request, Claims.Result>
    private let releases: QuestionQueue<[OwnedSession], Void>
    /// The claims while this node leaves.
    private let departures: QuestionQueue<String, Claims.Result>
    private let confirmations: QuestionQueue<[Confirmation], [String: Change]>
    private let followed: QuestionQueue<[Confirmation], [String: Change]>

    /// A quarter of the lease.
    let silence: Duration
    /// How long a claim waits for a row that somebody else holds.
    private let lockLimit: Duration
    private static let pause = Duration.milliseconds(10)

    init(
        _ connector: Connector, _ archive: PostgresArchive, _ proofs: Proofs, _ own: Member,
        lease: Duration, lockLimit: Duration, respite: Duration
    ) {
        self.connector = connector
        let (node, rules) = (own.node, connector.rules)
        let membership = Membership(connector, own, lease: lease)
        (self.node, self.rules, self.membership, self.archive) = (node, rules, membership, archive)
        self.lockLimit = lockLimit
        silence = lease / 4
        claimQueue = ConnectionQueue(connector, "claims")
        confirmQueue = ConnectionQueue(connector, "confirmations")
        followQueue = ConnectionQueue(connector, "following")
        let present = { @Sendable in
            Claims(node: node, members: membership.members, rules: rules, respite: respite)
        }
        // A claim that was won is proved by its own commit, and the session is loaded later.
        let ends = Proving<Claims.Result>(proofs, { $0 == .ended })
        claims = QuestionQueue(claimQueue, lockLimit: lockLimit, ends) {
            requests, connection throws(PostgresFault) in
            try present().claim(requests, connection)
        }
        releases = QuestionQueue(claimQueue, lockLimit: lockLimit) {
            lists, connection throws(PostgresFault) in
            try present().release(lists.flatMap(\.self), connection)
            return lists.map { _ in }
        }
        departures = QuestionQueue(claimQueue, lockLimit: lockLimit, ends) {
            sessions, connection throws(PostgresFault) in
            try present().leave(sessions, connection)
        }
        // A change is not shown: the session is loaded, or its own commits are awaited.
        confirmations = QuestionQueue(confirmQueue, lockLimit: lockLimit) {
            lists, connection throws(PostgresFault) in
            try Confirmations(node: node).look(at: lists, connection)
        }
        // While no standby answers, the other sessions are confirmed, and their streams stay.
        let changes = Proving<[String: Change]>(
            proofs, otherwise: { $0.mapValues { _ in .undecided } }, { !$0.isEmpty })
        followed = QuestionQueue(followQueue, lockLimit: lockLimit, changes) {
            lists, connection throws(PostgresFault) in
            try Confirmations(node: node).look(at: lists, areFollowed: true, connection)
        }
    }

    // MARK: Members

    var members: Members { membership.members }

    /// Nil while this node is a member and has all connections.
    var failure: JournalFailure? {
        guard membership.members.isHeard else { return Self.failure(Self.unheard) }
        return queues.compactMap(\.failure).first ?? membership.connectionFailure
    }

    private var queues: [ConnectionQueue] { [claimQueue, confirmQueue, followQueue] }

    /// Tries to make the connections that are missing.
    func look() {
        for queue in queues { queue.look() }
    }

    var acquaintances: [Member] { membership.acquaintances }

    var standing: DatabaseStanding {
        connector.standing ?? DatabaseStanding(membership.members.database)
    }

    func hear(_ other: DatabaseStanding) { connector.hear(other) }

    func watch(_ changed: @escaping @Sendable (OwnershipChange) -> Void) {
        membership.watch(changed)
    }

    func join() throws(PostgresFault) {
        for queue in queues { try queue.open() }
        try membership.join()
    }

    func begin(every pause: Duration) { membership.begin(every: pause) }

    func beat() async throws { try await membership.beat() }

    func leave() { membership.leave() }

    func close() async {
        await membership.close()
        for queue in queues { await queue.close() }
    }

    // MARK: Sessions

    func claim(
        _ session: String, deposing deposed: Node?, _ answer: @escaping ArchiveAnswer<Claim>
    ) {
        let members = members
        guard members.isHeard else {
            return claimQueue.async { answer(.failure(Self.failure(Self.unheard))) }
        }
        let request = Claims.Request(session: session, deposed: deposed)
        if members.own.isLeaving, let home = members.home(of: session) {
            return leave(request, to: home, answer)
        }
        begin(request, answer)
    }

    func claimForDeletion(_ session: String, _ answer: @escaping ArchiveAnswer<Claim>) {
        guard members.isHeard else {
            return claimQueue.async { answer(.failure(Self.failure(Self.unheard))) }
        }
        begin(Claims.Request(session: session, isDeletion: true), answer)
    }

    private func begin(_ request: Claims.Request, _ answer: @escaping ArchiveAnswer<Claim>) {
        let end = ContinuousClock.now + lockLimit
        guard !rules.contains(.loadsAfterClaim) else {
            return claim(request, until: end, answer)
        }
        archive.load(request.session) { [self] result in
            var request = request
            request.loaded = try? result.get()
            claim(request, until: end, answer)
        }
    }

    /// Gives a session up, and names its home. Otherwise the home would refer each request back. If
    /// no other member can read the session, this node claims it.
    ///
    /// - Parameter home: The home if the session does not exist.
    private func leave(
        _ request: Claims.Request, to home: Node, _ answer: @escaping ArchiveAnswer<Claim>
    ) {
        departures.ask(request.session) { [self] result in
            do throws(JournalFailure) {
                switch try result.get() {
                case .elsewhere(let owner, let traits):
                    answer(.success(.elsewhere(owner, traits)))
                case .ended: answer(.success(.ended))
                case .unreadable(let traits, let stateVersion),
                    .left(let traits, let stateVersion):
                    let reader = members.home(
                        of: request.session, needing: (traits.reactor, stateVersion))
                    guard let reader else { return begin(request, answer) }
                    answer(.success(.elsewhere(reader, traits)))
                case .nothing, .won, .locked: answer(.success(.elsewhere(home, nil)))
                }
            } catch {
                answer(.failure(error))
            }
        }
    }

    private static let unheard = "this node has not reached the database for as long as its lease"

    private static func failure(_ detail: String) -> JournalFailure {
        JournalFailure(reason: .unavailable, detail: "PostgreSQL: \(detail)")
    }

    private func claim(
        _ request: Claims.Request, until end: ContinuousClock.Instant,
        _ answer: @escaping ArchiveAnswer<Claim>
    ) {
        claims.ask(request) { [self] result in
            do throws(JournalFailure) {
                switch try result.get() {
                case .nothing: answer(.success(.nothing))
                case .ended: answer(.success(.ended))
                case .elsewhere(let owner, let traits):
                    membership.meet(owner) { answer(.success(.elsewhere(owner, traits))) }
                case .won(let generation, let epoch):
                    load(request, generation, epoch, until: end, answer)
                case .locked: claimLater(request, until: end, answer)
                case .unreadable(let traits, let stateVersion):
                    claim(request, of: traits, in: stateVersion, until: end, answer)
                case .left: claimLater(request, until: end, answer)
                }
            } catch {
                answer(.failure(error))
            }
        }
    }

    private func claimLater(
        _ request: Claims.Request, until end: ContinuousClock.Instant,
        _ answer: @escaping ArchiveAnswer<Claim>
    ) {
        guard ContinuousClock.now < end else {
            return answer(.failure(Self.failure("another transaction holds the session's row")))
        }
        claimQueue.async(after: Self.pause) { [self] in claim(request, until: end, answer) }
    }

    /// If no member can read the session, it is claimed only to be deleted.
    private func claim(
        _ request: Claims.Request, of traits: SessionTraits, in stateVersion: Int,
        until end: ContinuousClock.Instant, _ answer: @escaping ArchiveAnswer<Claim>
    ) {
        let home = members.home(of: request.session, needing: (traits.reactor, stateVersion))
        if let home, home != node { return answer(.success(.elsewhere(home, traits))) }
        guard home == nil, !request.isDeletion else {
            // This node can read it by now, or it need not: somebody holds the row.
            return claimLater(request, until: end, answer)
        }
        answer(.success(.noNode(traits, stateVersion: stateVersion)))
    }

    /// Loads a session after its claim, because an earlier read may lack what the last owner wrote.
    /// If another era or claim comes between the two, claims it again.
    private func load(
        _ request: Claims.Request, _ generation: String, _ epoch: Int64,
        until end: ContinuousClock.Instant, _ answer: @escaping ArchiveAnswer<Claim>
    ) {
        if var early = request.loaded {
            early.epoch = epoch
            return answer(.success(.owned(early)))
        }
        archive.load(request.session) { [self] result in
            do throws(JournalFailure) {
                let saved = try result.get()
                guard let saved, saved.key.generation == generation, saved.epoch == epoch else {
                    return claimLater(request, until: end, answer)
                }
                answer(.success(.owned(saved)))
            } catch {
                // The claim is void, and another node may be able to load the session.
                let key = SessionKey(session: request.session, generation: generation)
                release([OwnedSession(key, epoch: epoch)]) { _ in }
                answer(.failure(error))
            }
        }
    }

    func release(_ sessions: [OwnedSession], _ answer: @escaping ArchiveAnswer<Void>) {
        releases.ask(sessions, answer)
    }

    func confirm(
        _ expected: [Confirmation], _ answer: @escaping ArchiveAnswer<[String: Change]>
    ) {
        confirmations.ask(expected, answer)
    }

    func changes(
        of followed: [Confirmation], _ answer: @escaping ArchiveAnswer<[String: Change]>
    ) {
        self.followed.ask(followed, answer)
    }

    var endedSessions: any HistoryArchive { EndedSessions(archive: archive) }
}
