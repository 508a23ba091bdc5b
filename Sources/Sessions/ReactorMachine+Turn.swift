internal import Feeds
public import JSONCoding
public import Reactors
internal import Storage

// The path of every action.
//
// Design: it is inlinable, and so are the calls that lead to it from the module that hosts a
// reactor (`Hosted.init`, `Registration.init`, `Compiled`). That module compiles the machine
// for its reactor; code for any reactor looks up each generic type that it uses, 400
// instructions a time (ADR-0013). Rare code, and code that is the same for every reactor, is
// called and not inlined.
extension ReactorMachine {
    /// Functions that the module which hosts the reactor has compiled for it.
    @usableFromInline
    struct Compiled: Sendable {
        @usableFromInline
        let receive:
            @Sendable (ReactorMachine, JSONBody, Int, Bool, Session) throws(ActionRefusal)
                -> Receipt?
        @usableFromInline
        let forget: @Sendable (inout ReactorVersions<R>, UInt64, R) -> Void
        @usableFromInline
        let checks: ReactorChecks

        @inlinable
        init() {
            receive = { (machine, body, batchLimit, mayApply, session) throws(ActionRefusal) in
                try machine.decodeAndReceive(
                    body, batchLimit: batchLimit, mayApply: mayApply, in: session)
            }
            forget = { versions, version, reactor in
                versions.forget(before: version, by: reactor)
            }
            checks = ReactorChecks(state: R.State.self, mutation: R.Mutation.self)
        }
    }

    /// As ``Machine/receive(_:batchLimit:mayApply:in:)``.
    @inlinable
    func decodeAndReceive(
        _ body: JSONBody, batchLimit: Int, mayApply: Bool, in session: Session
    ) throws(ActionRefusal) -> Receipt? {
        guard isBatch(body) else {
            let action = try read(R.Action.self, from: body)
            guard mayApply else { return nil }
            var receipt = Receipt()
            try asOneRequest(in: session) { receive(action, at: 0, &receipt) }
            return receipt
        }
        guard !isBatch(body, longerThan: batchLimit) else { throw .tooMany(limit: batchLimit) }
        let actions = try read([R.Action].self, from: body)
        guard !actions.isEmpty else { throw .empty }
        guard mayApply else { return nil }
        var receipt = Receipt(isBatch: true)
        try asOneRequest(in: session) {
            for (index, action) in actions.enumerated() {
                session.beginAction(newestTag() + 1)
                receive(action, at: index, &receipt)
                if session.isRequestRefused() { break }
            }
        }
        return receipt
    }

    /// Performs a request that is rolled back as a whole if any part of it is refused.
    ///
    /// - Throws: the first refusal.
    @inlinable
    func asOneRequest(in session: Session, _ act: () -> Void) throws(ActionRefusal) {
        let tag = newestTag()
        let mark = session.beginRequest()
        let isMarked = core.beginAttempt()
        if work != nil { beginWork() }
        act()
        if session.isMeasureLeft() { measureState(mayWait: false) }
        if let refusal = session.endRequest() {
            takeBackRequest(to: mark, lastTag: tag)
            throw refusal
        }
        if isMarked { core.endAttempt() }
    }

    @inlinable
    func receive(_ action: R.Action, at index: Int, _ receipt: inout Receipt) {
        receive(action, as: nextTag(), at: index, &receipt)
    }

    @inlinable
    func receive(
        _ action: R.Action, as tag: ActionTag, at index: Int, _ receipt: inout Receipt
    ) {
        switch core.receive(action, tag: tag, subject: session.subject(), observer: self) {
        case .accepted(_, let isSettled):
            if !isSettled { recordUnsettled(action, tag, &receipt) }
        case .rejected:
            receipt.rejected.append(index)
            enterRejected(action, tag)
        case .refused:
            refuseRequest(at: receipt.isBatch ? index : nil)
        case .ended:
            receipt.rejected.append(index)
            noteEnded(at: index)
        }
    }

    /// Records why an action of a batch is rejected: an earlier one has ended the session.
    @usableFromInline
    func noteEnded(at index: Int) {
        session.arrival.record(SessionHasEnded(), ofAction: index)
    }

