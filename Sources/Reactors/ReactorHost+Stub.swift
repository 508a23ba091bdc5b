// The parts of `Stub` in ReactorTesting; a server has the same.

extension ReactorHost {
    package func setStubbed(_ isStubbed: Bool) {
        if isStubbed {
            core.beginStub(observer: observer)
        } else {
            core.endStub(observer: observer)
            waitForTimer()
        }
        carryOut()
    }

    package var isStubbed: Bool { core.isStub }

    /// The actions of the current recording, or else of the last one.
    package var stubbedActions: [R.Action] { core.stubbedActions }

    /// Changes the state that a stubbed session shows. Returns false if the session is not stubbed.
    package func inject(_ change: @Sendable (inout R.State) -> Void) -> Bool {
        core.inject(observer: observer, change)
    }
}
