/// Sessions, each once. Most inputs are about one, which costs no hash here.
struct SessionSet: Sendable {
    private var first: SessionName?
    /// Invariant: empty without `first`, which is not among them.
    private var others: Set<SessionName> = []

    var isEmpty: Bool { first == nil }

    /// Sorted, so that nothing depends on hashes.
    var sorted: [SessionName] {
        guard let first else { return [] }
        return others.isEmpty ? [first] : (others + [first]).sorted { $0.text < $1.text }
    }

    mutating func insert(_ session: SessionName) {
        guard let first else { return first = session }
        if first != session { others.insert(session) }
    }

    mutating func formUnion(_ sessions: [SessionName]) {
        for session in sessions { insert(session) }
    }

    mutating func remove(_ session: SessionName) {
        guard session == first else {
            others.remove(session)
            return
        }
        first = others.popFirst()
    }

    mutating func removeAll() { self = SessionSet() }
}
