import Feeds
import Sessions
import Storage

// Events other than requests.
extension WholeLife {
    /// A batch fails together with all that were submitted before the failure was known; or its
    /// outcome is unknown, and it is written or not.
    func failCommits() {
        let count = rig.journal.pendingCount
        guard count > 0, chance(1, in: 2) else { return rig.settle() }
        let isUnknown = scope.hasArchive && chance(1, in: 2)
        let isWritten = isUnknown && chance(1, in: 2)
        // Of the batches submitted before the failure was known, some may continue the journal's
        // records.
        let failing = scope.hasArchive && chance(1, in: 2) ? 1 : count
        if isUnknown { mayOwnMore = true }
        refusable.formUnion(rig.journal.pendingKeys.map(\.session))
        for index in 0..<failing {
            rig.journal.endNext(
                isUnknown ? .outcomeUnknown : .full, isWritten: isWritten && index == 0)
            rig.drainInbox()
            rig.endRound()
        }
    }

    /// The archive executes a query, sends a reply, or fails, in any order.
    func answerArchive() {
        let count = rig.journal.askedCount
        guard count > 0 else { return rig.drainInbox() }
        let index = Int.random(in: 0..<count, using: &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0, 1: rig.journal.look(at: index)
        case 2:
            rig.journal.look(at: index, .unavailable)
            rig.journal.answer(at: index)
        default: rig.journal.answer(at: index)
        }
        if chance(3, in: 4) { rig.drainInbox() }
    }

    /// A reader's connection ends, and it resumes with its id.
    func cut() {
        guard let index = readers.indices.randomElement(using: &generator) else { return }
        leave(index)
        connect(index)
    }

    private func leave(_ index: Int) {
        guard let token = readers[index].reader.connections.last?.token else { return }
        gone.insert(token)
        rig.output.lose(token)
        rig.output.disconnect(token)
    }

    func give() {
        guard let one = readers.randomElement(using: &generator),
            let token = one.reader.connections.last?.token
        else { return }
        rig.output.setCapacity(capacity(), of: token)
    }

    func tick() {
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            rig.table.tick()
            rig.clock.uptime += 700
            if chance(1, in: 2) { rig.settleAll() }
        }
    }

    /// The connection of a pending request is lost.
    func lose() {
        guard let token = unanswered().randomElement(using: &generator),
            let request = requests[token]
        else { return }
        gone.insert(token)
        rig.output.lose(token)
        if request.waits { withPresent(request.id) { $0.forget(token) } }
    }

    /// The time of `?wait=settled` is over.
    func stopWaiting() {
        let waiting = unanswered().filter { requests[$0]?.waits == true }
        guard let token = waiting.randomElement(using: &generator), let request = requests[token]
        else { return }
        withPresent(request.id) { $0.stopWaiting(token) }
    }

    private func withPresent(_ id: String, _ act: (Session) -> Void) {
        guard let name = SessionID(id), case .session(let session) = rig.table.find(name) else {
            return
        }
        act(session)
    }

    /// Retention: removes records up to a snapshot, or a whole ended generation.
    func trim() {
        let kept = rig.journal.keptBatch
        if chance(1, in: 4), let over = rig.journal.all.last(where: { $0.kind == .deleted }) {
            return rig.journal.forget(over.key)
        }
        // A session that is further behind than the kept values misses some.
        let snapshots = kept.snapshots.filter { $0.session != "$news" }
        if let snapshot = snapshots.randomElement(using: &generator) {
            rig.journal.trim(to: snapshot)
        }
    }

    /// Damages the records of a session, which then can't be rebuilt after it falls asleep.
    func spoil() {
        guard scope.hasArchive, chance(1, in: 2) else { return }
        let id = anyID()
        let life = rig.journal.all.last { $0.session == id && $0.kind == .created }
        guard let life, let damage = Damage.allCases.randomElement(using: &generator) else {
            return
        }
        rig.journal.spoil(life.key, damage)
        spoiled.insert(id)
    }

    /// An effect continues.
    func letGo() {
        let count = heldEffects.count
        if count > 0 { heldEffects.letGo(Int.random(in: 0..<count, using: &generator)) }
    }

    /// The process is killed or ends in order, and another one takes over.
    ///
    /// - Parameter isHealing: whether that one can rebuild everything; random if nil.
    func crash(isHealing: Bool? = nil) throws {
        guard scope.hasArchive else { return }
        lookAtAnswers()
        if chance(1, in: 3) {
            rig.table.save {}
            rig.settleAll()
            lookAtAnswers()
        }
        rig.journal.crash(writing: Int.random(in: 0...3, using: &generator))
        for token in unanswered() {
            gone.insert(token)
            rig.output.lose(token)
        }
        rig.output.breakAll()
        for joint in joints { joint.last?.lose() }
        rig.table.stop()
        // Jobs that have reached the loop find no session; later ones are refused.
        rig.drainInbox()
        rig.inbox.close()
        for act in rig.inbox.drainLate() { act() }
        traces.crash()
        if isHealing ?? chance(1, in: 2) {
            rig.journal.heal()
            spoiled = []
        }
        owners = Self.owners(in: rig.journal, limit: bounds.owned)
        mayOwnMore = false
        recounts = 0
        countedOwners = nil
        lookAtAnswers()
        void = rig.journal.losses.void
        let time = rig.clock.milliseconds
        rig = Rig(
            after: rig, registrations: registrations, retention: retention, remembered: 2,
            owners: owners, bounds)
        rig.clock.milliseconds = time
        rig.presence = Self.part
        if scope.hasTasks { rig.table.topics.begin(["news"]) }
        for index in readers.indices { connect(index) }
        for joint in joints { connect(joint) }
        for program in programs { program.connect(rig) }
    }

    /// Requests whose client still waits, in order.
    func unanswered() -> [UInt64] {
        let answered = Set(rig.output.answers.map(\.token))
        return requests.keys.filter {
            !answered.contains($0) && said[$0] == nil && !gone.contains($0)
        }.sorted()
    }

    /// Waits until tasks have reached their waits for the simulation, as far as that can be
    /// observed.
    func rest() async {
        var quiet = 0
        var last = (heldEffects.count, rig.inbox.count)
        while quiet < 12 {
            await Task.yield()
            let now = (heldEffects.count, rig.inbox.count)
            quiet = now == last ? quiet + 1 : 0
            last = now
        }
    }
}
