internal import DequeModule

/// Rebuilds large states from the journal, one at a time on each loop.
///
/// Design: a request of a few bytes can cause a rebuild, which takes memory and the loop's time. A
/// rebuild whose connection has closed meanwhile does not begin.
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
    /// A rebuild holds the snapshot and the decoded state, then the decoded and the encoded state.
    static let factor = 2

    /// The number of rebuilds that wait.
    var count: Int { waiting.count }

    /// Begins a rebuild, now or when earlier ones have ended. ``end(in:)`` is called once for each
    /// that was begun with a charge.
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
                // The running rebuild will give its bytes back, and then this one may have room.
                guard running == 0 else { return }
                waiting.removeFirst()
                next.refuse()
            }
        }
    }

    func removeAll() { waiting = [] }
}
