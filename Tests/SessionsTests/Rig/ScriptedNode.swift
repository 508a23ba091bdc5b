import Cluster
import Clustering
import Storage
import Synchronization

/// One of several processes, as its table sees the database: each statement is carried out, and its
/// result arrives, when the test wants.
final class ScriptedNode: Journal {
    typealias Result<Value> = Swift.Result<Value, JournalFailure>

    enum Kind: CaseIterable {
        case commit, read, claim, release, confirm, follow
    }

    /// A statement that has no result yet. It is carried out at one moment, and its result arrives
    /// at a later one.
    fileprivate struct Statement {
        let kind: Kind
        /// Carries it out, or fails; calling the result delivers the answer.
        let carryOut: @Sendable (JournalFailure?) -> @Sendable () -> Void
        var deliver: (@Sendable () -> Void)?
    }

    fileprivate struct State {
        var isImmediate: Bool
        var statements: [Statement] = []
        var members: Members
        var changed: (@Sendable (OwnershipChange) -> Void)?
        var counts: [Kind: Int] = [:]
        var clockAhead: Int64 = 0
    }

    let cluster: ScriptedCluster
    let member: Member
    var node: Node { member.node }
    private let state: Mutex<State>

    /// - Parameters:
    ///   - isImmediate: whether statements are carried out, and answered, at once.
    ///   - reactors: the versions of the reactors that it hosts; nil: all.
    init(
        _ number: Int64, of cluster: ScriptedCluster, isImmediate: Bool = true,
        reactors: [String: Int] = [:]
    ) {
        self.cluster = cluster
        let node = Node(number: number)
        member = Member(node: node, address: "\(number):1", loops: 1, reactors: reactors)
        cluster.join(member)
        state = Mutex(
            State(isImmediate: isImmediate, members: cluster.members(seenBy: member)))
    }

    let name = "scripted"
    var archive: (any Archive)? { self }
    var failure: JournalFailure? { nil }
    var ownership: (any Ownership)? { self }
    var work: (any WorkFinder)? { self }
    var expiries: ExpiryBacklog? { cluster.journal.backlog }

    func clock(_ wall: Int64) -> ClosedRange<Int64> {
        cluster.journal.clock(wall - state.withLock { $0.clockAhead })
    }

    /// How far the clock of its machine is ahead of the database's, in milliseconds.
    func setClockAhead(_ milliseconds: Int64) {
        state.withLock { $0.clockAhead = milliseconds }
    }

    // MARK: The script

    func setImmediate(_ isImmediate: Bool) { state.withLock { $0.isImmediate = isImmediate } }

    /// The kind of the oldest statement that has no result yet.
    var nextKind: Kind? { state.withLock { $0.statements.first?.kind } }

    var waitingCount: Int { state.withLock { $0.statements.count } }

    /// The statements of this kind that have no result yet.
    func waiting(_ kind: Kind) -> Int { state.withLock { $0.statements.count { $0.kind == kind } } }

    /// How many statements of each kind were sent.
    var counts: [Kind: Int] { state.withLock { $0.counts } }

    /// Carries out a statement. Its result is on its way. Commits are carried out in order.
    func carryOut(_ index: Int, failing failure: JournalFailure? = nil) {
        let statement = state.withLock { state -> Statement? in
            let index = state.turn(index)
            return state.statements[index].deliver == nil ? state.statements[index] : nil
        }
        guard let statement else { return }
        let deliver = statement.carryOut(failure)
        state.withLock { $0.statements[$0.turn(index)].deliver = deliver }
    }

    /// Delivers the result of a statement; those of commits arrive in order.
    func deliver(_ index: Int) {
        let statement = state.withLock { state -> Statement? in
            var index = index
            if state.statements[index].kind == .commit {
                index = state.statements.firstIndex { $0.kind == .commit } ?? index
            }
            guard state.statements[index].deliver != nil else { return nil }
            return state.statements.remove(at: index)
        }
        statement?.deliver?()
    }

    /// Carries out all statements and delivers their results.
    func settle() {
        while waitingCount > 0 {
            carryOut(0)
            deliver(0)
        }
    }

