import Synchronization

/// Holds effects until a test lets them go.
package final class Gate: Sendable {
    private struct Book {
        var isOpen = false
        var arrived = 0
        var held: [CheckedContinuation<Void, Never>] = []
        var watchers: [(count: Int, wake: CheckedContinuation<Void, Never>)] = []
    }

    private let book = Mutex(Book())

    package init() {}

    /// Waits, deaf to cancellation, until the gate is open.
    package func pass() async {
        await withCheckedContinuation { wake in
            let (isOpen, watchers) = book.withLock { book in
                book.arrived += 1
                if !book.isOpen { book.held.append(wake) }
                let due = book.watchers.filter { $0.count <= book.arrived }.map(\.wake)
                book.watchers.removeAll { $0.count <= book.arrived }
                return (book.isOpen, due)
            }
            if isOpen { wake.resume() }
            for watcher in watchers { watcher.resume() }
        }
    }

    /// Returns when `count` effects have arrived at the gate.
    package func hasArrivals(_ count: Int) async {
        await withCheckedContinuation { wake in
            let ready = book.withLock { book in
                guard book.arrived < count else { return true }
                book.watchers.append((count, wake))
                return false
            }
            if ready { wake.resume() }
        }
    }

    package func open() {
        let held = book.withLock { book in
            book.isOpen = true
            defer { book.held = [] }
            return book.held
        }
        for wake in held { wake.resume() }
    }
}
