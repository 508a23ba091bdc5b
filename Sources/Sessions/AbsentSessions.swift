internal import Feeds
internal import Storage

/// The knowledge about sessions that are not in memory: which of them have ended, and which of them
/// today's code cannot rebuild.
struct AbsentSessions {
    /// The reactors that sessions in the journal may have.
    private let registrations: [Registration]
    private var ended = EndedSessions()
    /// The sessions that could not be rebuilt, with the reason. At 10 000 all of them are dropped;
    /// a session that was dropped is loaded again by the next request for it.
    ///
    /// Each with the generation: another node may have deleted the session, and
    /// created another one.
    private var faults: [SessionID: (generation: String, fault: RecoveryFault)] = [:]

    private static let faultLimit = 10_000

    init(_ registrations: [Registration]) {
        self.registrations = registrations
    }

    func registration(_ name: String) -> Registration? {
        registrations.first { $0.name == name }
    }

    /// The reactors that are Cyclers of this type.
    func names(of cycler: ObjectIdentifier) -> [String] {
        registrations.filter { $0.cycler == cycler }.map(\.name)
    }

    /// Nil if nothing is known about the session.
    func find(_ id: SessionID) -> SessionLookup? {
        if ended.contains(id) { return .ended }
        return faults[id].map { .quarantined($0.fault) }
    }

    mutating func insertEnded(_ id: SessionID, limit: Int) {
        ended.insert(id, limit: limit)
    }

    mutating func quarantine(_ id: SessionID, _ generation: String, _ fault: RecoveryFault) {
        if faults.count >= Self.faultLimit { faults.removeAll() }
        faults[id] = (generation, fault)
    }

    mutating func removeFault(of id: SessionID) { faults[id] = nil }

    /// Forgets everything, because the journal has lost history.
    mutating func removeAll() {
        ended = EndedSessions()
        faults = [:]
    }

    /// Why today's code cannot rebuild the session, if that is known: a request has tried to load
    /// it since the process began, or no hosted reactor has its reactor's name.
    func fault(of head: SavedHead) -> RecoveryFault? {
        if let id = SessionID(head.key.session), let known = faults[id],
            known.generation == head.key.generation
        {
            return known.fault
        }
        return registration(head.reactor) == nil ? .notHosted(head.reactor) : nil
    }
}
