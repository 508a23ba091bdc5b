internal import DequeModule

/// Rebuilds of large states from the journal: one of a loop at a time.
///
/// Design: a rebuilt state takes memory and the time of the loop, and the request for it is a few
/// bytes. A rebuild that is not wanted any more, because its connection is closed, does not begin.
final class RebuildQueue {
    /// A request for a rebuilt state.
    struct Request {
        let client: WorkClient?
        /// Whether the result is still wanted.
        let isWanted: () -> Bool
    }

    private struct Waiting {
        let request: Request
        let bytes: Int
        let begin: (WorkCharge?) -> Void
        let refuse: () -> Void
    }

    private var running = 0
    private var waiting: Deque<Waiting> = []

    private static let runningLimit = 1
    private static let waitingLimit = 256
    /// The snapshot and the decoded state, and then this and the encoded one.
    static let factor = 2

    /// The number of rebuilds that wait.
    var count: Int { waiting.count }

    /// Begins a rebuild, now or when others have ended. ``end(in:)`` is called once for each that
    /// was begun with a charge.
    ///
    /// - Parameters:
    ///   - bytes: the estimated size of the state.
    ///   - begin: called with nil for a small state.
    ///   - refuse: called if there is no room for it.
    func add(
        _ request: Request, ofBytes bytes: Int, in table: SessionTable,
        begin: @escaping (WorkCharge?) -> Void, refuse: @escaping () -> Void
    ) {
        guard bytes > WorkBudget.smallestBytes else { return begin(nil) }
        guard waiting.count < Self.waitingLimit else { return refuse() }
        waiting.append(Waiting(request: request, bytes: bytes, begin: begin, refuse: refuse))
        beginNext(in: table)
    }

    /// A rebuild has ended.
    func end(in table: SessionTable) {
        running -= 1
        beginNext(in: table)
    }

    private func beginNext(in table: SessionTable) {
        while running < Self.runningLimit, let next = waiting.first {
            guard next.request.isWanted() else {
                waiting.removeFirst()
                continue
            }
            do throws(WorkOverload) {
                let charge = try table.charge(Self.factor * next.bytes, for: next.request.client)
                waiting.removeFirst()
                running += 1
                next.begin(charge)
            } catch {
                // The one that is running gives its bytes back.
                guard running == 0 else { return }
                waiting.removeFirst()
                next.refuse()
            }
        }
    }

    func removeAll() { waiting = [] }
}
