/// Identifies one connection of one loop for as long as it lives there.
///
/// `slot` is dense (0, 1, 2, … and reused), so a handler can keep a parallel array. The generation
/// distinguishes a connection from an earlier one in the same slot: a stale id matches none.
package struct ConnectionID: Hashable, Sendable {
    /// Index in its loop's table; less than the maximum of open connections so far.
    package let slot: UInt32

    /// Never 0 for a connection that exists.
    package let generation: UInt32

    /// Makes an id; only a table can make a connection for it.
    package init(slot: UInt32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    /// Both halves in a single word, which epoll returns with an event.
    package init(_ token: UInt64) {
        self.init(
            slot: UInt32(truncatingIfNeeded: token),
            generation: UInt32(truncatingIfNeeded: token >> 32))
    }

    package var token: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}
