/// The database that a node believes, as it reports it to others.
package struct DatabaseStanding: Hashable, Sendable {
    package var mark: DatabaseMark
    /// A position in the log of PostgreSQL that is acknowledged there, in bytes; 0: none is known.
    /// Other nodes compare it with the position up to which their database has the same log.
    package var committed: Int64

    package init(_ mark: DatabaseMark, committed: Int64 = 0) {
        self.mark = mark
        self.committed = committed
    }
}
