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
        /// There is no room for it, or the journal has lost history since it was asked for: its
        /// session may have another history by now.
        case refused
        case unwanted
    }

    private struct Waiting {
        let request: Request
        let bytes: Int
        /// The losses of history before the request.
        let losses: UInt64
        let act: (Turn) -> Void
    }

    package enum Kind {
        case large, small, page
    }

    /// Rebuilds or reads of one kind.
    private struct Pool {
        /// The maximum number that run at a time.
        let limit: Int
        /// The maximum number that wait, of all clients and of one client.
        let waitingLimit: Int
        let clientLimit: Int
        var running = 0
        var waiting: Deque<Waiting> = []
    }

    private var large = Pool(limit: 1, waitingLimit: 256, clientLimit: 64)
    /// Why eight run at a time, and not all: a state that is small now may have been large.
    private var small = Pool(limit: 8, waitingLimit: 1_024, clientLimit: 256)
    /// Why two run at a time: a page has at least one record, however large that is.
    private var pages = Pool(limit: 2, waitingLimit: 256, clientLimit: 64)

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
        let kind: Kind = bytes > WorkBudget.smallestBytes ? .large : .small
        let losses = loop.journal.losses
        add(
            Waiting(request: request, bytes: bytes, losses: losses, act: act), to: pool(kind),
            in: loop)
    }

    /// Begins the read of a page, now or when earlier ones have ended. ``end(_:in:)`` is called
    /// once for each that was begun.
    package func addPage(
        _ request: Request, in loop: FeedLoop, then act: @escaping (Turn) -> Void
    ) {
        let losses = loop.journal.losses
        add(
            Waiting(request: request, bytes: 0, losses: losses, act: act), to: pool(.page),
            in: loop)
    }

    private typealias Path = ReferenceWritableKeyPath<RebuildQueue, Pool>

    private func pool(_ kind: Kind) -> Path {
        switch kind {
        case .large: \.large
        case .small: \.small
        case .page: \.pages
        }
    }

    private func add(_ waiting: Waiting, to pool: Path, in loop: FeedLoop) {
        guard hasRoom(for: waiting.request.client, in: pool) else { return waiting.act(.refused) }
        self[keyPath: pool].waiting.append(waiting)
        begin(pool, in: loop)
    }

    /// Whether one more may wait.
    private func hasRoom(for client: WorkClient?, in pool: Path) -> Bool {
        if isFull(pool, for: client) { dropUnwanted(pool) }
        return !isFull(pool, for: client)
    }

    private func isFull(_ path: Path, for client: WorkClient?) -> Bool {
        let pool = self[keyPath: path]
        if pool.waiting.count >= pool.waitingLimit { return true }
        guard let client, pool.waiting.count >= pool.clientLimit else { return false }
        return pool.waiting.count { $0.request.client == client } >= pool.clientLimit
    }

    private func dropUnwanted(_ pool: Path) {
        var (wanted, unwanted): (Deque<Waiting>, Deque<Waiting>) = ([], [])
        // Evaluated once: it may change at any time.
        for one in self[keyPath: pool].waiting {
            if one.request.isWanted() { wanted.append(one) } else { unwanted.append(one) }
        }
        self[keyPath: pool].waiting = wanted
        for one in unwanted { one.act(.unwanted) }
    }

    /// A rebuild has ended. The next one begins in a later job of the loop: by then nothing holds
    /// the bytes that this one does not keep.
    package func end(_ kind: Kind, in loop: FeedLoop) {
        loop.journal.later { loop in loop.rebuilds.beginNext(kind, in: loop) }
    }

    private func beginNext(_ kind: Kind, in loop: FeedLoop) {
        self[keyPath: pool(kind)].running -= 1
        begin(pool(kind), in: loop)
    }

    private func begin(_ pool: Path, in loop: FeedLoop) {
        while self[keyPath: pool].running < self[keyPath: pool].limit,
            let next = self[keyPath: pool].waiting.popFirst()
        {
            guard next.request.isWanted() else {
                next.act(.unwanted)
                continue
            }
            guard next.losses == loop.journal.losses else {
                next.act(.refused)
                continue
            }
            do throws(WorkOverload) {
                let charge =
                    next.bytes > WorkBudget.smallestBytes
                    ? try loop.charge(Self.factor * next.bytes, for: next.request.client) : nil
                self[keyPath: pool].running += 1
                next.act(.begun(charge))
            } catch {
                next.act(.refused)
            }
        }
    }

    func removeAll() {
        large.waiting = []
        small.waiting = []
        pages.waiting = []
    }
}
