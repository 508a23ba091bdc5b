/// One place in the text being written: a value that is due, or a container.
struct JSONFrame {
    enum Kind: UInt8 {
        /// A value is due here.
        case slot
        /// A `TaggedCodable` enum is due here: its case is not known yet.
        case tag
        /// One value stands here that is no container.
        case scalar
        case array, object
    }

    /// The ranges that move together when the container is sorted as it closes.
    enum Order: UInt8 {
        /// Nothing: it stays as written.
        case written
        case singles, pairs
    }

    var kind = Kind.slot
    var order = Order.written
    /// Invariant: the open frames are `JSONOutput.innermost`, its parent, and so on.
    var isOpen = true
    /// The frame around this one; -1 for the root.
    let parent: Int
    /// The offset of the value's first byte.
    var start: Int
    /// Once closed: the offset of the closing bracket; of a scalar, that after its last byte.
    var end = 0
    /// Elements or members so far.
    var count = 0
    /// Arrays and objects around the value, itself included once it is one.
    var depth: Int

    init(parent: Int, start: Int, depth: Int) {
        self.parent = parent
        self.start = start
        self.depth = depth
    }
}
