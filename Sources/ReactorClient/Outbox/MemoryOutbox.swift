package import ClientMachine

/// An outbox that ends with the process: everything is durable at once, for as long as that.
package final class MemoryOutbox: OutboxStore {
    package let savesChanges = false
    package let keepsStates = false

    package init() {}

    package func open(
        _ report: @escaping @Sendable (OutboxReport) -> Void
    ) throws(OutboxUnavailable) -> SavedOutbox { SavedOutbox() }

    package func write(_ number: UInt64, _ changes: [OutboxChange]) {}

    package func saveState(_ state: SavedState?, of session: SessionName, isLast: Bool) {}

    package func close() async {}
}
