#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Makes this process the only writer of a journal: an advisory lock on `<file>.lock`.
///
/// Why a file of its own: SQLite's locks on the database are POSIX locks of the process, which
/// closing any other descriptor of that file would drop. `flock` belongs to the open file, so a
/// second journal in this process is refused too, and the kernel lets go of it when the process
/// ends, however it ends.
final class JournalLock: Sendable {
    private let descriptor: Int32

    /// - Throws: `locked`, with the holder's process id, or `unusable`.
    init(for path: String) throws(JournalFileFault) {
        let name = path + ".lock"
        descriptor = unsafe open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw .unusable("\(name): \(Self.error())") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            let holder = Self.holder(descriptor)
            close(descriptor)
            throw code == EWOULDBLOCK
                ? .locked(by: holder)
                : .unusable("\(name): \(unsafe String(cString: strerror(code)))")
        }
        let text = "\(getpid())\n"
        ftruncate(descriptor, 0)
        // For people and the sentence above; the lock itself does not depend on it.
        _ = unsafe text.withCString { unsafe pwrite(descriptor, $0, strlen($0), 0) }
    }

    deinit { close(descriptor) }

    private static func holder(_ descriptor: Int32) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe pread(descriptor, $0.baseAddress, $0.count, 0)
        }
        guard count > 0 else { return nil }
        return Int32(String(decoding: bytes[..<count].prefix { $0 != 0x0A }, as: UTF8.self))
    }

    private static func error() -> String { unsafe String(cString: strerror(errno)) }
}
