package import ClientMachine

/// Keeps an outbox, so that a later life of the program can continue with it.
///
/// Order of calls: ``open(_:)`` once, then the others in any order on any thread, ``close()`` last.
package protocol OutboxStore: Sendable {
    /// Reads what is kept. Waits for the disk.
    ///
    /// - Parameter report: called for what is written afterwards, in order, on any thread, possibly
    ///   within ``write(_:_:)``. Nothing is reported after a failure.
    /// - Throws: if the outbox, unchanged then, cannot be read or written. The store is not open.
    func open(
        _ report: @escaping @Sendable (OutboxReport) -> Void
    ) throws(OutboxUnavailable) -> SavedOutbox

    /// Whether changes have to be written, and are durable when a report says so. Else they are
    /// durable at once, for as long as the program runs, and ``write(_:_:)`` is not called.
    /// Default: true.
    var savesChanges: Bool { get }

    var keepsStates: Bool { get }

    /// Writes changes, in the order of the calls. Does not wait: a report follows.
    ///
    /// - Parameter number: greater than all before it.
    func write(_ number: UInt64, _ changes: [OutboxChange])

    /// Keeps the newest confirmed state of a session, in place of an older one; nil: forgets it.
    /// Nothing reports that it is durable, and it may be some seconds old after a crash. Without
    /// effect if the store keeps no states.
    ///
    /// - Parameter isLast: whether no newer one is expected soon, so that it is written at once.
    func saveState(_ state: SavedState?, of session: SessionName, isLast: Bool)

    /// Writes what is not written yet, and releases the outbox for another program.
    func close() async
}

extension OutboxStore {
    package var savesChanges: Bool { true }
}

/// The fate of writes.
package enum OutboxReport: Equatable, Sendable {
    /// All changes up to that number are durable.
    case durable(UInt64)
    /// Changes could not be written yet. They are tried again after this time.
    case delayed(Duration, OutboxUnavailable)
    /// Changes could not be written, and none will be.
    case failed(OutboxUnavailable)
}

/// The contents of an outbox that an earlier life of the program has left.
package struct SavedOutbox: Equatable, Sendable {
    package var outbox: Outbox
    /// The last confirmed states, if the store keeps them.
    package var states: [SessionName: SavedState]

    package init(_ outbox: Outbox = Outbox(), states: [SessionName: SavedState] = [:]) {
        self.outbox = outbox
        self.states = states
    }
}

/// The reason why an outbox cannot be used, as a sentence for people.
package struct OutboxUnavailable: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
