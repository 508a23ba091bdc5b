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

    /// - Parameter isFree: Whether nobody takes care of the session.
    func work(after place: Int64, _ isFree: (SavedSession) -> Bool) -> FoundWork {
        let all = state.withLock { state in
            var seen: Set<String> = []
            return state.records.map(\.session).filter { seen.insert($0).inserted }
                .compactMap { Self.saved($0, state) }
        }
        let page = all.dropFirst(Int(place)).prefix(FoundWork.limit)
        let found = page.filter { saved in
            !saved.isDeleted && isFree(saved)
                && (!saved.running.isEmpty || saved.snapshot?.listens ?? false)
        }
        let next = Int(place) + page.count
        return FoundWork(
            sessions: found.map {
                WorkingSession(
                    session: $0.key.session, reactor: $0.reactor,
                    stateVersion: $0.snapshot?.stateVersion ?? 0)
            }, next: next < all.count ? Int64(next) : nil)
    }
}
