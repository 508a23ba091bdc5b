public import Reactors

/// The versions of a reactor's session that memory keeps.
///
/// Design: the state of the oldest version and the mutations since. Any kept version is a fold of
/// these; forgetting versions is a fold, too.
@usableFromInline
struct ReactorVersions<R: Reactor> {
    // Why first: the fields up to `stubVersions` have offsets that do not depend on `R`.
    private(set) var oldestVersion: UInt64
    @usableFromInline
    var mutations: [R.Mutation] = []
    /// Why beside the mutations: an optional for each of them costs every POST a thousand
    /// instructions for its generic type.
    private var stubVersions = StubVersions<R.State>()
    /// Invariant: `oldest` reduced by `mutations`, in order, is the newest version's state.
    @usableFromInline
    var oldest: R.State
    /// The old state that was rebuilt last. The next one continues from it, so that showing all
    /// versions costs one fold instead of one for each.
    private var replay: (version: UInt64, state: R.State)?

    init(_ state: R.State, version: UInt64) {
        oldest = state
        oldestVersion = version
    }

    private var newestVersion: UInt64 {
        oldestVersion + UInt64(mutations.count + stubVersions.count)
    }

    // MARK: New versions

    @inlinable
    mutating func append(_ mutation: R.Mutation) { mutations.append(mutation) }

    /// - Parameter state: the state that a stub shows; nil: the reactor's own is shown again.
    mutating func appendStub(_ version: UInt64, showing state: R.State? = nil) {
        stubVersions.append(version, showing: state)
    }

    // MARK: Old versions

    /// The reactor's own state at a version.
    mutating func state(at version: UInt64, by reactor: R) -> R.State {
        precondition(version >= oldestVersion && version <= newestVersion, "not a kept version")
        var (reached, state) = (oldestVersion, oldest)
        if let replay, replay.version <= version { (reached, state) = replay }
        while reached < version {
            reached += 1
            guard stubVersions.isEmpty || !stubVersions.contains(reached) else { continue }
            reactor.reduce(state: &state, mutation: mutations[mutationCount(through: reached) - 1])
        }
        replay = (version, state)
        return state
    }

    /// The state that a stub showed at this version, if it did.
    func stubState(at version: UInt64) -> R.State? { stubVersions[version] }

    /// The mutation that made this version; nil if a stub made it.
    func mutation(to version: UInt64) -> R.Mutation? {
        precondition(version > oldestVersion && version <= newestVersion, "not a kept mutation")
        guard stubVersions.isEmpty || !stubVersions.contains(version) else { return nil }
        return mutations[mutationCount(through: version) - 1]
    }

    /// The number of mutations that lead to this version.
    @usableFromInline
    func mutationCount(through version: UInt64) -> Int {
        let count = Int(version - oldestVersion)
        return stubVersions.isEmpty ? count : count - stubVersions.count(through: version)
    }

    /// Discards the state that was kept for the next call of ``state(at:by:)``.
    @usableFromInline
    mutating func endReplay() { replay = nil }

    // MARK: Removing versions

    /// Folds the mutations up to `version` into `oldest`. Every mutation is eventually folded.
    @inlinable
    mutating func forget(before version: UInt64, by reactor: R) {
        endReplay()
        let count = mutationCount(through: version)
        for index in 0..<count { reactor.reduce(state: &oldest, mutation: mutations[index]) }
        removeFirst(count, before: version)
    }

    @usableFromInline
    mutating func removeFirst(_ count: Int, before version: UInt64) {
        mutations.removeFirst(count)
        stubVersions.forget(before: version)
        oldestVersion = version
    }

    /// Removes every version after this one.
    ///
    /// Why it keeps the state for the next call: a client may send batches that are refused in a
    /// loop. Each would fold all kept versions.
    ///
    /// - Returns: the reactor's own state at `version`.
    mutating func rollBack(to version: UInt64, by reactor: R) -> R.State {
        let state = state(at: version, by: reactor)
        mutations.removeLast(mutations.count - mutationCount(through: version))
        stubVersions.rollBack(to: version)
        return state
    }
}
