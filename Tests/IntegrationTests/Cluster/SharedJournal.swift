import Cluster
import Storage
import Synchronization

/// A journal that several servers of this process write to: a file, and the owners of sessions in
/// memory.
final class SharedJournal: Sendable {
    private struct Ownership {
        var owner: Node?
        var epoch: Int64 = 0
    }

    private struct State {
        var members: [Node: Member] = [:]
        /// In the order in which they came.
        var nodes: [Node] = []
        var sessions: [String: Ownership] = [:]
        var deposed = 0
        /// Members that cannot reach the journal any more.
        var unheard: Set<Node> = []
        /// Where nodes believe another database than the others.
        var databases: [Node: DatabaseStanding] = [:]
        /// The databases of which each node has heard.
        var heard: [Node: Set<DatabaseStanding>] = [:]
        /// Members that other nodes' last beats have not shown.
        var hidden: Set<Node> = []
        /// Sessions that a claim has referred to a hidden one.
        var referred: Set<String> = []

        func owns(_ session: String, _ node: Node, _ epoch: Int64) -> Bool {
            sessions[session].map { $0.owner == node && $0.epoch == epoch } ?? false
        }
    }

    fileprivate let file: FileJournal
    let archive: HeldArchive
    /// Holds the calls that count a client's sessions.
    let counts = Hold()
    fileprivate let followPause: Int64
    private let state = Mutex(State())

    init(_ folder: TemporaryFolder, followPause: Int64 = 1_000) throws {
        self.followPause = followPause
        file = try FileJournal(path: folder.path + "/shared.sqlite")
        guard let archive = file.archive else { preconditionFailure("a file has one") }
        self.archive = HeldArchive(archive)
    }

    // MARK: The script

    /// A node of the test, which is no server. Its sessions are those that the test gives it.
    func join(_ member: Member) {
        state.withLock {
            $0.members[member.node] = member
            $0.nodes.append(member.node)
            $0.hidden.remove(member.node)
        }
    }

    /// A node that has just joined: claims respect it, and no other node has seen it.
    func hide(_ member: Member) {
        state.withLock {
            $0.members[member.node] = member
            $0.hidden.insert(member.node)
            $0.referred = []
        }
    }

    /// Whether a claim of the session was referred to a node that is hidden.
    func isReferred(_ session: String) -> Bool { state.withLock { $0.referred.contains(session) } }

    /// All nodes that have joined, in order.
    var nodes: [Node] { state.withLock { $0.nodes } }

    /// Cuts a node off from the journal. For the others it is a member until its lease ends.
    func cutOff(_ node: Node) { state.withLock { _ = $0.unheard.insert(node) } }

    func believe(_ database: DatabaseStanding, at node: Node) {
        state.withLock { $0.databases[node] = database }
    }

    func hear(_ database: DatabaseStanding, at node: Node) {
        state.withLock { _ = $0.heard[node, default: []].insert(database) }
    }

    func standing(of node: Node) -> DatabaseStanding {
        state.withLock { $0.databases[node] } ?? DatabaseStanding(DatabaseMark(era: 1))
    }

    func hasHeard(_ node: Node, of database: DatabaseStanding) -> Bool {
        state.withLock { $0.heard[node]?.contains(database) ?? false }
    }

    func leave(_ node: Node) {
        state.withLock { state in
            state.members[node] = nil
            for (session, ownership) in state.sessions where ownership.owner == node {
                state.sessions[session]?.owner = nil
                state.sessions[session]?.epoch += 1
            }
        }
    }

    func give(_ session: String, to node: Node) {
        state.withLock { state in
            state.sessions[session, default: Ownership()].owner = node
            state.sessions[session]?.epoch += 1
        }
    }

    func owner(of session: String) -> Node? { state.withLock { $0.sessions[session]?.owner } }

    /// The number of sessions that were taken from a member.
    var deposed: Int { state.withLock { $0.deposed } }

    func members(seenBy own: Member) -> Members {
        state.withLock { state in
            Members(
                own: own,
                others: state.members.values.filter {
                    $0.node != own.node && !state.hidden.contains($0.node)
                }.sorted { $0.node.number < $1.node.number },
                database: state.databases[own.node]?.mark ?? DatabaseMark(era: 1),
                isHeard: !state.unheard.contains(own.node))
        }
    }

    func close() async { await file.close() }

    // MARK: Statements

    fileprivate func fenced(_ batch: Batch, of node: Node) -> [SessionKey: CommitRefusal] {
        state.withLock { state in
            var fenced: [SessionKey: CommitRefusal] = [:]
            for run in batch.runs {
                if run.after == nil {
                    state.sessions[run.key.session] = Ownership(owner: node, epoch: 1)
                } else if !state.owns(run.key.session, node, run.epoch) {
                    fenced[run.key] = .moved(state.sessions[run.key.session]?.owner)
                }
            }
            for end in batch.expected where !state.owns(end.key.session, node, end.epoch) {
                fenced[end.key] = .moved(state.sessions[end.key.session]?.owner)
            }
            return fenced
        }
    }

