/// A confirmed state of a session, for a later life of the program.
package struct SavedState: Equatable, Sendable {
    /// Everything up to here was delivered, and the state is the newest one then.
    package var position: StreamPosition
    /// As JSON; nil if only the position is known.
    package var state: [UInt8]?

    package init(position: StreamPosition, state: [UInt8]?) {
        self.position = position
        self.state = state
    }
}
