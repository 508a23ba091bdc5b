/// The state of one connection: a few words, no reference, nothing to release.
///
/// Deadlines lie beside it in the timer wheel (24 bytes), so a connection costs 44 bytes here all
/// in all.
struct ConnectionSlot {
    /// Facts that hold at the same time in any combination.
    struct Flags: OptionSet {
        let rawValue: UInt16
        /// The slot holds a connection.
        static let open = Flags(rawValue: 1)
        /// A read may give something; cleared by `EAGAIN` or (epoll) a short read.
        static let readable = Flags(rawValue: 2)
        /// A short read does not prove that the socket is empty.
        static let readToEnd = Flags(rawValue: 4)
        /// The handler does not want to read.
        static let paused = Flags(rawValue: 8)
        /// The peer's end was read; there is nothing to read any more.
        static let peerFinished = Flags(rawValue: 16)
        /// A send came up short: no further send is tried until there is room.
        static let awaitsRoom = Flags(rawValue: 32)
        /// There is room again and the handler does not know yet.
        static let roomArrived = Flags(rawValue: 64)
        /// Broken: `failure` holds the `errno`, and the handler does not know yet.
        static let failed = Flags(rawValue: 128)
        /// Closed by the handler, to which it exists no more; the rest of the input is dropped.
        static let lingering = Flags(rawValue: 256)
        /// In the list of connections that continue without a new event.
        static let queued = Flags(rawValue: 512)
    }

    /// -1 in a free slot.
    var descriptor: Int32 = -1
    /// Moves on when the slot is freed, so that old ids miss.
    var generation: UInt32 = 1
    var flags: Flags = []
    /// `errno` of a failed connection; in a free slot the next free one.
    var failure: Int32 = 0
    /// While lingering: how many bytes more are read and dropped.
    var lingerBytesLeft: Int32 = 0
}
