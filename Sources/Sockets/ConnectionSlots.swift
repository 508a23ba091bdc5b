/// The slots of a loop's connections, in one allocation.
///
/// Why not an array: changing an array's element in place is an access to the whole array, which
/// the runtime checks for overlaps; ten times for one request. Here a slot is read and written as
/// plain words.
@safe final class ConnectionSlots {
    /// Invariant: the first `count` are initialised. No pointer to them leaves this class.
    private var memory: UnsafeMutableBufferPointer<ConnectionSlot>
    /// The number of slots; slots are never removed.
    private(set) var count = 0

    init() {
        unsafe memory = .allocate(capacity: 64)
    }

    deinit {
        // Slots hold nothing to release.
        unsafe memory.deallocate()
    }

    /// An existing slot; any other index traps.
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