    @usableFromInline
    func newestTag() -> UInt64 { lastTag }

    @usableFromInline
    func nextTag() -> ActionTag {
        lastTag += 1
        return ActionTag(lastTag)
    }

    @usableFromInline
    func isBatch(_ body: JSONBody) -> Bool { JSON.isArray(body) }

    @usableFromInline
    func isBatch(_ body: JSONBody, longerThan limit: Int) -> Bool {
        JSON.isArray(body, longerThan: limit)
    }

    @usableFromInline
    func read<T: Decodable>(_ type: T.Type, from body: JSONBody) throws(ActionRefusal) -> T {
        try decode(type, from: body)
    }

    /// The reactor has refused an action. The whole request is rolled back.
    @usableFromInline
    func refuseRequest(at index: Int?) {
        guard let refusal = core.takeRefusal() else { return }
        session.refuse(.refused(refusal, at: index))
    }

    /// The action's effects are running.
    @usableFromInline
    func recordUnsettled(_ action: R.Action, _ tag: ActionTag, _ receipt: inout Receipt) {
        receipt.unsettled.append(tag)
        if session.keepsRecords { noteRunning(action, tag) }
    }

    // MARK: Reports of the core

    @inlinable
    func accepted(_ action: R.Action, as transformed: R.Action, tag: ActionTag) {
        guard session.keepsNotes else { return }
        let isUnchanged = unsafe withUnsafeBytes(of: action) { bits in
            unsafe withUnsafeBytes(of: transformed) { unsafe $0.elementsEqual(bits) }
        }
        enterAccepted(action, as: transformed, isUnchanged: isUnchanged, tag)
    }

    @inlinable
    func mutated(_ mutation: R.Mutation, by action: ActionTag, core: ReactorCore<R>) {
        versions.append(mutation)
        let session = session
        guard session.admitsMutation() else { return }
        if !hasPulses, !session.wantsStates {
            session.beginMutation(of: action)
        } else {
            // First: a failing `transform(state:)` makes a record of its own.
            let state = core.visibleState(observer: self)
            let wantsState = session.wantsStates
            let encoded = wantsState ? encodedState(state) : []
            session.beginMutation(of: action)
            pulses.record(state, in: session)
            if wantsState { show(encoded) }
        }
        if session.keepsRecords {
            keep(mutation)
        } else if session.weighsNewest() {
            weigh(mutation)
        }
        if work != nil { weighWork() }
        if checks.any { check(mutation) }
        if session.isMeasureDue() { measureState(mayWait: session.isInRequest()) }
        if !session.endMutation() { refuseMutation(of: action) }
    }

    @usableFromInline
    func beginWork() { work?.begin() }

    /// A mutation that takes as long as a large one counts like one, so that neither a rollback nor
    /// a load repeats much of it: about 20 ms per mebibyte of history, 40 ms between two snapshots.
    @usableFromInline
    func weighWork() {
        guard let steps = work?.takeSteps() else { return }
        session.history.weigh(steps)
        session.persistence?.snapshots.worked(16 * steps)
    }

    @usableFromInline
    func measureState(mayWait: Bool) { session.measure(core.state, mayWait: mayWait) }

    @usableFromInline
    func weigh(_ mutation: R.Mutation) { session.weigh(mutation) }

    @usableFromInline
    func keep(_ mutation: R.Mutation) {
        let records = session.records
        assert(records.isWriting(for: session), "the encoder has another session's record")
        guard !session.attempt.isRefused else { return }
        do {
            try JSON.encode(
                mutation, into: &records.encoder.content, with: &session.table.buffers.space)
        } catch {
            return session.refuse(.notEncodable("a mutation", error))
        }
        let bytes = records.encoder.content.count
        session.history.weigh(bytes)
        session.countMade(bytes)
        session.meters.state.addReceived(bytes)
        session.considerSnapshot()
    }
}

private struct SessionHasEnded: Error, CustomStringConvertible {
    var description: String { "the session has ended" }
}
