internal import Feeds
public import Reactors

// A stubbed session: actions are recorded, states are injected, the reactor's own state waits.
extension ReactorMachine {
    func changeStub(_ change: StubChange) throws(StubRefusal) {
        let state = try change.state.map { bytes throws(StubRefusal) in
            try pulses.decodeInjected(bytes, limitBytes: session.table.limits.stateBytes)
        }
        try change.check(isStubbed: core.isStub)
        if change.isEnabled == true { core.beginStub(observer: self) }
        if let state { _ = core.inject(observer: self) { $0 = state } }
        if change.isEnabled == false { core.endStub(observer: self) }
    }

    var isStubbed: Bool { core.isStub }

    func encodeStub(to out: inout [UInt8]) {
        session.appendStub(core.isStub, core.stubbedActions, to: &out)
    }

    // MARK: Reports of the core

    @usableFromInline
    func recorded(_ action: R.Action, tag: ActionTag) {
        session.enterReceived(.actionRecorded, action, of: tag)
    }

    @usableFromInline
    func injected(core: ReactorCore<R>) {
        let state = core.visibleState(observer: self)
        versions.appendStub(core.version, showing: state)
        replaced(by: state) { pulses.record(state, in: session) }
    }

    @usableFromInline
    func uncovered(core: ReactorCore<R>) {
        let state = core.visibleState(observer: self)
        versions.appendStub(core.version)
        replaced(by: state) { pulses.look(at: state) }
    }

    private func replaced(by state: R.State, _ lookAtPulses: () -> Void) {
        session.recordReplacement(lookAtPulses) { session.append(state, "the state", to: &$0) }
    }
}
