import Synchronization

/// Holds each effect until a simulation releases it.
final class Desk: Sendable {
    private struct Book {
        var held: [(name: String, go: CheckedContinuation<Void, Never>)] = []
        var isOpen = false
    }

    private let book = Mutex(Book())

    /// Waits until the simulation releases it; ignores cancellation.
    func pass(_ name: String) async {
        await withCheckedContinuation { go in
            let isOpen = book.withLock { book in
                guard !book.isOpen else { return true }
                book.held.append((name, go))
                return false
            }
            if isOpen { go.resume() }
        }
    }

    var count: Int { book.withLock { $0.held.count } }

    /// Releases one of the waiting effects, chosen by its index in the order of names.
    func letGo(_ number: Int) {
        let go = book.withLock { book -> CheckedContinuation<Void, Never>? in
            let names = book.held.map(\.name).sorted()
            guard let index = book.held.firstIndex(where: { $0.name == names[number] }) else {
                return nil
            }
            return book.held.remove(at: index).go
        }
        go?.resume()
    }

    /// Lets all waiting calls pass, and all later ones.
    func open() {
        let held = book.withLock { book in
            book.isOpen = true
            defer { book.held = [] }
            return book.held
        }
        for one in held { one.go.resume() }
    }
}
