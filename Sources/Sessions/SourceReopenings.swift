internal import Feeds

/// The sessions whose sources have to be opened again: they left memory when a commit failed. Each
/// of them is loaded, which opens its sources.
struct SourceReopenings {
    /// Loaded in this tick.
    private var due: Set<SessionID> = []
    /// Loaded in the next tick.
    private var dueAtNextTick: Set<SessionID> = []

    /// A session to load in this tick.
    var first: SessionID? { due.first }

    mutating func tickBegan() {
        if due.isEmpty { swap(&due, &dueAtNextTick) }
    }

    mutating func addForNextTick(_ id: SessionID) { dueAtNextTick.insert(id) }

    mutating func remove(_ id: SessionID) {
        due.remove(id)
        dueAtNextTick.remove(id)
    }
}
