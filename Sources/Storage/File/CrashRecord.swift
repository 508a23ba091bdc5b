internal import CCrash
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The slots of all loops, beside a journal: `<file>.running`, which is there only once a process
/// has ended in the middle of something, or while a loop does not get on.
///
/// Why unchecked: the pointer is constant. Each slot is its loop's, the list of records is atomic,
/// and `look` and `end` take turns.
@safe final class CrashRecord: @unchecked Sendable {
    /// Loops beyond this number are not recorded.
    private static let slots = 64
    private static let slotBytes = MemoryLayout<crash_slot>.size

    /// Nil: there was no room for it, and nothing is recorded.
    private let record: OpaquePointer?
    // Why a lock: a look that is under way would write the file behind the one that removes it.
    private let turns = Mutex(false)
    private let taken = Atomic<Int>(0)
    /// The traces that the last process has left.
    let found: [InterruptedWork]

    /// Reads what the last process has left, and removes it.
    ///
    /// - Precondition: the journal's lock is held.
    init(beside path: String) {
        let path = JournalLock.file(path) + ".running"
        found = Self.left(at: path)
        _ = unsafe unlink(path)
        unsafe record = crash_open(path, Int32(Self.slots))
    }

    deinit {
        end()
        unsafe record.map { unsafe crash_free($0) }
    }

    /// The next loop's.
    func takeSlot() -> CrashSlot {
        let index = taken.wrappingAdd(1, ordering: .relaxed).oldValue
        guard let record = unsafe record, index < Self.slots,
            let slot = unsafe crash_slot_at(record, Int32(index))
        else { return CrashSlot() }
        return unsafe CrashSlot(slot, of: self)
    }

    /// Once a second: writes down what a loop has been busy with since the last time.
    func look() {
        turns.withLock { isClosed in
            guard !isClosed, let record = unsafe record else { return }
            unsafe crash_look(record)
        }
    }

    /// The process ends cleanly.
    func end() {
        turns.withLock { isClosed in
            guard !isClosed, let record = unsafe record else { return }
            isClosed = true
            unsafe crash_close(record)
        }
    }

    /// From now on, what ends the process by a fault leaves a record. Once for a process.
    static func catchFaults() { crash_catch_signals() }

    // MARK: What was left

    private static func left(at path: String) -> [InterruptedWork] {
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

    /// Nil: nothing, or it can't be believed.
    private static func interrupted(_ bytes: ArraySlice<UInt8>) -> InterruptedWork? {
        let slot = unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: crash_slot.self) }
        guard slot.head == slot.tail, slot.head != 0, slot.action < HistoryPosition.limit,
            let work = CrashSlot.Work(rawValue: slot.work),
            let session = text(of: slot.session, slot.session_length),
            let reactor = text(of: slot.reactor, slot.reactor_length)
        else { return nil }
        return InterruptedWork(
            session: session, reactor: reactor, action: slot.action, trace: .loop(work))
    }

    /// Names are of letters, digits, `-` and `_`; anything else is no name, and not for a log.
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
