internal import Cyclers
internal import Reactors

// A stubbed session: actions are recorded, states are injected, the Cycler and its state wait.
extension CyclerMachine {
    func changeStub(_ change: StubChange) throws(StubRefusal) {
        let state = try change.state.map { bytes throws(StubRefusal) in
            try pulses.decodeInjected(bytes)
        }
        try change.check(isStubbed: isStubbed)
        if change.isEnabled == true { beginStub() }
        if let state { inject(state) }
        if change.isEnabled == false { endStub() }
    }

    func encodeStub(to out: inout [UInt8]) {
        session.appendStub(isStubbed, recording?.actions ?? [], to: &out)
    }

    /// Waiting actions are cancelled; the state that is shown stays until another is injected.
    private func beginStub() {
        guard !isStubbed else { return }
        isStubbed = true
        recording = StubRecording()
        for tag in stopRuns() {
            session.enter(.effectCancelled, of: tag) { $0.append(contentsOf: "{}".utf8) }
            settle(tag)
        }
        seatOwn()
    }

    /// One version, whatever the state is.
    private func inject(_ state: C.State) {
        replace(by: state, injected: true) { pulses.record(state, in: session) }
    }

    /// One version if a state was injected, since another is shown then; else none.
    private func endStub() {
        guard isStubbed else { return }
        isStubbed = false
        if stubVersions[newestVersion] != nil {
            let own = ownState
            replace(by: own, injected: false) { pulses.look(at: own) }
        }
        seatOwn()
    }

    private func seatOwn() { seat(cycler, at: ownState, newestVersion) }

    private func replace(by state: C.State, injected: Bool, _ lookAtPulses: () -> Void) {
        states.append(ownState)
        stubVersions.append(newestVersion, showing: injected ? state : nil)
        session.recordReplacement(lookAtPulses) { session.append(state, "the state", to: &$0) }
    }

    /// An action that does not reach the Cycler.
    func record(_ action: C.Action, _ tag: ActionTag) {
        recording?.append(action)
        session.enterReceived(.actionRecorded, action, of: tag)
    }
}