    /// The same for all but those of one kind.
    func settle(sparing kind: Kind) {
        while let index = state.withLock({ $0.statements.firstIndex { $0.kind != kind } }) {
            carryOut(index)
            deliver(index)
        }
    }

    /// The process has ended: what was sent and not carried out is lost.
    func kill() {
        cluster.leave(node)
        state.withLock { state in
            state.statements = []
            state.changed = nil
        }
    }

    /// A beat: shows the members and the sessions of which this node is no longer the owner.
    func beat(owning sessions: [OwnedSession] = []) {
        let members = cluster.members(seenBy: member)
        let deposed = cluster.deposed(node, of: sessions)
        let changed = state.withLock { state in
            state.members = members
            return state.changed
        }
        changed?(OwnershipChange(members: members, deposed: deposed))
    }

    private func send<Value: Sendable>(
        _ kind: Kind, _ answer: @escaping @Sendable (Result<Value>) -> Void,
        failing fail: @escaping @Sendable () -> Void = {},
        _ act: @escaping @Sendable () -> Value
    ) {
        let isImmediate = state.withLock { state in
            state.counts[kind, default: 0] += 1
            guard !state.isImmediate else { return true }
            state.statements.append(
                Statement(kind: kind) { failure in
                    if failure != nil { fail() }
                    let result: Result<Value> = failure.map { .failure($0) } ?? .success(act())
                    return { answer(result) }
                })
            return false
        }
        if isImmediate { answer(.success(act())) }
    }

    // MARK: Journal

    func watchHistory(_ lost: @escaping @Sendable (UInt64) -> Void) {
        cluster.journal.watchHistory(lost)
    }

    func commit(_ batch: Batch, ended: @escaping @Sendable (Verdict) -> Void) -> Commit {
        send(
            .commit,
            { result in
                switch result {
                case .success(let verdict): ended(verdict)
                case .failure(let failure): ended(.failed(failure))
                }
            }, failing: { [cluster, node] in cluster.lose(batch, by: node) }
        ) { [cluster, node] in cluster.commit(batch, by: node) }
        return .pending
    }
}

extension ScriptedNode.State {
    /// The index of the statement whose turn it is: the first commit that was not carried out,
    /// for any commit.
    fileprivate func turn(_ index: Int) -> Int {
        guard statements[index].kind == .commit else { return index }
        return statements.firstIndex { $0.kind == .commit && $0.deliver == nil } ?? index
    }
}

extension ScriptedNode: Ownership {
    var members: Members { state.withLock { $0.members } }

    func claim(
        _ session: String, deposing deposed: Node?, _ answer: @escaping ArchiveAnswer<Claim>
    ) {
        send(.claim, answer) { [cluster, member] in
            cluster.claim(session, by: member, deposing: deposed)
        }
    }

    func claimForDeletion(_ session: String, _ answer: @escaping ArchiveAnswer<Claim>) {
        send(.claim, answer) { [cluster, member] in
            cluster.claim(session, by: member, deposing: nil, isDeletion: true)
        }
    }

    func release(_ sessions: [OwnedSession], _ answer: @escaping ArchiveAnswer<Void>) {
        send(.release, answer) { [cluster, node] in cluster.release(sessions, by: node) }
    }

    func confirm(
        _ expected: [Confirmation], _ answer: @escaping ArchiveAnswer<[String: Change]>
    ) {
        send(.confirm, answer) { [cluster, node] in cluster.confirm(expected, by: node) }
    }

    func changes(
        of followed: [Confirmation], _ answer: @escaping ArchiveAnswer<[String: Change]>
    ) {
        send(.follow, answer) { [cluster] in cluster.changes(of: followed) }
    }

    var endedSessions: any HistoryArchive { EndedHistories(node: self) }

    static let homeRest: Int64 = 5_000
    var homeRest: Int64 { Self.homeRest }

    func watch(_ changed: @escaping @Sendable (OwnershipChange) -> Void) {
        state.withLock { $0.changed = changed }
    }
}

extension ScriptedNode: Archive {
    func head(of session: String, _ answer: @escaping Answer<SavedHead?>) {
        read(answer) { $0.head(of: session, $1) }
    }

