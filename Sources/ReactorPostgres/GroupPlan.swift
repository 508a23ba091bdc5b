internal import Storage

/// The parts of a group of batches, in waves. A wave has at most one part of each session, and is
/// appended as a whole.
///
/// Design: batches that continue one another, by position and lineage, are one part. Any other
/// second part of a session waits in the next wave for the verdict on the first.
struct GroupPlan {
    private(set) var waves: [[Part]] = []
    /// For each batch its parts, and the parts that are refused without a look at the database.
    private(set) var batches: [(parts: [Part], refused: [SessionKey: CommitRefusal])] = []
    /// The lineages of those that are refused.
    private(set) var lost: [SessionKey: UInt64] = [:]
    private var newest: [String: (part: Part, wave: Int)] = [:]

    init(_ batches: [(batch: Batch, number: Int64)]) {
        for (batch, number) in batches { add(batch, number) }
    }

    fileprivate struct Share {
        var after: HistoryPosition?
        var lineage: UInt64
        var epoch: Int64
        var end: HistoryPosition
        var runs: [RecordBatch] = []
        var refusal: CommitRefusal?
    }

    private mutating func add(_ batch: Batch, _ number: Int64) {
        var (shares, order) = ([SessionKey: Share](), [SessionKey]())
        for end in batch.expected where shares[end.key] == nil {
            order.append(end.key)
            shares[end.key] = Share(
                after: end.position, lineage: end.lineage, epoch: end.epoch, end: end.position)
        }
        for run in batch.runs {
            if shares[run.key] == nil { order.append(run.key) }
            shares[run.key].add(run)
        }
        var (parts, refused) = ([SessionKey: Part](), [SessionKey: CommitRefusal]())
        for key in order {
            guard let share = shares[key] else { continue }
            if let refusal = share.refusal {
                refused[key] = refusal
                lost[key] = share.lineage
            } else if share.lineage != 0, lost[key] == share.lineage {
                refused[key] = .lostLineage
            } else {
                parts[key] = join(key, share, number)
            }
        }
        func part(_ session: String, _ generation: String) -> Part? {
            parts[SessionKey(session: session, generation: generation)]
        }
        for one in batch.snapshots { part(one.session, one.generation)?.append(one) }
        for one in batch.answers { part(one.session, one.generation)?.append(one) }
        for one in batch.started { part(one.session, one.generation)?.append(one) }
        for one in batch.settled { part(one.session, one.generation)?.append(one) }
        for one in batch.timers { part(one.session, one.generation)?.append(one) }
        for one in batch.tags { part(one.session, one.generation)?.append(one) }
        batches.append((order.compactMap { parts[$0] }, refused))
    }

    private mutating func join(_ key: SessionKey, _ share: Share, _ number: Int64) -> Part {
        let last = newest[key.session]
        if let last, last.part.key == key, last.part.lineage == share.lineage,
            last.part.end == share.after, last.part.deleted == nil, last.part.accepts(share.epoch)
        {
            for run in share.runs { last.part.append(run) }
            return last.part
        }
        let part = Part(
            key, after: share.after, lineage: share.lineage, epoch: share.epoch, number: number)
        for run in share.runs { part.append(run) }
        let wave = last.map { $0.wave + 1 } ?? 0
        if wave == waves.count { waves.append([]) }
        waves[wave].append(part)
        newest[key.session] = (part, wave)
        return part
    }
}

extension Part {
    /// Whether decisions of an epoch can join the part. A creation names no epoch, but belongs to
    /// epoch 1.
    fileprivate func accepts(_ epoch: Int64) -> Bool {
        epoch == self.epoch || (after == nil && epoch == 1)
    }
}

extension GroupPlan.Share? {
    fileprivate mutating func add(_ run: RecordBatch) {
        guard var share = self else {
            let refusal = run.followsItsEnd ? nil : CommitRefusal.endsAt(HistoryPosition(0))
            self = GroupPlan.Share(
                after: run.after, lineage: run.lineage, epoch: run.epoch, end: run.last,
                runs: [run],
                refusal: refusal)
            return
        }
        if run.after == share.end, run.followsItsEnd {
            share.runs.append(run)
            share.end = run.last
        } else if share.refusal == nil {
            share.refusal = .endsAt(share.end)
        }
        self = share
    }
}
