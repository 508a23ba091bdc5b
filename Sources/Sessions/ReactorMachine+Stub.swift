internal import JSONCoding
public import Reactors
internal import Storage

// A stubbed session: actions are recorded, states are injected, the reactor's own state waits.
extension ReactorMachine: StubbedMachine {
    func changeStub(_ change: StubChange) throws(StubRefusal) {
        var state: R.State?
        if let bytes = change.state { state = try decode(bytes) }
        guard state == nil || (change.isEnabled ?? core.isStub) else { throw .notStubbed }
        if change.isEnabled == true { core.beginStub(observer: self) }
        if let state { _ = core.inject(observer: self) { $0 = state } }
        if change.isEnabled == false { core.endStub(observer: self) }
    }

    /// A pulse that the JSON names was assigned; a decoded one counts as never assigned.
    private func decode(_ bytes: [UInt8]) throws(StubRefusal) -> R.State {
        do {
            var state = try JSON.decode(R.State.self, from: bytes)
            // Past the shown state's counts, so that it is an assignment of the same lineage or
            // another: either way one event.
            pulses.countAssignments(in: &state, of: bytes)
            return state
        } catch {
            throw .json(error.under("/state"))
        }
    }

    func encodeStub(to out: inout [UInt8]) {
        out.append(contentsOf: "{\"enabled\":\(core.isStub),\"actions\":[".utf8)
        for (index, action) in core.stubbedActions.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            append(action, "an action", to: &out)
        }
        out.append(contentsOf: "]}\n".utf8)
    }

    // MARK: What the core tells

    @usableFromInline
    func recorded(_ action: R.Action, tag: ActionTag) {
        session.enter(.actionRecorded, of: tag) { out in
            out.append(contentsOf: "{\"received\":".utf8)
            append(action, "an action", to: &out)
            out.append(UInt8(ascii: "}"))
        }
    }

    @usableFromInline
    func injected(core: ReactorCore<R>) {
        let state = core.visibleState(observer: self)
        injected[core.version] = state
        replaced(by: state) { pulses.record(state, in: session) }
    }

    @usableFromInline
    func uncovered(core: ReactorCore<R>) {
        let state = core.visibleState(observer: self)
        replaced(by: state) { pulses.look(at: state) }
    }

    private func replaced(by state: R.State, _ lookAtPulses: () -> Void) {
        stubVersions.append(core.version)
        session.beginRecord(.mutation)
        lookAtPulses()
        if session.wantsStates {
            var encoded: [UInt8] = []
            append(state, "the state", to: &encoded)
            session.record(.state, encoded)
        }
        if session.keepsRecords { session.recordContent(Framing.null) }
    }
}

extension JSONRefusal {
    /// The same for a document of which this one was a part.
    fileprivate func under(_ place: String) -> JSONRefusal {
        switch self {
        case .malformed: self
        case .mismatch(let path, let reason): .mismatch(path: place + path, reason: reason)
        }
    }
}
