import CFaultyDisk

/// The disk under a rig's files, which fails on demand.
struct FaultyDisk {
    enum Operation { case write, flush, open }

    /// SQLite's result codes.
    enum Fault: Int32 {
        /// SQLITE_FULL.
        case full = 13
        /// SQLITE_IOERR_FSYNC.
        case flush = 1034
        /// SQLITE_IOERR_WRITE.
        case write = 778
        /// SQLITE_CANTOPEN.
        case open = 14
    }

    private let path: String

    /// Once for the process, before its first connection: the failing disk is there for all.
    private static let install: Void = faulty_install()

    init(under path: String) {
        Self.install
        self.path = path
        _ = flushes
    }

    /// All such operations fail from the `skip`-th on.
    func fail(_ operation: Operation, with fault: Fault, after skip: Int = 0) {
        unsafe faulty_begin(path, Self.word(operation), skip, fault.rawValue)
    }

    /// The system's code for what fails.
    func report(systemCode: Int32) { unsafe faulty_system_code(path, systemCode) }

    /// The `skip`-th flush of the database itself is refused, and its writes are lost.
    func loseUnflushed(after skip: Int) {
        unsafe faulty_lose(path, skip, Fault.flush.rawValue)
    }

    var hasLost: Bool { unsafe faulty_has_lost(path) != 0 }

    /// Flushes hang until `heal()`.
    func stall() { unsafe faulty_stall(path) }

    var isStalled: Bool { unsafe faulty_is_stalled(path) != 0 }

    /// Ends the stall only: other faults stay.
    func endStall() { unsafe faulty_go_on(path) }

    func heal() { unsafe faulty_end(path) }

    /// Completed flushes of the write-ahead log.
    var flushes: Int { unsafe faulty_count(path + "-wal", FAULTY_SYNC) }

    private static func word(_ operation: Operation) -> faulty_operation {
        switch operation {
        case .write: FAULTY_WRITE
        case .flush: FAULTY_SYNC
        case .open: FAULTY_OPEN
        }
    }
}
