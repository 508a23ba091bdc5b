/// The slots of a loop's connections, in one piece of memory.
///
/// Why not an array: changing an array's element in place is an access to the whole array, which
/// the runtime watches for as long as it lasts; ten times for one request. Here a slot is read and
/// written as the plain words that it is.
@safe final class ConnectionSlots {
    /// Invariant: the first `count` are initialised. No pointer to them leaves this class.
    private var memory: UnsafeMutableBufferPointer<ConnectionSlot>
    /// How many there are; none is ever taken away.
    private(set) var count = 0

    init() {
        unsafe memory = .allocate(capacity: 64)
    }

    deinit {
        // Nothing to release in a slot.
        unsafe memory.deallocate()
    }

    /// A slot that exists; any other index traps.
    subscript(index: Int) -> ConnectionSlot {
        get {
            precondition(index >= 0 && index < count, "there is no such slot")
            return unsafe memory[index]
        }
        set {
            precondition(index >= 0 && index < count, "there is no such slot")
            unsafe memory[index] = newValue
        }
    }

    func append(_ slot: ConnectionSlot) {
        if unsafe count == memory.count { grow() }
        unsafe memory.initializeElement(at: count, to: slot)
        count += 1
    }

    private func grow() {
        let larger = unsafe UnsafeMutableBufferPointer<ConnectionSlot>.allocate(
            capacity: memory.count * 2)
        _ = unsafe larger.moveInitialize(fromContentsOf: memory[..<count])
        unsafe memory.deallocate()
        unsafe memory = larger
    }
}

extension ConnectionSlots: RandomAccessCollection {
    var startIndex: Int { 0 }
    var endIndex: Int { count }
}
