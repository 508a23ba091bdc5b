package import ClientMachine
internal import Synchronization

/// An outbox that ends with the process: everything is durable at once, for as long as that.
package final class MemoryOutbox: OutboxStore {
    private let report = Mutex<(@Sendable (OutboxReport) -> Void)?>(nil)

    package let keepsStates = false

    package init() {}

    package func open(
        _ report: @escaping @Sendable (OutboxReport) -> Void
    ) throws(OutboxUnavailable) -> SavedOutbox {
        self.report.withLock { $0 = report }
        return SavedOutbox()
    }

    package func write(_ number: UInt64, _ changes: [OutboxChange]) {
        // Outside of the lock: the report may lead to the next write.
        report.withLock(\.self)?(.durable(number))
    }

    package func saveState(_ state: SavedState?, of session: SessionName, isLast: Bool) {}

    package func close() async { report.withLock { $0 = nil } }
}