    /// The epoch of the new ownership, or the owner that stays.
    fileprivate func claim(
        _ session: String, by node: Node, deposing deposed: Node?
    ) -> Result<Int64, Elsewhere> {
        state.withLock { state in
            var ownership = state.sessions[session] ?? Ownership()
            if let owner = ownership.owner, owner != node, state.members[owner] != nil {
                guard owner == deposed else {
                    if state.hidden.contains(owner) { state.referred.insert(session) }
                    return .failure(Elsewhere(owner: owner))
                }
                state.deposed += 1
            }
            ownership.owner = node
            ownership.epoch += 1
            state.sessions[session] = ownership
            return .success(ownership.epoch)
        }
    }

    fileprivate func release(_ sessions: [OwnedSession], of node: Node) {
        state.withLock { state in
            for session in sessions where state.owns(session.key.session, node, session.epoch) {
                state.sessions[session.key.session]?.owner = nil
                state.sessions[session.key.session]?.epoch += 1
            }
        }
    }

    fileprivate func isOwned(_ one: Confirmation, by node: Node) -> Bool {
        guard let epoch = one.epoch else { return true }
        return state.withLock { $0.owns(one.key.session, node, epoch) }
    }

    fileprivate func ownership(of session: String) -> (owner: Node?, epoch: Int64) {
        state.withLock { state in
            let ownership = state.sessions[session] ?? Ownership()
            return (ownership.owner, ownership.epoch)
        }
    }

    fileprivate struct Elsewhere: Error {
        let owner: Node
    }
}

/// The journal as one of the servers sees it.
final class NodeJournal: Journal, Ownership {
    let name = "shared"
    private let shared: SharedJournal
    private let member: Member

    init(_ shared: SharedJournal, as member: Member) {
        self.shared = shared
        self.member = member
        shared.join(member)
    }

    var archive: (any Archive)? { shared.archive }
    var failure: JournalFailure? { nil }
    var ownership: (any Ownership)? { self }
    var members: Members { shared.members(seenBy: member) }
    var followPause: Int64 { shared.followPause }
    // A test may be held up by all others, and its sessions stay where it put them.
    var homeRest: Int64 { 3_600_000 }

    func close() async { shared.leave(member.node) }

    var standing: DatabaseStanding { shared.standing(of: member.node) }

    func hear(_ other: DatabaseStanding) { shared.hear(other, at: member.node) }

    func commit(_ batch: Batch, ended: @escaping @Sendable (Verdict) -> Void) -> Commit {
        let fenced = shared.fenced(batch, of: member.node)
        return shared.file.commit(batch.removing(fenced)) { verdict in
            switch verdict {
            case .committed: ended(Verdict(refusing: fenced))
            case .partial(let refused):
                ended(Verdict(refusing: refused.merging(fenced) { $1 }))
            case .failed: ended(verdict)
            }
        }
    }

    func countSessions(
        of owner: String, upTo limit: Int, _ answer: @escaping ArchiveAnswer<Int>
    ) { shared.counts.pass { answer(.success(0)) } }

    func claim(
        _ session: String, deposing deposed: Node?, _ answer: @escaping ArchiveAnswer<Claim>
    ) {
        shared.archive.load(session) { [shared, node = member.node] loaded in
            switch loaded {
            case .failure(let failure): return answer(.failure(failure))
            case .success(nil): return answer(.success(.nothing))
            case .success(let saved?) where saved.isDeleted: return answer(.success(.ended))
            case .success: break
            }
            switch shared.claim(session, by: node, deposing: deposed) {
            case .failure(let elsewhere): answer(.success(.elsewhere(elsewhere.owner, nil)))
            case .success(let epoch):
                // After the claim.
                shared.archive.load(session) { loaded in
                    answer(
                        loaded.map { saved in
                            guard var saved else { return .nothing }
                            saved.epoch = epoch
                            return .owned(saved)
                        })
                }
            }
        }
    }

    func release(_ sessions: [OwnedSession], _ answer: @escaping ArchiveAnswer<Void>) {
        shared.release(sessions, of: member.node)
        Task { answer(.success(())) }
    }

    func confirm(
        _ expected: [Confirmation], _ answer: @escaping ArchiveAnswer<[String: Change]>
    ) {
        Task {
            var changes: [String: Change] = [:]
            for one in expected {
                let present = await head(of: one.key.session)
                guard
                    present?.key != one.key || present?.end.position != one.position
                        || !shared.isOwned(one, by: member.node)
                else { continue }
                changes[one.key.session] = Change(
                    head: present, owner: shared.owner(of: one.key.session))
            }
            answer(.success(changes))
            shared.archive.countAnswer()
        }
    }

    private func head(of session: String) async -> SavedHead? {
        let head = await withCheckedContinuation { continuation in
            shared.archive.head(of: session) {
                continuation.resume(returning: try? $0.get())
            }
        }
        return head.flatMap { $0.isDeleted ? nil : $0 }
    }

    func changes(
        of followed: [Confirmation], _ answer: @escaping ArchiveAnswer<[String: Change]>
    ) {
        Task {
            var changes: [String: Change] = [:]
            for one in followed {
                let present = await head(of: one.key.session)
                let (owner, epoch) = shared.ownership(of: one.key.session)
                guard
                    present?.key != one.key || present?.end.position != one.position
                        || epoch != one.epoch
                else { continue }
                changes[one.key.session] = Change(head: present, owner: owner, epoch: epoch)
            }
            answer(.success(changes))
        }
    }

    /// A file has no records of sessions that have ended.
    var endedSessions: any HistoryArchive { shared.archive }

    func watch(_ changed: @escaping @Sendable (OwnershipChange) -> Void) {}
}
