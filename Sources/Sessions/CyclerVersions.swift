internal import DequeModule

/// The versions of a Cycler's session that memory keeps.
///
/// Design: the states themselves. A commit runs arbitrary code, so there are no mutations to fold.
struct CyclerVersions<State> {
    private var oldestVersion: UInt64
    /// The Cycler's own, also where a stub shows another one. Never empty.
    private var states: Deque<State>
    private var stubVersions = StubVersions<State>()

    init(_ state: State, version: UInt64) {
        states = [state]
        oldestVersion = version
    }

    var newestVersion: UInt64 { oldestVersion + UInt64(states.count - 1) }

    /// The Cycler's newest state.
    var newestState: State { ownState(at: newestVersion) }

    func ownState(at version: UInt64) -> State {
        precondition(version >= oldestVersion && version <= newestVersion, "not a kept version")
        return states[Int(version - oldestVersion)]
    }

    /// The stub's state if one was shown, else the Cycler's.
    func shownState(at version: UInt64) -> State {
        stubVersions[version] ?? ownState(at: version)
    }

    /// Whether a stub made this version, and no commit.
    func isOfStub(_ version: UInt64) -> Bool { stubVersions.contains(version) }

    /// Whether the newest version shows a stub's state.
    var showsStub: Bool { stubVersions[newestVersion] != nil }

    mutating func append(_ state: State) { states.append(state) }

    /// - Parameter state: the state that a stub shows; nil: the Cycler's own is shown again.
    mutating func appendStub(showing state: State? = nil) {
        states.append(newestState)
        stubVersions.append(newestVersion, showing: state)
    }

    mutating func forget(before version: UInt64) {
        guard version > oldestVersion else { return }
        states.removeFirst(Int(version - oldestVersion))
        oldestVersion = version
        stubVersions.forget(before: version)
    }

    /// Removes every version after this one.
    mutating func rollBack(to version: UInt64) {
        states.removeLast(Int(newestVersion - version))
        stubVersions.rollBack(to: version)
    }
}
