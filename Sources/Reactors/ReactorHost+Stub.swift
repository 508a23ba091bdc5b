// The parts of `Stub` in ReactorTesting; a server has the same.

extension ReactorHost {
    /// Takes the reactor out, or puts it back in: see `ReactorCore.beginStub` and `endStub`.
    package func setStubbed(_ isStubbed: Bool) {
        if isStubbed {
            core.beginStub(observer: observer)
        } else {
            core.endStub(observer: observer)
        }
        carryOut()
    }

    /// Whether the reactor is taken out.
    package var isStubbed: Bool { core.isStub }

    /// The content of the present recording, or else of the last.
    package var stubbedActions: [R.Action] { core.stubbedActions }

    /// Changes the state that a stubbed session shows. Returns whether it is one.
    package func inject(_ change: @Sendable (inout R.State) -> Void) -> Bool {
        core.inject(observer: observer, change)
    }
}
