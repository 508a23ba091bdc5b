#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Makes a store an outbox's only one: `flock` on `<file>.lock`, with the process's number.
///
/// Why a file of its own: the outbox's file is replaced when it is rewritten. It stays, since
/// removing it would let two processes hold it. The kernel releases the lock when the process
/// ends, in any way.
struct OutboxLock: Sendable {
    private let file: Int32

    /// - Throws: if another store, of this process or of another, has the file.
    init(for path: String) throws(OutboxUnavailable) {
        let name = path + ".lock"
        file = unsafe open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            let fault = DiskFault(operation: "open", code: errno)
            throw OutboxUnavailable("the outbox \(path) cannot be locked: \(fault)")
        }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let fault = DiskFault(operation: "lock", code: errno)
            let holder = Self.holder(file)
            close(file)
            throw fault.code == EWOULDBLOCK
                ? OutboxUnavailable("the outbox \(path) is in use by \(holder)")
                : OutboxUnavailable("the outbox \(path) cannot be locked: \(fault)")
        }
        // For the message above; the lock itself does not depend on it.
        let text = Array("\(getpid())\n".utf8)
        ftruncate(file, 0)
        _ = unsafe text.withUnsafeBytes { unsafe pwrite(file, $0.baseAddress, $0.count, 0) }
    }

    func release() {
        // Unlocked explicitly and not by `close`: a child between fork and exec still has
        // the open file.
        flock(file, LOCK_UN)
        close(file)
    }

    private static func holder(_ file: Int32) -> String {
        var room = [UInt8](repeating: 0, count: 20)
        let count = unsafe room.withUnsafeMutableBytes {
            unsafe pread(file, $0.baseAddress, $0.count, 0)
        }
        let text = String(decoding: room.prefix(max(count, 0)), as: UTF8.self)
        guard let number = Int32(text.prefix { $0 != "\n" }) else { return "another process" }
        return number == getpid() ? "this process" : "process \(number)"
    }
}
