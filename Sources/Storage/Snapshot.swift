/// The state of a session after a record; a rebuild starts from it instead of the first record.
package struct Snapshot: Sendable, Equatable {
    package var session: String
    package var generation: String
    /// The state includes all records up to this one.
    package var number: UInt64
    package var version: UInt64
    /// The number of actions that the session had received: later numbers continue from here.
    package var lastAction: UInt64
    /// The reactor's `stateVersion` when it was written.
    package var stateVersion: Int
    /// The state as returned by `reduce`, as one line of JSON.
    package var state: [UInt8]
    /// Milliseconds since 1970 (UTC).
    package var time: Int64
    package var listens: Bool

    package init(
        session: String, generation: String, number: UInt64, version: UInt64, lastAction: UInt64,
        stateVersion: Int, state: [UInt8], time: Int64, listens: Bool = false
    ) {
        self.session = session
        self.generation = generation
        self.number = number
        self.version = version
        self.lastAction = lastAction
        self.stateVersion = stateVersion
        self.state = state
        self.time = time
        self.listens = listens
    }
}
