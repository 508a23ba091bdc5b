import Cluster
import Storage
import Synchronization

// A slow and simple search for sessions that act without a request.
extension ScriptedJournal: WorkFinder {
    var work: (any WorkFinder)? { answers ? self : nil }
    var interrupted: [InterruptedWork] { state.withLock { $0.interrupted } }

    func findWork(after place: Int64, _ answer: @escaping Answer<FoundWork>) {
        let found = work(after: place) { _ in true }
        // Never from inside the call.
        Task { answer(.success(found)) }
    }

    func findTimers(
        _ kind: TimerKind, after place: TimerPosition, before end: Int64,
        _ answer: @escaping Answer<FoundTimers>
    ) {
        let found = timers(kind, after: place, before: end) { _ in true }
        Task { answer(.success(found)) }
    }

    /// Pages of one timer.
    func timers(
        _ kind: TimerKind = .actions, after place: TimerPosition, before end: Int64,
        owner: (SavedSession) -> Node? = { _ in nil }, _ isFree: (SavedSession) -> Bool
    ) -> FoundTimers {
        let all = sessions
        var timers: [(place: TimerPosition, saved: SavedSession)] = []
        for (row, saved) in all.enumerated() where !saved.isDeleted {
            let dues =
                kind == .actions
                ? saved.timers.map(\.due) : expiry(of: saved.key).map { [$0] } ?? []
            timers += dues.map { (TimerPosition(due: $0, row: Int64(row)), saved) }
        }
        let rest = timers.filter {
            $0.place.due < end
                && ($0.place.due, $0.place.row) > (place.due, place.row)
        }.sorted { ($0.place.due, $0.place.row) < ($1.place.due, $1.place.row) }
        var found = FoundTimers()
        guard let (first, saved) = rest.first else { return found }
        found.next = first
        var session = WorkingSession(saved)
        session.owner = owner(saved)
        if isFree(saved) { found.sessions = [(session, first.due)] }
        return found
    }

    private var sessions: [SavedSession] {
        state.withLock { state in
            var seen: Set<String> = []
            return state.records.map(\.session).filter { seen.insert($0).inserted }
                .compactMap { Self.saved($0, state) }
        }
    }

    /// - Parameter isFree: Whether no process has the session.
    func work(after place: Int64, _ isFree: (SavedSession) -> Bool) -> FoundWork {
        let all = sessions
        let page = all.dropFirst(Int(place)).prefix(FoundWork.limit)
        let found = page.filter { saved in
            !saved.isDeleted && isFree(saved)
                && (!saved.running.isEmpty || saved.snapshot?.listens ?? false)
        }
        let next = Int(place) + page.count
        return FoundWork(
            sessions: found.map { WorkingSession($0) }, next: next < all.count ? Int64(next) : nil)
    }
}

extension WorkingSession {
    fileprivate init(_ saved: SavedSession) {
        self.init(
            session: saved.key.session, reactor: saved.reactor,
            stateVersion: saved.snapshot?.stateVersion ?? 0)
    }
}
