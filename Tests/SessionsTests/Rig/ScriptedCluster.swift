import Cluster
import Storage
import Synchronization

/// The database of several processes: one journal, and a row with the owner of each session.
final class ScriptedCluster: Sendable {
    struct Ownership {
        var owner: Node?
        var epoch: Int64
    }

    fileprivate struct State {
        var owners: [String: Ownership] = [:]
        /// The nodes that are members.
        var members: [Node: Member] = [:]
        var lost: [Node: Set<ScriptedEnds.Lineage>] = [:]
        /// The number of claims that made a node the owner.
        var claims = 0
        var refusedMoved = 0
        var commits = 0
        var keepsEnded = true
        /// Whether the journal says what has changed.
        var isDeciding = true
        /// Sessions whose records cannot be read.
        var damaged: Set<String> = []
    }

    let journal: ScriptedJournal
    private let fault: ScriptedFault?
    /// Without it the parts of deposed owners are let in if they continue the records.
    let hasFence: Bool
    private let state = Mutex(State())

    init(fault: ScriptedFault? = nil, hasFence: Bool = true) {
        let rules: ScriptedEnds.Rules = fault == .forksHistories ? [] : .all
        journal = ScriptedJournal(isImmediate: true, answers: true, rules: rules)
        self.fault = fault
        self.hasFence = hasFence && fault != .forksHistories
    }

    // MARK: Members

    func join(_ member: Member) { state.withLock { $0.members[member.node] = member } }

    /// The node's lease is over, or its process has ended.
    func leave(_ node: Node) { state.withLock { $0.members[node] = nil } }

    /// The members as a beat of this node shows them.
    func members(seenBy own: Member) -> Members { state.withLock { $0.members(seenBy: own) } }

    /// Those of the sessions that the node does not own at their epoch.
    func deposed(_ node: Node, of sessions: [OwnedSession]) -> [OwnedSession] {
        state.withLock { state in
            sessions.filter { !state.owns($0.key.session, node, $0.epoch) }
        }
    }

    /// Another owner is in the session's row, as after a promotion of a standby that lacks a claim.
    func setOwner(_ node: Node, of session: String) {
        state.withLock { $0.owners[session]?.owner = node }
    }

    /// The owner gives the session up.
    func leaveUnowned(_ session: String) {
        state.withLock { state in
            state.owners[session]?.owner = nil
            state.owners[session]?.epoch += 1
        }
    }

    func ownership(of session: String) -> SavedOwnership {
        state.withLock { state in
            let present = state.owners[session]
            return SavedOwnership(owner: present?.owner, epoch: present?.epoch ?? 0)
        }
    }

    func owner(of session: String) -> Node? { state.withLock { $0.owners[session]?.owner } }

    var claims: Int { state.withLock { $0.claims } }

    /// The number of parts that were refused because their session had another owner.
    var fenced: Int { state.withLock { $0.refusedMoved } }

    // MARK: Statements

    func commit(_ batch: Batch, by node: Node) -> Verdict {
        state.withLock { state in
            var fenced: [SessionKey: CommitRefusal] = [:]
            for run in batch.runs where run.after != nil && hasFence {
                guard !state.owns(run.key.session, node, run.epoch) else { continue }
                fenced[run.key] = .moved(state.owners[run.key.session]?.owner)
            }
            for end in batch.expected where hasFence {
                guard !state.owns(end.key.session, node, end.epoch) else { continue }
                fenced[end.key] = .moved(state.owners[end.key.session]?.owner)
            }
            state.refusedMoved += fenced.count
            let verdict = journal.write(
                batch, without: fenced, &state.lost[node, default: []])
            for run in batch.runs where verdict.failure(of: run.key) == nil {
                if run.after == nil {
                    state.owners[run.key.session] = Ownership(owner: node, epoch: 1)
                }
                if run.deleted != nil {
                    state.owners[run.key.session]?.owner = nil
                    state.owners[run.key.session]?.epoch += 1
                }
            }
            state.commits += 1
            guard fault == .refusesTheWritten, state.commits.isMultiple(of: 5) else {
                return verdict
            }
            return .failed(.unavailable)
        }
    }

    /// A batch has failed as a whole: what the node has decided upon it is not let in either.
    func lose(_ batch: Batch, by node: Node) {
        state.withLock { state in
            let all = Dictionary(
                uniqueKeysWithValues: batch.keys.map { ($0, CommitRefusal.absent) })
            _ = journal.write(batch, without: all, &state.lost[node, default: []])
        }
    }

    func claim(
        _ session: String, by member: Member, deposing deposed: Node?, isDeletion: Bool = false
    ) -> Claim {
        let node = member.node
        return state.withLock { state in
            guard var saved = journal.loaded(session) else { return .nothing }
            guard !saved.isDeleted else { return .ended }
            var ownership = state.owners[session] ?? Ownership(owner: nil, epoch: 0)
            if let owner = ownership.owner, owner != node, owner != deposed,
                state.members[owner] != nil
            {
                return .elsewhere(
                    owner, SessionTraits(reactor: saved.reactor, owner: saved.owner))
            }
            if !isDeletion, let other = state.reader(of: saved, besides: member) { return other }
            ownership.owner = node
            ownership.epoch += 1
            state.owners[session] = ownership
            state.claims += 1
            saved.epoch = ownership.epoch
            return .owned(saved)
        }
    }

