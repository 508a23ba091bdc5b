internal import DequeModule

/// Rebuilds states from the journal: on each loop one large state at a time, and a few small ones.
/// Reads of pages of action logs wait here too.
///
/// Design: a request of a few bytes can cause a rebuild, which takes memory and the loop's time. A
/// rebuild whose connection has closed meanwhile does not begin.
package final class RebuildQueue {
    /// A request for a rebuilt state, or for a page.
    package struct Request {
        let client: WorkClient?
        /// Whether the result is still wanted.
        let isWanted: () -> Bool

        package init(client: WorkClient?, isWanted: @escaping () -> Bool) {
            self.client = client
            self.isWanted = isWanted
        }
    }

    /// The end of a rebuild's wait.
    package enum Turn {
        /// It begins. The charge is nil if its state is small, or if it reads a page.
        case begun(WorkCharge?)
        /// There is no room for it.
        case refused
        case unwanted
    }

    private struct Waiting {
        let request: Request
        let bytes: Int
        let act: (Turn) -> Void
    }

    package enum Kind {
        case large, small, page
    }

    /// Rebuilds or reads of one kind.
    private struct Lane {
        /// The maximum number that run at a time.
        let limit: Int
        var running = 0
        var waiting: Deque<Waiting> = []
    }

    private var large = Lane(limit: 1)
    /// Why they are limited: a state that is small now may have been large.
    private var small = Lane(limit: 8)
    /// Why they are limited: a page has at least one record, however large that is.
    private var pages = Lane(limit: 2)

    private static let waitingLimit = 256
    /// Of one client.
    private static let clientLimit = 64
    /// A rebuild holds the snapshot and the decoded state, then the decoded and the encoded state.
    package static let factor = 2

    /// The number of rebuilds that wait.
    package var count: Int { large.waiting.count + small.waiting.count }

    /// Begins a rebuild, now or when earlier ones have ended. ``end(_:in:)`` is called once
    /// for each that was begun.
    ///
    /// - Parameters:
    ///   - bytes: the estimated size of the state.
    ///   - act: called once, unless the loop has stopped.
    func add(
        _ request: Request, ofBytes bytes: Int, in loop: FeedLoop,
        then act: @escaping (Turn) -> Void
    ) {
        let waiting = Waiting(request: request, bytes: bytes, act: act)
        guard bytes > WorkBudget.smallestBytes else {
            small.waiting.append(waiting)
            return begin(\.small)
        }
        guard hasRoom(for: request.client) else { return act(.refused) }
        large.waiting.append(waiting)
        beginLarge(in: loop)
    }

    /// Begins the read of a page, now or when earlier ones have ended. ``end(_:in:)`` is called
    /// once for each that was begun.
    package func addPage(_ request: Request, then act: @escaping (Turn) -> Void) {
        pages.waiting.append(Waiting(request: request, bytes: 0, act: act))
        begin(\.pages)
    }

    /// Whether one more rebuild of a large state may wait.
    private func hasRoom(for client: WorkClient?) -> Bool {
        if large.waiting.count >= Self.waitingLimit { dropUnwanted() }
        guard large.waiting.count < Self.waitingLimit else { return false }
        guard let client else { return true }
        return large.waiting.count { $0.request.client == client } < Self.clientLimit
    }

    private func dropUnwanted() {
        let all = large.waiting
        large.waiting = Deque(all.filter { $0.request.isWanted() })
        for one in all where !one.request.isWanted() { one.act(.unwanted) }
    }

    /// A rebuild has ended. The next one begins in a later job of the loop: by then nothing holds
    /// the bytes that this one does not keep.
    package func end(_ kind: Kind, in loop: FeedLoop) {
        loop.journal.later { loop in loop.rebuilds.beginNext(kind, in: loop) }
    }

    private func beginNext(_ kind: Kind, in loop: FeedLoop) {
        switch kind {
        case .large:
            large.running -= 1
            beginLarge(in: loop)
        case .small:
            small.running -= 1
            begin(\.small)
        case .page:
            pages.running -= 1
            begin(\.pages)
        }
    }

    private func beginLarge(in loop: FeedLoop) {
        while large.running < large.limit, let next = large.waiting.first {
            guard next.request.isWanted() else {
                large.waiting.removeFirst()
                next.act(.unwanted)
                continue
            }
            do throws(WorkOverload) {
                let charge = try loop.charge(Self.factor * next.bytes, for: next.request.client)
                large.waiting.removeFirst()
                large.running += 1
                next.act(.begun(charge))
            } catch {
                large.waiting.removeFirst()
                next.act(.refused)
            }
        }
    }

    /// - Parameter lane: its work is not charged here.
    private func begin(_ lane: ReferenceWritableKeyPath<RebuildQueue, Lane>) {
        while self[keyPath: lane].running < self[keyPath: lane].limit,
            let next = self[keyPath: lane].waiting.popFirst()
        {
            guard next.request.isWanted() else {
                next.act(.unwanted)
                continue
            }
            self[keyPath: lane].running += 1
            next.act(.begun(nil))
        }
    }

    func removeAll() {
        large.waiting = []
        small.waiting = []
        pages.waiting = []
    }
}
