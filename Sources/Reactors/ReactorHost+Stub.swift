// What `Stub` in ReactorTesting is made of; a server offers the same.

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

    /// What the present recording holds, or else the last.
    package var stubbedActions: [R.Action] { core.stubbedActions }

    /// Changes the state that a stubbed session shows. Returns whether it is one.
    package func inject(_ change: @Sendable (inout R.State) -> Void) -> Bool {
        core.inject(observer: observer, change)
    }
}
