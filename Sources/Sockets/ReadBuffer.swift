/// The single allocation into which a loop reads.
///
/// Not an array: the handler borrows the bytes while the loop's other state changes.
@safe final class ReadBuffer {
    /// Invariant: written only by a read, and never while a handler uses it.
    let memory: UnsafeMutableRawBufferPointer

    init(byteCount: Int) {
        unsafe self.memory = .allocate(byteCount: byteCount, alignment: 16)
    }

    deinit {
        unsafe memory.deallocate()
    }
}
