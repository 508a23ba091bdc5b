internal import CCrash
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The slots of all loops, beside a journal: `<file>.running`. The file is written only if a
/// process ends during some work, or while a loop is stuck.
///
/// Why unchecked: the pointer is constant. Each slot belongs to its loop, the list of records is
/// atomic, and `look` and `end` exclude each other.
@safe final class CrashRecord: @unchecked Sendable {
    /// Loops beyond this number are not recorded.
    private static let slots = 64
    private static let slotBytes = MemoryLayout<crash_slot>.size

    /// Nil if no memory was available; nothing is recorded then.
    private let record: OpaquePointer?
    // Why a lock: a concurrent `look` could write the file after `end` has removed it.
    private let turns = Mutex(false)
    private let taken = Atomic<Int>(0)
    /// The traces that the previous process left.
    let found: [InterruptedWork]

    /// Reads and removes the traces that the previous process left.
    init(beside path: String) {
        let path = JournalLock.file(path) + ".running"
        found = Self.traces(at: path)
        _ = unsafe unlink(path)
        unsafe record = crash_open(path, Int32(Self.slots))
    }

    deinit {
        end()
        unsafe record.map { unsafe crash_free($0) }
    }

    /// The next loop's slot.
    func takeSlot() -> CrashSlot {
        let index = taken.wrappingAdd(1, ordering: .relaxed).oldValue
        guard let record = unsafe record, index < Self.slots,
            let slot = unsafe crash_slot_at(record, Int32(index))
        else { return CrashSlot() }
        return unsafe CrashSlot(slot, of: self)
    }

    /// Once a second: writes the file if a loop has been busy with one thing since the last call.
    func look() {
        turns.withLock { isClosed in
            guard !isClosed, let record = unsafe record else { return }
            unsafe crash_look(record)
        }
    }

    /// Removes the file, because the process ends cleanly.
    func end() {
        turns.withLock { isClosed in
            guard !isClosed, let record = unsafe record else { return }
            isClosed = true
            unsafe crash_close(record)
        }
    }

    /// Makes a fault that ends the process write the record. Once per process.
    static func catchFaults() { crash_catch_signals() }

    // MARK: Traces of the previous process

    static func traces(at path: String) -> [InterruptedWork] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return [] }
        defer { _ = close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: slots * slotBytes)
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe read(descriptor, $0.baseAddress, $0.count)
        }
        guard count > 0 else { return [] }
        return stride(from: 0, through: count - slotBytes, by: slotBytes).compactMap { start in
            interrupted(bytes[start..<(start + slotBytes)])
        }
    }

    private static func interrupted(_ bytes: ArraySlice<UInt8>) -> InterruptedWork? {
        work(in: unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: crash_slot.self) })
    }

    /// Nil if the slot has no work or is invalid.
    static func work(in slot: crash_slot) -> InterruptedWork? {
        guard slot.head == slot.tail, slot.head != 0, slot.action < HistoryPosition.limit,
            let work = CrashSlot.Work(rawValue: slot.work),
            let session = text(of: slot.session, slot.session_length),
            let reactor = text(of: slot.reactor, slot.reactor_length)
        else { return nil }
        return InterruptedWork(
            session: session, reactor: reactor, action: slot.action, trace: .loop(work))
    }

    /// Names consist of letters, digits, `-` and `_`; other bytes must not get into a log.
    private static func text(of field: some Any, _ length: UInt8) -> String? {
        let bytes = unsafe withUnsafeBytes(of: field) { unsafe Array($0.prefix(Int(length))) }
        let isName = bytes.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isName, bytes.count == Int(length), !bytes.isEmpty else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