    func load(_ session: String, _ answer: @escaping Answer<SavedSession?>) {
        read(answer, session) { [cluster] journal, answer in
            journal.load(session) { loaded in
                answer(
                    loaded.map { saved in
                        var saved = saved
                        saved?.ownership = cluster.ownership(of: session)
                        return saved
                    })
            }
        }
    }

    func records(
        of session: SessionKey, after start: HistoryPosition, through last: UInt64, limit: Int,
        limitBytes: Int, _ answer: @escaping Answer<[HistoryEntry]>
    ) {
        read(answer, session.session) {
            $0.records(
                of: session, after: start, through: last, limit: limit, limitBytes: limitBytes, $1)
        }
    }

    func snapshot(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Snapshot?>
    ) {
        read(answer, session.session) { $0.snapshot(of: session, at: version, $1) }
    }

    func stateVersion(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Int?>
    ) {
        read(answer, session.session) { $0.stateVersion(of: session, at: version, $1) }
    }

    func storedAnswer(
        of session: SessionKey, key: String, _ answer: @escaping Answer<StoredAnswer?>
    ) {
        read(answer) { $0.storedAnswer(of: session, key: key, $1) }
    }

    func page(_ range: SessionRange, _ answer: @escaping Answer<[SavedHead]>) {
        read(answer) { $0.page(range, $1) }
    }

    func taggedPage(_ selection: TagSelection, _ answer: @escaping Answer<TaggedPage>) {
        read(answer) { $0.taggedPage(selection, $1) }
    }

    func timers(of session: SessionKey, _ answer: @escaping Answer<[SessionTimer]>) {
        read(answer) { $0.timers(of: session, $1) }
    }

    /// The scripted journal responds at once.
    ///
    /// - Parameter session: The one whose records are read.
    fileprivate func read<Value: Sendable>(
        _ answer: @escaping Answer<Value>, _ session: String? = nil,
        _ ask: @escaping @Sendable (ScriptedJournal, @escaping Answer<Value>) -> Void
    ) {
        let (cluster, journal) = (cluster, cluster.journal)
        send(.read, { result in answer(result.flatMap { $0 }) }) { () -> Result<Value> in
            if let session, cluster.isDamaged(session) { return .failure(.damaged) }
            let found = Mutex<Result<Value>?>(nil)
            ask(journal) { result in found.withLock { $0 = result } }
            return found.withLock { $0 }
                ?? .failure(JournalFailure(reason: .unavailable, detail: "no answer"))
        }
    }
}

extension ScriptedNode: WorkFinder {
    func findWork(after place: Int64, _ answer: @escaping ArchiveAnswer<FoundWork>) {
        send(.read, answer) { [cluster] in cluster.work(after: place) }
    }

    func findTimers(
        _ kind: TimerKind, after place: TimerPosition, before end: Int64,
        _ answer: @escaping ArchiveAnswer<FoundTimers>
    ) {
        send(.read, answer) { [cluster] in cluster.timers(kind, after: place, before: end) }
    }
}

/// Generations that have ended, while the database has their records.
private struct EndedHistories: HistoryArchive {
    let node: ScriptedNode

    func records(
        of session: SessionKey, after start: HistoryPosition, through last: UInt64, limit: Int,
        limitBytes: Int, _ answer: @escaping Answer<[HistoryEntry]>
    ) {
        let cluster = node.cluster
        node.read(answer) { journal, answer in
            guard cluster.keepsEnded else { return answer(.success([])) }
            journal.endedRecords(
                of: session, after: start, through: last, limit: limit, limitBytes: limitBytes,
                answer)
        }
    }

    func snapshot(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Snapshot?>
    ) {
        let cluster = node.cluster
        node.read(answer) { journal, answer in
            guard cluster.keepsEnded else { return answer(.success(nil)) }
            journal.endedSnapshot(of: session, at: version, answer)
        }
    }

    func stateVersion(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Int?>
    ) {
        let cluster = node.cluster
        node.read(answer) { journal, answer in
            guard cluster.keepsEnded else { return answer(.success(nil)) }
            journal.endedStateVersion(of: session, at: version, answer)
        }
    }
}

extension JournalFailure {
    fileprivate static let damaged = JournalFailure(reason: .unavailable, detail: "damaged")
}
