/// The versions of a session that a stub made and no mutation, and what each of them showed.
struct StubVersions<State> {
    /// Ascending.
    private var versions: [UInt64] = []
    /// Of those that showed a state of the stub's; the others showed the reactor's own again.
    private var injected: [UInt64: State] = [:]

    var isEmpty: Bool { versions.isEmpty }

    func contains(_ version: UInt64) -> Bool { versions.contains(version) }

    func count(through version: UInt64) -> Int { versions.count { $0 <= version } }

    /// The state that a version showed instead of the reactor's own.
    subscript(version: UInt64) -> State? { injected[version] }

    mutating func append(_ version: UInt64, showing state: State? = nil) {
        versions.append(version)
        if let state { injected[version] = state }
    }

    /// `version` is the oldest that is kept: it can be shown, how it came to be is forgotten.
    mutating func forget(before version: UInt64) {
        guard !isEmpty || !injected.isEmpty else { return }
        versions.removeAll { $0 <= version }
        injected = injected.filter { $0.key >= version }
    }

    mutating func rollBack(to version: UInt64) {
        guard !isEmpty || !injected.isEmpty else { return }
        versions.removeAll { $0 > version }
        injected = injected.filter { $0.key <= version }
    }
}
