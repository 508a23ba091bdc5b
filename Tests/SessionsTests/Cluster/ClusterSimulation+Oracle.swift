@testable import Feeds
import Clustering
import Storage

@testable import Sessions

// The oracle of ``ClusterSimulation``.
extension ClusterSimulation {
    func check(_ id: String) throws {
        let records = cluster.journal.kept.filter { $0.session == id }
        guard let first = records.first else { return violations.append("\(id) is lost") }
        let truth = try Truth(cluster.journal.all, of: first.key)
        // No node can load such a history.
        guard truth.isGapless else {
            return violations.append("the history of \(id) has a gap or forks")
        }
        var versions: [Int: [UInt64]] = [:]
        for record in records where record.kind == .mutation {
            if let mark = Self.mark(of: record) {
                versions[mark, default: []].append(record.version)
            }
        }
        if let saved = cluster.journal.loaded(id), !saved.isDeleted, saved.reactor == "ledger",
            try Registration.ledger().tags(of: saved) != saved.tags?.all
        {
            violations.append("the tags of \(id) are not those of its state")
        }
        let mine = requests.filter { $0.session == id }
        for request in mine { check(request, versions, truth) }
        checkOrder(mine)
        for reader in readers where reader.session.text == id {
            violations += reader.violations(against: truth)
        }
    }

    private func check(
        _ request: Request, _ versions: [Int: [UInt64]], _ truth: Truth
    ) {
        switch request.kind {
        case .post(let mark):
            let found = versions[mark] ?? []
            switch request.outcome {
            case .done where found != [request.version]:
                violations.append("acknowledged at \(request.version), and is at \(found)")
            case .refused where !found.isEmpty: violations.append("refused, and is at \(found)")
            case .none where found.count > 1, .unknown where found.count > 1:
                violations.append("twice, at \(found)")
            default: break
            }
        case .read:
            guard request.outcome == .done else { return }
            guard request.version < UInt64(truth.states.count) else {
                return violations.append("a read of version \(request.version), which is none")
            }
            if request.state != truth.states[Int(request.version)] {
                violations.append("a read of version \(request.version) shows another state")
            }
        }
    }

    /// The order in real time: what was answered before a request was sent comes before it.
    private func checkOrder(_ mine: [Request]) {
        let done = mine.filter { $0.outcome == .done }
        for earlier in done where earlier.age == nil {
            guard let answered = earlier.answered else { continue }
            for later in done where later.sent > answered {
                switch (later.kind, later.age) {
                case (.post, _) where later.version <= earlier.version:
                    violations.append("a later post is at \(later.version), not later")
                case (.read, nil) where later.version < earlier.version:
                    violations.append("a later read sees \(later.version) of \(earlier.version)")
                default: break
                }
            }
        }
        // A state of an age is not older than that.
        for read in done {
            guard let age = read.age else { continue }
            for earlier in done where earlier.age == nil && earlier.time > 0 {
                guard earlier.time < read.time - age * 1_000, case .read = earlier.kind else {
                    continue
                }
                if read.version < earlier.version {
                    violations.append("a state of age \(age) is older than that")
                }
            }
        }
    }

    private static func mark(of record: HistoryEntry) -> Int? {
        let text = String(decoding: record.content, as: UTF8.self)
        guard let start = text.firstRange(of: "\"a\":") else { return nil }
        return Int(text[start.upperBound...].prefix { $0.isNumber })
    }

    func count(_ tally: inout Tally) {
        for request in requests {
            switch (request.kind, request.outcome) {
            case (.post, .done): tally.acknowledged += 1
            case (.post, .unknown): tally.unknown += 1
            case (.read, .done) where request.age == nil: tally.confirmed += 1
            case (.read, .done): tally.aged += 1
            default: break
            }
        }
        tally.heard += readers.reduce(0) { $0 + $1.heard }
        tally.followed += followQuestions
        tally.hinted += links.hinted
        tally.received += received
        tally.spread += spread
        tally.states += states
        tally.published += topics.outcomes.count { $0 == .done }
        tally.topicGaps += topics.gaps
        tally.calls.formUnion(cluster.journal.calls)
        tally.claimsAtOnce = max(tally.claimsAtOnce, crowd.claimsAtOnce)
        tally.closed += crowd.closed
        tally.spared += crowd.spared
        countParts(&tally)
        tally.presenceElsewhere += presenceElsewhere
        tally.timersFired += timersFired
        tally.firingNodes += firingNodes
        if firingNodes > 1 { tally.livesOfSeveralNodes += 1 }
        tally.claims += cluster.claims
        tally.fenced += cluster.fenced
        for process in processes {
            let counts = process.rig.table.clusterCounts
            tally.deposed += Int(counts.claims.deposed)
            tally.elsewhere += Int(counts.claims.elsewhere)
            tally.handedOver += Int(counts.claims.handedOver)
            tally.woken += Int(process.rig.table.counts.woken)
            tally.sentHome += Int(counts.claims.sentHome)
        }
    }
}
