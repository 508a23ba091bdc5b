/// The versions of a session that were made by a stub and not by a mutation, with the
/// states they show.
struct StubVersions<State> {
    /// Ascending.
    private var versions: [UInt64] = []
    /// The states of the versions that show an injected one. The other versions show the reactor's
    /// own state again.
    private var injected: [UInt64: State] = [:]

    var isEmpty: Bool { versions.isEmpty }

    var count: Int { versions.count }

    func contains(_ version: UInt64) -> Bool { versions.contains(version) }

    func count(through version: UInt64) -> Int { versions.count { $0 <= version } }

    /// The state that a version shows instead of the reactor's own.
    subscript(version: UInt64) -> State? { injected[version] }

    mutating func append(_ version: UInt64, showing state: State? = nil) {
        versions.append(version)
        if let state { injected[version] = state }
    }

    /// Forgets versions before `version`, which is the oldest that is kept. Its state stays; the
    /// information that a stub made it is forgotten.
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
