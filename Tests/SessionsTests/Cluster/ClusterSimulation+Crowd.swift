import Cluster
import Clustering
@testable import Feeds
@testable import Sessions
import Storage

/// Counts of events that only a crowd meets.
struct CrowdCounts {
    var claimsAtOnce = 0
    var closed = 0
    var spared = 0
}

// Events that only a crowd of sessions meets: more sessions without an owner than a node claims at
// a time, and records of some that cannot be read for as long as a stream may be without an answer.
extension ClusterSimulation {
    /// The documented bound (ADR-0051).
    private static let claimLimit = 16

    func actAsCrowd() {
        for _ in 0..<2 {
            recover()
            meetDamage()
            recover()
            meetDeath()
        }
    }

    /// Those that claim for requests and streams are not bounded by the number of their sessions.
    func checkClaims(of process: Process) {
        let claims = process.node.waiting(.claim)
        let (table, relays) = (process.rig.table, process.rig.table.relays)
        // The reader of the topic opens a stream as clients do. Claims of sessions that act without
        // a request have a bound of their own.
        let openings = relays.count - relays.subscribers.count
        let others =
            process.lookUps + process.parts.lookUps + openings + table.loads.underWay
        if claims > Self.claimLimit + others { violations.append("\(claims) claims at once") }
        if others == 0 { crowd.claimsAtOnce = max(crowd.claimsAtOnce, claims) }
    }

    /// Every process runs and is a member, every session is owned, and every reader has a stream.
    private func recover() {
        settle()
        for process in processes { beat(process) }
        settle()
        for reader in readers where !reader.isConnected {
            connect(reader, to: processes[number(0..<processes.count)])
        }
        settle()
        for id in sessions { post(to: id, at: processes[number(0..<processes.count)]) }
        settle()
        // The last answer about a session may have come long ago. Those with hints are asked for
        // once a second.
        advance(by: 1_000)
        for process in processes { follow(at: process) }
        settle()
    }

    /// One of the owners dies while others follow its sessions.
    private func meetDeath() {
        let victim = processes[number(0..<processes.count)]
        gather(at: victim)
        kill(victim)
        for process in processes { beat(process) }
        // All claims of a moment are under way at once, or each is carried out soon.
        let isSlow = number(0..<2) == 0
        for _ in 0..<8 {
            advance(by: 1_000)
            for process in processes {
                process.rig.table.askForChanges()
                run(process)
                if isSlow { settleAllButClaims(of: process) }
            }
            settle()
        }
        for reader in readers where reader.isConnected {
            let owner = cluster.owner(of: reader.session.text)
            if let owner, !processes.contains(where: { $0.node.node == owner }) {
                violations.append("\(reader.session.text) is left to a node that is gone")
            }
        }
    }

    /// One process owns all sessions, and others follow them.
    private func gather(at owner: Process) {
        let others = processes.filter { $0 !== owner }
        for other in others { cluster.leave(other.node.node) }
        for id in sessions { post(to: id, at: owner) }
        settle()
        for process in processes { beat(process) }
        settle()
        for reader in readers { connect(reader, to: others[number(0..<others.count)]) }
        settle()
    }

    private func settleAllButClaims(of process: Process) {
        repeat {
            run(process)
            process.node.settle(sparing: .claim)
        } while !process.rig.inbox.isEmpty
        run(process)
    }

    /// Half of the sessions cannot be read for a time, although the journal answers.
    private func meetDamage() {
        let damaged = Set(sessions.filter { _ in number(0..<2) == 0 })
        let before = readers.filter { $0.isConnected }
        cluster.setDamaged(damaged)
        // Sessions may go to their homes meanwhile: a stream of a former owner has not
        // been unanswered for as long, and a session that nobody owned has no record that
        // could not be read.
        var owners: [String: Set<Node>] = [:]
        var changed: Set<String> = []
        let lengths = lengths()
        for round in 0..<5 {
            for id in sessions {
                if let owner = cluster.owner(of: id) { owners[id, default: []].insert(owner) }
                for process in processes where process.node.node == cluster.owner(of: id) {
                    post(to: id, at: process)
                }
            }
            settle()
            if round == 0 {
                changed = Set(self.lengths().filter { $0.value > lengths[$0.key] ?? 0 }.keys)
            }
            advance(by: 3_000)
            for process in processes { follow(at: process) }
            settle()
        }
        for reader in before where changed.contains(reader.session.text) {
            check(reader, damaged, owners[reader.session.text] ?? [])
        }
        cluster.setDamaged([])
    }

    /// The number of records of each session.
    private func lengths() -> [String: Int] {
        Dictionary(grouping: cluster.journal.kept, by: \.session).mapValues(\.count)
    }

    private func check(
        _ reader: WanderingReader, _ damaged: Set<String>, _ owners: Set<Node>
    ) {
        let id = reader.session.text
        let isFollower = processes.contains {
            reader.isConnected(to: $0.rig) && $0.node.node != cluster.owner(of: id)
                && !owners.contains($0.node.node)
        }
        switch (damaged.contains(id), reader.isConnected) {
        case (true, true) where isFollower:
            violations.append("a stream of \(id) stays open, whose records cannot be read")
        case (true, false): crowd.closed += 1
        case (false, false): violations.append("a stream of \(id) is closed without a reason")
        case (false, true): crowd.spared += 1
        default: break
        }
    }
}

extension ClusterSimulation {
    /// A client connects to a node with a spread stream, whose owner has committed what the link
    /// has not brought yet.
    func overtake() {
        for process in processes where !process.isPaused {
            let found = sessions.compactMap { SessionID($0) }.first { id in
                let feed = process.rig.table.asleep(id)
                return (feed?.isElsewhere ?? false) && (feed?.hasReplicas ?? false)
            }
            guard let found, let owner = cluster.owner(of: found.text),
                let other = processes.first(where: { $0.node.node == owner }), other !== process,
                let reader = readers.first(where: {
                    $0.session == found && !$0.isConnected(to: process.rig)
                })
            else { continue }
            post(to: found.text, at: other)
            settle(other)
            connect(reader, to: process)
            return settle(process)
        }
    }
}

extension Feed {
    /// Whether some of its readers are on another loop.
    var hasReplicas: Bool { streams.all.contains { $0.readerCount > $0.localCount } }
}
