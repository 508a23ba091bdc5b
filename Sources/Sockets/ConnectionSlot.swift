/// The state of one connection: a few words, without references.
///
/// With its deadline (8 bytes) a connection costs 28 bytes.
struct ConnectionSlot {
    /// Independent flags in any combination.
    struct Flags: OptionSet {
        let rawValue: UInt16
        /// The slot holds a connection.
        static let open = Flags(rawValue: 1)
        /// A read may return bytes; cleared by `EAGAIN` or (epoll) a short read.
        static let readable = Flags(rawValue: 2)
        /// A short read does not prove that the socket is empty.
        static let readToEnd = Flags(rawValue: 4)
        static let paused = Flags(rawValue: 8)
        /// The peer's end was read; there is nothing left to read.
        static let peerFinished = Flags(rawValue: 16)
        /// A send was short: no further send is tried until there is room.
        static let awaitsRoom = Flags(rawValue: 32)
        /// There is room again, and the handler has not been notified of it.
        static let roomArrived = Flags(rawValue: 64)
        /// Broken: `failure` holds the `errno`, and the handler has not been notified.
        static let failed = Flags(rawValue: 128)
        /// Closed by the handler, which does not see it any more; further input is dropped.
        static let lingering = Flags(rawValue: 256)
        /// In the list of connections that continue without a new event.
        static let queued = Flags(rawValue: 512)
        /// Bytes that were received wait in `ConnectionTable.held`.
        static let holdsBytes = Flags(rawValue: 1_024)
    }

    /// -1 in a free slot.
    var descriptor: Int32 = -1
    /// Incremented when the slot is freed, so that old ids do not match.
    var generation: UInt32 = 1
    var flags: Flags = []
    /// `errno` of a failed connection; in a free slot the index of the next free slot.
    var failure: Int32 = 0
    /// While lingering: the number of bytes that are still read and dropped.
    var lingerBytesLeft: Int32 = 0
}
