internal import Reactors
import Synchronization

final class DriverState<R: Reactor>: SessionFollower {
    /// An event that must be asserted.
    enum Event {
        case mutation(R.Mutation, version: UInt64, state: R.State)
        case activity(R.Activity)
        case failure(ReactorFailure.Place, any Error)
        case timer(EffectID)
    }

    struct Item {
        let action: UInt64
        let event: Event
    }

    private enum Line {
        // The start of an action's turn.
        case turn(UInt64)
        case item(Item)

        var item: Item? {
            guard case .item(let item) = self else { return nil }
            return item
        }
    }

    private struct Contents {
        var initialState: R.State?
        var lines: [Line] = []
        // The number of events, asserted or not.
        var count = 0
        var waiting: [(seen: Int, wake: AsyncStream<Never>.Continuation)] = []
    }

    // Why a lock: the session writes in its own isolation, the test reads in another.
    private let contents = Mutex(Contents())

    // MARK: The session's side

    func began(with state: R.State) { contents.withLock { $0.initialState = state } }

    func record(_ entry: ActionLogEntry<R>, state: R.State?) {
        add(Self.line(for: entry, state))
    }

    /// Wakes the test after a change that is not asserted.
    func poke() { add(nil) }

    private static func line(for entry: ActionLogEntry<R>, _ state: R.State?) -> Line? {
        let event: Event
        switch entry.event {
        case .received, .rejected, .recorded: return .turn(entry.action)
        case .mutation(let mutation, let version):
            guard let state else { preconditionFailure("a follower gets the state") }
            event = .mutation(mutation, version: version, state: state)
        case .activity(let activity): event = .activity(activity)
        case .effectFailed(_, let error): event = .failure(.effect, error)
        case .sourceFailed(_, let error): event = .failure(.source, error)
        case .hookFailed(let place, let error): event = .failure(place, error)
        case .timerFired(let name): event = .timer(name)
        default: return nil
        }
        return .item(Item(action: entry.action, event: event))
    }

    private func add(_ line: Line?) {
        let waiting = contents.withLock { contents in
            contents.count += 1
            if let line { contents.lines.append(line) }
            defer { contents.waiting = [] }
            return contents.waiting
        }
        for waiter in waiting { waiter.wake.finish() }
    }

    // MARK: The test's side

    var initialState: R.State? { contents.withLock { $0.initialState } }

    /// The number of events so far; pass it to ``waitForMore(than:)``.
    var count: Int { contents.withLock { $0.count } }

    /// The first item that was not asserted.
    func takeNext() -> Item? {
        contents.withLock { contents in
            contents.lines.removeAll { $0.item == nil }
            return contents.lines.isEmpty ? nil : contents.lines.removeFirst().item
        }
    }

    /// The events before the turn of the action, and those of its mutations that were applied in
    /// that turn, up to `version`; the other events stay.
    func takeTurn(of action: UInt64, upTo version: UInt64) -> (before: [Item], own: [Item]) {
        contents.withLock { contents in
            var (before, own, rest): ([Item], [Item], [Line]) = ([], [], [])
            var hasBegun = false
            for line in contents.lines {
                switch line {
                case .turn(let number): hasBegun = hasBegun || number == action
                case .item(let item) where item.action == action && item.isMutation(upTo: version):
                    own.append(item)
                case .item(let item) where item.action != action && !hasBegun: before.append(item)
                case .item: rest.append(line)
                }
            }
            contents.lines = rest
            return (before, own)
        }
    }

    /// Returns when there are more events than `seen`, or when the calling task is cancelled.
    func waitForMore(than seen: Int) async {
        let (stream, wake) = AsyncStream<Never>.makeStream()
        let isThere = contents.withLock { contents in
            if contents.count == seen { contents.waiting.append((seen, wake)) }
            return contents.count != seen
        }
        if isThere { wake.finish() }
        for await _ in stream {}
    }
}

extension DriverState.Item {
    fileprivate func isMutation(upTo last: UInt64) -> Bool {
        guard case .mutation(_, let version, _) = event else { return false }
        return version <= last
    }
}
