internal import CCrash

/// Reads the work of one loop on any thread, while the loop carries it out.
///
/// Why unchecked: the pointer is constant, and the slot is copied by `crash_read`, which detects
/// that the loop writes to it meanwhile.
@safe package final class CrashSlotReader: @unchecked Sendable {
    private let pointer: UnsafeMutablePointer<crash_slot>
    /// The owner of the memory.
    private let slot: CrashSlot

    init(_ pointer: UnsafeMutablePointer<crash_slot>, of slot: CrashSlot) {
        unsafe self.pointer = pointer
        self.slot = slot
    }

    /// The call of a reactor's code that is under way; nil if there is none, or if it is changing.
    package var present: InterruptedWork? {
        var copy = crash_slot()
        guard unsafe crash_read(pointer, &copy) != 0 else { return nil }
        return CrashRecord.work(in: copy)
    }
}
