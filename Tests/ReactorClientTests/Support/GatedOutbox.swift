import ClientMachine
import Dispatch
import Synchronization

@testable import ReactorClient

/// An outbox that keeps states, and holds up the thread that writes while a test says so.
final class GatedOutbox: OutboxStore {
    private struct State {
        var report: (@Sendable (OutboxReport) -> Void)?
        var isHeld = false
        var log: [String] = []
    }

    let keepsStates = true
    private let state = Mutex(State())
    private let entries = DispatchSemaphore(value: 0)
    private let gate = DispatchSemaphore(value: 0)

    /// The calls that have ended since the gate is held: `write`, `state`, `close`.
    var log: [String] { state.withLock(\.log) }

    func open(
        _ report: @escaping @Sendable (OutboxReport) -> Void
    ) throws(OutboxUnavailable) -> SavedOutbox {
        state.withLock { $0.report = report }
        return SavedOutbox()
    }

    func write(_ number: UInt64, _ changes: [OutboxChange]) {
        let isHeld = state.withLock { state in
            defer { state.isHeld = false }
            return state.isHeld
        }
        if isHeld {
            entries.signal()
            gate.wait()
        }
        state.withLock { $0.log.append("write") }
        state.withLock(\.report)?(.durable(number))
    }

    func saveState(_ saved: SavedState?, of session: SessionName, isLast: Bool) {
        state.withLock { $0.log.append("state") }
    }

    func close() async { state.withLock { $0.log.append("close") } }

    /// Holds up the next write.
    func hold() { state.withLock { ($0.isHeld, $0.log) = (true, []) } }

    /// Waits for the thread that writes.
    func waitForWriter() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                self.entries.wait()
                continuation.resume()
            }
        }
    }

    func release() { gate.signal() }
}
