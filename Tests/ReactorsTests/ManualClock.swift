import Synchronization

/// A clock that goes only when a test says so.
final class ManualClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        let offset: Duration

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let deadline: Instant
        let wake: CheckedContinuation<Void, any Error>
    }

    private struct Book {
        var now = Instant(offset: .zero)
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var lastSleeper = 0
        var watchers: [(count: Int, wake: CheckedContinuation<Void, Never>)] = []

        mutating func takeContentWatchers() -> [CheckedContinuation<Void, Never>] {
            defer { watchers.removeAll { $0.count <= sleepers.count } }
            return watchers.filter { $0.count <= sleepers.count }.map(\.wake)
        }
    }

    private let book = Mutex(Book())

    var now: Instant { book.withLock { $0.now } }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = book.withLock { book in
            book.lastSleeper += 1
            return book.lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { add($0, number, deadline) }
        } onCancel: {
            cancel(number)
        }
    }

    /// Wakes everyone whose time has come, the earliest first.
    func advance(by duration: Duration) {
        let due = book.withLock { book in
            book.now = book.now.advanced(by: duration)
            let due = book.sleepers.filter { $0.value.deadline <= book.now }
            for number in due.keys { book.sleepers[number] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in due { sleeper.wake.resume() }
    }

    /// Returns when so many tasks sleep.
    func hasSleepers(_ count: Int) async {
        await withCheckedContinuation { wake in
            let ready = book.withLock { book in
                guard book.sleepers.count < count else { return true }
                book.watchers.append((count, wake))
                return false
            }
            if ready { wake.resume() }
        }
    }

    private func add(
        _ wake: CheckedContinuation<Void, any Error>, _ number: Int, _ deadline: Instant
    ) {
        enum Verdict { case cancelled, due, asleep }
        let (verdict, watchers) = book.withLock { book in
            if book.cancelled.remove(number) != nil {
                return (Verdict.cancelled, [CheckedContinuation<Void, Never>]())
            }
            guard deadline > book.now else { return (Verdict.due, []) }
            book.sleepers[number] = Sleeper(deadline: deadline, wake: wake)
            return (Verdict.asleep, book.takeContentWatchers())
        }
        switch verdict {
        case .cancelled: wake.resume(throwing: CancellationError())
        case .due: wake.resume()
        case .asleep: for watcher in watchers { watcher.resume() }
        }
    }

    private func cancel(_ number: Int) {
        let sleeper = book.withLock { book in
            let sleeper = book.sleepers.removeValue(forKey: number)
            if sleeper == nil { book.cancelled.insert(number) }
            return sleeper
        }
        sleeper?.wake.resume(throwing: CancellationError())
    }
}
