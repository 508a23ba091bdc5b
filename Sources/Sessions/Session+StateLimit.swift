internal import JSONCoding
public import Reactors

/// A state would be larger than `--state-limit`.
struct StateTooLarge: Error, CustomStringConvertible {
    let limit: Int

    var description: String { "the state would have more than \(limit) bytes of JSON" }
}

extension Session {
    /// Counts a mutation. Returns whether the state has to be measured now.
    @usableFromInline
    func isMeasureDue() -> Bool { stateMeter.isDue(table.limits.stateBytes) }

    /// Measures a state. Returns whether it may be; if not, `stateRefusal` says so.
    func admits(_ state: some Encodable) -> Bool {
        let limit = table.limits.stateBytes
        var scratch = table.takeScratch()
        defer { table.giveBack(scratch) }
        // What has no JSON is as large as was written of it; others say that it has none.
        try? JSON.encode(state, into: &scratch, with: &table.encodingSpace)
        guard scratch.count > limit else {
            stateMeter.note(scratch.count)
            return true
        }
        stateMeter.noteRefusal()
        stateRefusal = StateTooLarge(limit: limit)
        return false
    }
}

extension ReactorMachine {
    @inlinable
    func replacement(forStateOf core: ReactorCore<R>) -> R.State? {
        session.isMeasureDue() ? stateBefore(core) : nil
    }

    /// The state before the one that `reduce` has made, if that is too large.
    @usableFromInline
    func stateBefore(_ core: ReactorCore<R>) -> R.State? {
        guard !session.admits(core.state) else { return nil }
        endReplay()
        defer { endReplay() }
        return state(at: core.version)
    }

    /// A request finds it when it ends (``receive(_:batchLimit:mayApply:in:)``).
    @usableFromInline
    func refused(_ action: ActionTag) {
        // The state was folded anew: its marks may be others. A look that fails was reported when
        // this version was seen first.
        if !pulses.isEmpty {
            pulses.look(at: (try? reactor.transform(state: core.state)) ?? core.state)
        }
        guard !isReceiving else { return }
        failTooLarge(of: action)
    }

    private func failTooLarge(of action: ActionTag) {
        guard let refusal = session.stateRefusal else { return }
        session.stateRefusal = nil
        failed(ReactorFailure(place: .effect, error: refusal, action: action))
    }

    /// A request that has done nothing else is refused; what else it has done stays, and a failure
    /// is recorded.
    func endReceiving(
        _ receipt: Receipt?, since version: UInt64
    ) throws(ActionRefusal) -> Receipt? {
        guard let refusal = session.stateRefusal else { return receipt }
        if core.version == version, receipt?.unsettled.isEmpty ?? true {
            session.stateRefusal = nil
            throw .stateTooLarge(limit: refusal.limit)
        }
        failTooLarge(of: ActionTag(lastTag))
        return receipt
    }
}
