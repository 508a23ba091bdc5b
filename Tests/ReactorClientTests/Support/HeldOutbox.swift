import ClientMachine
import Synchronization

@testable import ReactorClient

/// An outbox of which a test says when a change is durable.
final class HeldOutbox: OutboxStore {
    private struct State {
        var report: (@Sendable (OutboxReport) -> Void)?
        var newest: UInt64?
        var isHeld = true
        var waiting: CheckedContinuation<Void, Never>?
        var isClosed = false
        var waitingForEnd: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let saved: SavedOutbox
    let keepsStates = false

    init(_ saved: SavedOutbox = SavedOutbox()) { self.saved = saved }

    func open(
        _ report: @escaping @Sendable (OutboxReport) -> Void
    ) throws(OutboxUnavailable) -> SavedOutbox {
        state.withLock { $0.report = report }
        return saved
    }

    func write(_ number: UInt64, _ changes: [OutboxChange]) {
        let (waiting, report) = state.withLock { state in
            state.newest = number
            defer { state.waiting = nil }
            return (state.waiting, state.isHeld ? nil : state.report)
        }
        waiting?.resume()
        report?(.durable(number))
    }

    func saveState(_ state: SavedState?, of session: SessionName, isLast: Bool) {}

    func close() async {
        let waiting = state.withLock { state in
            state.isClosed = true
            return state.waitingForEnd
        }
        waiting?.resume()
    }

    /// Returns when the client has closed it.
    func whenClosed() async {
        await withCheckedContinuation { continuation in
            let isClosed = state.withLock { state in
                if !state.isClosed { state.waitingForEnd = continuation }
                return state.isClosed
            }
            if isClosed { continuation.resume() }
        }
    }

    /// Returns when something is to be written.
    func whenWritten() async {
        await withCheckedContinuation { continuation in
            let isWritten = state.withLock { state in
                if state.newest == nil { state.waiting = continuation }
                return state.newest != nil
            }
            if isWritten { continuation.resume() }
        }
    }

    /// Makes all that is written durable, and everything later too.
    func makeDurable() {
        let (report, newest) = state.withLock { state in
            state.isHeld = false
            return (state.report, state.newest ?? 0)
        }
        report?(.durable(newest))
    }

    func fail(_ reason: String) {
        state.withLock(\.report)?(.failed(OutboxUnavailable(reason)))
    }
}
