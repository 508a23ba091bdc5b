internal import Cluster
package import Storage

extension WorkFinder {
    /// Finds out whether there is an abandoned session: one that has no owner, acts without a
    /// request, and can be woken by a member. Answers once, on any thread.
    package func findAbandoned(
        _ ownership: any Ownership, after place: Int64 = 0, _ answer: @escaping ArchiveAnswer<Bool>
    ) {
        findWork(after: place) { [self] result in
            let found: FoundWork
            switch result {
            case .failure(let failure): return answer(.failure(failure))
            case .success(let page): found = page
            }
            let members = ownership.members
            let isAbandoned = found.sessions.contains {
                members.home(of: $0.session, needing: ($0.reactor, $0.stateVersion)) != nil
            }
            guard !isAbandoned, let next = found.next else { return answer(.success(isAbandoned)) }
            findAbandoned(ownership, after: next, answer)
        }
    }
}
