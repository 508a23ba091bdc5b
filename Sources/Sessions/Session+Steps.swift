internal import Feeds
internal import JSONCoding
public import Reactors
internal import Storage

// Steps: a step collects decisions, the journal commits it, then its results are shown.
extension Session {
    // MARK: Deciding

    /// The step that collects the present decisions.
    func step() -> Step {
        if let step = uncommitted.last, step.isGathering { return step }
        let step = Step(self, end: history.newest)
        uncommitted.append(step)
        table.commits.gather(step)
        return step
    }

    func beginRecord(_ kind: HistoryEntry.Kind, of action: ActionTag = .none) {
        // Before the record: the step continues the end that it finds.
        let (step, time) = (step(), table.time)
        lastUse = time
        history.begin(kind, action: action.number, time: time, cause: cause(of: action))
        step.end = history.newest
        guard keepsRecords else { return }
        records.begin(kind, at: step.end, action: action, time: time, in: step)
    }

    /// The `Idempotency-Key` of the request that is being received, if it has one and the action is
    /// one of its own: it may also let parts of earlier actions continue.
    private func cause(of action: ActionTag) -> String? {
        guard let key = arrival.key, let first = arrival.posted?.first, action.number >= first
        else { return nil }
        return key
    }

    @usableFromInline
    func beginMutation(of action: ActionTag) {
        beginRecord(.mutation, of: action)
    }

    /// Adds an event to the record that was begun last.
    func record(_ source: EventSource, _ data: [UInt8]) {
        history.append(source, data)
        switch source {
        case .state: meters.ahead.count(data.count, in: table.services.work)
        // Not counted: a failure is always recorded, even if it says that the turn made too much.
        case .content: break
        case .pulse, .activity: countMade(data.count)
        }
        guard keepsRecords, source != .state, source != .content else { return }
        assert(records.isWriting(for: self), "it would go into another session's record")
        records.encoder.write(name(of: source), data)
    }

    func recordContent(_ content: [UInt8]) {
        assert(records.isWriting(for: self), "it would go into another session's record")
        records.encoder.content.append(contentsOf: content)
    }

    /// Records an encoded activity as an event, if its form gives it a name.
    func recordActivity(_ encoded: [UInt8], of action: ActionTag) {
        let name = ActivityNames.name(of: encoded)
        guard let index = name.flatMap({ feed.activities.index(named: $0, in: feed.catalog) })
        else {
            return report(.unnamedActivity(String(decoding: encoded, as: UTF8.self)))
        }
        beginRecord(.activity, of: action)
        record(.activity(index), encoded)
        guard keepsRecords else { return }
        recordContent(encoded)
        considerSnapshot()
    }

    /// Records a failure of user code; `content` begins with `{"place":…`.
    func recordFailure(
        at place: String, _ error: String, _ content: [UInt8], of action: ActionTag
    ) {
        // Encoding the state may fail during a rollback, after the end, and while the session is
        // being restored. Nothing can be decided then.
        guard mayDecide, !attempt.isRollback else { return reportUnrecorded(place, error) }
        beginFailure(content, of: action)
        report(.failed(place: place, error: error))
    }

    /// Adds the record of a failure, and does not report it.
    func beginFailure(_ content: [UInt8], of action: ActionTag) {
        beginRecord(.failure, of: action)
        record(.content, content)
        guard keepsRecords else { return }
        recordContent(content)
        persistence?.snapshots.entryWritten(content.count)
    }

    /// Reports a failure that has no record. A session that is being restored has
    /// reported it before.
    private func reportUnrecorded(_ place: String, _ error: String) {
        guard isAwake || hasEnded else { return }
        report(.failed(place: place, error: error))
    }

    /// Adds work of an effect that is due when the step is committed. After the end and during a
    /// rollback there is no commit to wait for, and the work is done at once.
    func order(_ order: EffectOrder) {
        guard !hasEnded, !attempt.isRollback else { return carryOut(order) }
        step().effects.append(order)
    }

    func answer(_ content: consuming Reply.Content, _ token: UInt64) {
        if let keys { KeyedRequests(session: self, keys: keys).store(content, for: token) }
        guard let step = uncommitted.last else { return table.output.reply(content, to: token) }
        table.commits.attach(.content(content, token: token), to: step)
    }

    package func answer(_ reply: consuming Reply) {
        guard let step = uncommitted.last else { return deliver(reply) }
        table.commits.attach(reply, to: step)
    }