    func release(_ sessions: [OwnedSession], by node: Node) {
        state.withLock { state in
            for session in sessions where state.owns(session.key.session, node, session.epoch) {
                state.owners[session.key.session]?.owner = nil
                state.owners[session.key.session]?.epoch += 1
            }
        }
    }

    func confirm(_ expected: [Confirmation], by node: Node) -> [String: Change] {
        guard fault != .confirmsAnything else { return [:] }
        return state.withLock { state in
            var changes: [String: Change] = [:]
            for one in expected {
                let saved = saved(one.key.session).flatMap { $0.isDeleted ? nil : $0 }
                let isOwned =
                    one.epoch.map { state.owns(one.key.session, node, $0) } ?? true
                guard saved?.key != one.key || saved?.end.position != one.position || !isOwned
                else { continue }
                changes[one.key.session] = Change(
                    head: saved?.head, owner: state.owners[one.key.session]?.owner)
            }
            return changes
        }
    }

    func changes(of followed: [Confirmation]) -> [String: Change] {
        state.withLock { state in
            var changes: [String: Change] = [:]
            for one in followed {
                let id = one.key.session
                guard let saved = saved(id) else {
                    changes[id] = Change(head: nil, owner: nil)
                    continue
                }
                let ownership = state.owners[id] ?? Ownership(owner: nil, epoch: 0)
                guard !saved.isDeleted else {
                    let isKept = saved.key == one.key && state.keepsEnded
                    changes[id] = Change(
                        head: nil, owner: nil, epoch: ownership.epoch,
                        end: isKept ? saved.end.number : nil)
                    continue
                }
                guard
                    saved.key != one.key || saved.end.position != one.position
                        || ownership.epoch != one.epoch
                else { continue }
                changes[id] = Change(
                    head: saved.head, owner: ownership.owner, epoch: ownership.epoch)
            }
            return state.isDeciding ? changes : changes.mapValues { _ in .undecided }
        }
    }

    /// A page of the sessions that act without a request and that no member owns.
    func work(after place: Int64) -> FoundWork {
        state.withLock { state in
            journal.work(after: place) { saved in
                state.owners[saved.key.session]?.owner.map { state.members[$0] == nil } ?? true
            }
        }
    }

    /// A page of the timers of sessions that no member owns, or of the expiries of all.
    func timers(
        _ kind: TimerKind = .actions, after place: TimerPosition, before end: Int64
    ) -> FoundTimers {
        state.withLock { state in
            func owner(of saved: SavedSession) -> Node? {
                state.owners[saved.key.session]?.owner.flatMap {
                    state.members[$0] == nil ? nil : $0
                }
            }
            return journal.timers(kind, after: place, before: end, owner: owner) { saved in
                kind == .expiries || owner(of: saved) == nil
            }
        }
    }

    /// Whether the records of ended generations can still be read.
    var keepsEnded: Bool { state.withLock { $0.keepsEnded } }

    func setDamaged(_ sessions: Set<String>) { state.withLock { $0.damaged = sessions } }

    func isDamaged(_ session: String) -> Bool { state.withLock { $0.damaged.contains(session) } }

    func setDeciding(_ isDeciding: Bool) { state.withLock { $0.isDeciding = isDeciding } }

    func forgetEnded() { state.withLock { $0.keepsEnded = false } }

    private func saved(_ session: String) -> SavedSession? {
        journal.state.withLock { ScriptedJournal.saved(session, $0) }
    }
}

extension ScriptedCluster.State {
    fileprivate func members(seenBy own: Member) -> Members {
        Members(
            own: own, others: members.values.filter { $0.node != own.node },
            isHeard: members[own.node] != nil)
    }

    /// The result of a claim by a node that cannot read the session. A node of which no reactors
    /// are known hosts all.
    fileprivate func reader(of saved: SavedSession, besides member: Member) -> Claim? {
        let version = saved.snapshot?.stateVersion ?? 0
        guard !member.reactors.isEmpty, !member.canRead(saved.reactor, version) else { return nil }
        let traits = SessionTraits(reactor: saved.reactor, owner: saved.owner)
        let home = members(seenBy: member).home(
            of: saved.key.session, needing: (saved.reactor, version))
        guard let home else { return .noNode(traits, stateVersion: version) }
        return .elsewhere(home, traits)
    }

    fileprivate func owns(_ session: String, _ node: Node, _ epoch: Int64) -> Bool {
        owners[session].map { $0.owner == node && $0.epoch == epoch } ?? false
    }
}

/// A way in which a database breaks the law.
enum ScriptedFault: CaseIterable {
    /// A session in memory is always said to be the newest.
    case confirmsAnything
    /// Parts are let in that do not continue the records.
    case forksHistories
    /// Written parts are said to be refused.
    case refusesTheWritten
}
