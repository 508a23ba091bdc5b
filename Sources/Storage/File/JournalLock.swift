internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Makes this process the only writer of a journal: an advisory lock on `<file>.lock`.
///
/// Why a file of its own: SQLite's locks on the database are POSIX locks of the process, which
/// closing any other descriptor of that file would drop. `flock` belongs to the open file, so a
/// second journal in this process is refused too, and the kernel lets go of it when the process
/// ends, however it ends. The lock's file stays: removing it would let two hold it.
final class JournalLock: Sendable {
    private let name: String
    /// Nil once it was released.
    private let descriptor: Mutex<Int32?>

    /// - Throws: `locked`, with the holder's process id, or `unusable`.
    init(for path: String) throws(JournalFileFault) {
        name = Self.file(path) + ".lock"
        descriptor = Mutex(try Self.take(name))
    }

    private static func take(_ name: String) throws(JournalFileFault) -> Int32 {
        let descriptor = unsafe open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw .unusable("\(name): \(words(errno))") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            let holder = holder(descriptor)
            shut(descriptor)
            throw code == EWOULDBLOCK
                ? .locked(by: holder) : .unusable("\(name): \(words(code))")
        }
        // For people and the sentence above; the lock itself does not depend on it.
        let text = Array("\(getpid())\n".utf8)
        ftruncate(descriptor, 0)
        _ = unsafe text.withUnsafeBytes { bytes in
            unsafe pwrite(descriptor, bytes.baseAddress, bytes.count, 0)
        }
        return descriptor
    }

    /// Whether the file that says so is still there: without it another process could take a lock.
    var isHeld: Bool {
        descriptor.withLock { held in
            held.map { FileIdentity(of: $0) == FileIdentity(name) } ?? false
        }
    }

    /// Locks the file of that name again, if it was removed; nil if it is held then.
    func regain() -> JournalFailure? {
        guard !isHeld else { return nil }
        do {
            let fresh = try Self.take(name)
            let old = descriptor.withLock { held in
                defer { held = fresh }
                return held
            }
            if let old { Self.shut(old) }
            return nil
        } catch {
            return JournalFailure(error, systemCode: 0)
        }
    }

    deinit { release() }

    func release() {
        let held = descriptor.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        guard let held else { return }
        // Said, not left to `close`: a child between fork and exec still has the open file.
        flock(held, LOCK_UN)
        Self.shut(held)
    }

    /// What the path leads to, so that two links to a file have one lock.
    private static func file(_ path: String) -> String {
        guard let found = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    private static func holder(_ descriptor: Int32) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe pread(descriptor, $0.baseAddress, $0.count, 0)
        }
        guard count > 0 else { return nil }
        return Int32(String(decoding: bytes[..<count].prefix { $0 != 0x0A }, as: UTF8.self))
    }

    private static func shut(_ descriptor: Int32) { close(descriptor) }

    private static func words(_ code: Int32) -> String { unsafe String(cString: strerror(code)) }
}
