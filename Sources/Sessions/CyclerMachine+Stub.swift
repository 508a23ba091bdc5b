internal import Cyclers
internal import Feeds
internal import Reactors

/// The stub of a Cycler's session.
struct CyclerStub<Action> {
    var isOn = false
    /// The actions since the stub was last switched on; kept for reading after it is switched off.
    var recording = StubRecording<Action>()
}

// A stubbed session records actions and shows injected states; the Cycler and its state wait.
extension CyclerMachine {
    func changeStub(_ change: StubChange) throws(StubRefusal) {
        let state = try change.state.map { bytes throws(StubRefusal) in
            try pulses.decodeInjected(bytes, limitBytes: session.table.limits.stateBytes)
        }
        try change.check(isStubbed: stub.isOn)
        if change.isEnabled == true { beginStub() }
        if let state { inject(state) }
        if change.isEnabled == false { endStub() }
    }

    var isStubbed: Bool { stub.isOn }

    func encodeStub(to out: inout [UInt8]) {
        session.appendStub(stub.isOn, stub.recording.actions, to: &out)
    }

    /// Cancels waiting actions. The shown state stays until another is injected.
    private func beginStub() {
        guard !stub.isOn else { return }
        stub = CyclerStub(isOn: true)
        for tag in cancelWaiting() {
            log.cancelled(of: tag)
            settle(tag)
        }
        resumeCycler()
    }

    /// Makes one version, whatever the state is.
    private func inject(_ state: C.State) {
        versions.appendStub(showing: state)
        recordReplacement(by: state) { pulses.record(state, in: session) }
    }

    /// Makes one version if a state was injected, because another is shown then; else none.
    private func endStub() {
        guard stub.isOn else { return }
        stub.isOn = false
        if versions.showsStub {
            versions.appendStub()
            let own = versions.newestState
            recordReplacement(by: own) { pulses.look(at: own) }
        }
        resumeCycler()
    }

    private func recordReplacement(by state: C.State, _ lookAtPulses: () -> Void) {
        session.recordReplacement(lookAtPulses) { session.append(state, "the state", to: &$0) }
    }

    /// Records an action that does not reach the Cycler.
    func recordForStub(_ action: C.Action, _ tag: ActionTag) {
        stub.recording.append(action)
        session.enterReceived(.actionRecorded, action, of: tag)
    }
}
