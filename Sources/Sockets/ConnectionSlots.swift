/// The slots of a loop's connections, in one allocation.
///
/// Why not an array: each change in place accesses the whole array, which the runtime checks for
/// overlaps, ten times per request. Here slots are plain words.
@safe final class ConnectionSlots {
    /// Invariant: the first `count` slots are initialised. No pointer to them leaves this class.
    private var memory: UnsafeMutableBufferPointer<ConnectionSlot>
    /// The number of slots; slots are never removed.
    private(set) var count = 0
    /// The first free slot; each free slot names the next one, and -1 ends the list.
    private var firstFree: Int32 = -1

    init() {
        unsafe memory = .allocate(capacity: 64)
    }

    deinit {
        // Slots own nothing that must be released.
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

    /// A free slot, which the caller fills.
    func allocate() -> Int {
        guard firstFree >= 0 else {
            append(ConnectionSlot())
            return count - 1
        }
        let index = Int(firstFree)
        firstFree = self[index].failure
        return index
    }

    /// Frees a slot. Ids of its connection are stale from now on.
    func free(_ index: Int) {
        let next = self[index].generation &+ 1
        self[index] = ConnectionSlot(
            generation: next == 0 ? 1 : next, flags: [], failure: firstFree)
        firstFree = Int32(index)
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
