package import Storage

/// The newest committed position of a session, as its owner has it.
package struct CommittedEnd: Equatable, Sendable {
    package var generation: String
    package var position: HistoryPosition

    package init(_ generation: String, _ position: HistoryPosition) {
        self.generation = generation
        self.position = position
    }
}
