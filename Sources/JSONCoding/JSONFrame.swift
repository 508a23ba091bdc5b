/// A position in the text being written: a slot for a value, or a container.
struct JSONFrame {
    enum Kind: UInt8 {
        /// The position of a value that is not written yet.
        case slot
        /// The position of a `TaggedCodable` enum whose case is not known yet.
        case tag
        /// A value that is not a container.
        case scalar
        case array, object
    }

    /// The ranges that move together when the container is sorted as it closes.
    enum Order: UInt8 {
        /// None: the container stays as written.
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
    /// Once closed: the offset of the closing bracket; for a scalar, of the byte after it.
    var end = 0
    /// The number of elements or members so far.
    var count = 0
    /// The nesting depth: arrays and objects around the value, and the value itself if it is one.
    var depth: Int

    init(parent: Int, start: Int, depth: Int) {
        self.parent = parent
        self.start = start
        self.depth = depth
    }
}