    /// Carries out a call that a task has sent.
    ///
    /// - Parameter action: the action whose effect the task is; none: the task reads a source.
    /// - Returns: false once the end is decided: nothing is decided after it. (Also false if the
    ///   machine has another type, which is impossible.)
    func perform<M: Machine>(for action: ActionTag, _ act: (M) -> Bool) -> Bool {
        guard case .awake(let awake) = life, let machine = awake as? M else { return false }
        beginTurn()
        beginWork(.effect, action.number)
        let result = act(machine)
        endWork()
        if attempt.hasSettled { answerSettled() }
        endIfDecided()
        return result
    }

    // MARK: After the commit

    /// Sends the replies of a committed step and starts its effects. ``publish()`` sends the
    /// events, when every session of the batch has replied.
    ///
    /// - Parameter isTaken: false: the commit failed, and the step has nothing that could be lost.
    func commit(_ step: Step, isTaken: Bool = true) {
        uncommitted.remove(step)
        step.endTraces(isTaken ? nil : "the journal has refused it")
        history.commit(step.end)
        if isTaken { persistence?.hasCommitted = true }
        keys?.commit(step)
        if step.tagsBefore != nil || isEnding && tags != nil { table.services.tagChanges.count() }
        if step.timersBefore != nil {
            table.timers.succeeded()
            if timers.next ?? .max > table.timerTime { table.timers.forgetLate(id) }
            waitForTimer()
        }
        if step.creates {
            if let owner = feed.owner { table.services.owners?.created(owner) }
            let opened = tasks.takeOpened()
            tasks.read(opened.map { $0.begin() }, of: opened.map(\.name))
            if step.charge != nil { table.eviction.putToSleep(self, in: table) }
        }
        for reply in step.replies { deliver(reply) }
        for order in step.effects { carryOut(order) }
    }

    private func deliver(_ reply: consuming Reply) {
        switch reply {
        case .content(let content, let token), .state(let content, _, let token):
            table.output.reply(content, to: token)
        case .subscription(let request, let number, let snapshot):
            guard let opener = StreamOpener(feed) else {
                return table.output.reply(content(absence), to: request.token)
            }
            opener.open(request, at: number, snapshot: snapshot)
        case .log(let request):
            LogReader(session: self).deliver(request)
        case .applied(let continuation):
            continuation.resume(returning: true)
        case .part(let act): act(nil)
        }
    }

    private func carryOut(_ order: EffectOrder) {
        switch order {
        // The end would cancel the step at once.
        case .start where isEnding: break
        case .start(let run, let launch):
            let task = launch()
            tasks.add(task, for: run, at: table.time)
        case .cancel(let run): tasks.remove(run)?.cancel()
        case .carryOn(let resume): resume(self)
        }
    }

    /// Ends a session whose end is committed, when its streams have framed everything. States may
    /// take more passes.
    func finishIfFramed() {
        guard isEnding, history.committed.number == history.newest.number, feed.isFramed else {
            return
        }
        finish()
    }

    /// Cancels the tasks and ends the streams of a session whose end is committed and framed.
    private func finish() {
        end(endStreams)
        table.remove(self)
    }

    private func endStreams() {
        cancelTasks()
        for token in feed.archive?.readers ?? [] { table.output.reply(content(.gone), to: token) }
        feed.archive?.readers = []
        for wait in waits.removeAll() { table.output.reply(content(.gone), to: wait.token) }
        feed.end()
    }

    /// Cancels the tasks because the process ends. They decide nothing any more.
    func stop() { end(cancelTasks) }

    func cancelTasks() {
        let all = tasks.removeAll()
        all.cancel()
    }

    // MARK: Encoding and reporting

    /// Appends the value as JSON. Appends `null` and reports the failure if the value has no JSON.
    ///
    /// - Returns: why the value has no JSON.
    @discardableResult
    func append(
        _ value: some Encodable, _ what: String, to out: inout [UInt8]
    ) -> JSONEncodingFailure? {
        do {
            try JSON.encode(value, into: &out, with: &table.buffers.space)
            return nil
        } catch {
            out.append(contentsOf: EventFramer.null)
            report(.unencodable(what, String(describing: error)))
            return error
        }
    }

    private func name(of source: EventSource) -> String {
        switch source {
        case .pulse(let index): registration.pulses[index]
        case .activity(let index): feed.activities.name(at: index, in: feed.catalog)
        case .state: "state"
        case .content: preconditionFailure("only the action log shows it")
        }
    }
}
