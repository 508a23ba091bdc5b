internal import Reactors
import Synchronization

/// What a session did and a driver has not looked at yet.
final class DriverBook<R: Reactor>: SessionFollower {
    /// Something that has to be asserted.
    enum Event {
        case mutation(R.Mutation, version: UInt64, state: R.State)
        case activity(R.Activity)
        case failure(ReactorFailure.Place, any Error)
    }

    struct Item {
        let action: UInt64
        let event: Event
    }

    private enum Line {
        // An action's turn begins.
        case turn(UInt64)
        case item(Item)

        var item: Item? {
            guard case .item(let item) = self else { return nil }
            return item
        }
    }

    private struct Book {
        var initialState: R.State?
        var lines: [Line] = []
        // How much was told, asserted or not.
        var count = 0
        var waiting: [(seen: Int, wake: AsyncStream<Never>.Continuation)] = []
    }

    // Why a lock: the session writes in its own isolation, the test reads in another.
    private let book = Mutex(Book())

    // MARK: The session's side

    func began(with state: R.State) { book.withLock { $0.initialState = state } }

    func happened(_ entry: ActionLogEntry<R>, state: R.State?) {
        add(Self.line(for: entry, state))
    }

    /// Something that is not for asserting has changed.
    func poke() { add(nil) }

    private static func line(for entry: ActionLogEntry<R>, _ state: R.State?) -> Line? {
        let event: Event
        switch entry.event {
        case .received, .rejected, .recorded: return .turn(entry.action)
        case .mutation(let mutation, let version):
            guard let state else { preconditionFailure("a follower is told the state") }
            event = .mutation(mutation, version: version, state: state)
        case .activity(let activity): event = .activity(activity)
        case .effectFailed(_, let error): event = .failure(.effect, error)
        case .sourceFailed(_, let error): event = .failure(.source, error)
        case .hookFailed(let place, let error): event = .failure(place, error)
        default: return nil
        }
        return .item(Item(action: entry.action, event: event))
    }

    private func add(_ line: Line?) {
        let waiting = book.withLock { book in
            book.count += 1
            if let line { book.lines.append(line) }
            defer { book.waiting = [] }
            return book.waiting
        }
        for waiter in waiting { waiter.wake.finish() }
    }

    // MARK: The test's side

    var initialState: R.State? { book.withLock { $0.initialState } }

    /// How much was told so far: what ``wait(for:)`` goes on from.
    var count: Int { book.withLock { $0.count } }

    /// The first item that was not asserted.
    func takeNext() -> Item? {
        book.withLock { book in
            book.lines.removeAll { $0.item == nil }
            return book.lines.isEmpty ? nil : book.lines.removeFirst().item
        }
    }

    /// What came before the turn of the action, and those of its mutations that were applied in
    /// that turn, up to `version`; the rest stays.
    func takeTurn(of action: UInt64, upTo version: UInt64) -> (before: [Item], own: [Item]) {
        book.withLock { book in
            var (before, own, rest): ([Item], [Item], [Line]) = ([], [], [])
            var hasBegun = false
            for line in book.lines {
                switch line {
                case .turn(let number): hasBegun = hasBegun || number == action
                case .item(let item) where item.action == action && item.isMutation(upTo: version):
                    own.append(item)
                case .item(let item) where item.action != action && !hasBegun: before.append(item)
                case .item: rest.append(line)
                }
            }
            book.lines = rest
            return (before, own)
        }
    }

    /// Returns when more was told than `seen`, or when the calling task is cancelled.
    func waitForMore(than seen: Int) async {
        let (stream, wake) = AsyncStream<Never>.makeStream()
        let isThere = book.withLock { book in
            if book.count == seen { book.waiting.append((seen, wake)) }
            return book.count != seen
        }
        if isThere { wake.finish() }
        for await _ in stream {}
    }
}

extension DriverBook.Item {
    fileprivate func isMutation(upTo last: UInt64) -> Bool {
        guard case .mutation(_, let version, _) = event else { return false }
        return version <= last
    }
}
