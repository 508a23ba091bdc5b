internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Makes this process a journal's only writer: locks on `<file>.lock` and, on Linux, on the file.
///
/// Why a separate file: it names the holder, and it exists when the journal itself is moved. Why
/// the journal as well: a hard link, or a mount, gives one file two paths, each with its own lock
/// file, and one of two writers would overwrite the other's acknowledged data.
///
/// Both use `flock`. It belongs to the open file, so a second journal in this process is refused
/// too, and ends with the process. On Linux it is independent of SQLite's locks on ranges;
/// elsewhere the two collide. The lock file stays: removing it would let two processes hold it.
///
/// The first line of the lock file is the holder's process id, the second one a ``MarkNote``.
final class JournalLock: Sendable {
    private let name: String
    /// Nil once it is released.
    private let descriptor: Mutex<Int32?>
    private let noted: Mutex<MarkNote?>
    /// The descriptor of the journal itself; nil once released, and if the journal is not locked.
    ///
    /// Invariant: never closed while SQLite has the file open in this process. SQLite's locks are
    /// POSIX locks, which closing *any* descriptor of the file drops (fcntl(2)).
    private let journal: Mutex<Int32?>

    /// Creates the lock file if it does not exist. Throws `locked`, with the holder's process id if
    /// known, or `unusable`.
    init(for path: String) throws(JournalFileFault) {
        name = Self.file(path) + ".lock"
        let taken = try Self.acquire(name)
        let note = Self.contents(of: taken).note
        Self.write(note, to: taken)
        noted = Mutex(note)
        do {
            journal = Mutex(try Self.takeJournal(path))
        } catch {
            Self.unlock(taken)
            throw error
        }
        descriptor = Mutex(taken)
    }

    private static func acquire(_ name: String) throws(JournalFileFault) -> Int32 {
        let descriptor = unsafe open(name, O_RDWR | O_CREAT | O_CLOEXEC, FileMode.ofOwner)
        guard descriptor >= 0 else { throw .unusable("\(name): \(words(errno))") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            let holder = contents(of: descriptor).holder
            shut(descriptor)
            throw code == EWOULDBLOCK
                ? .locked(by: holder) : .unusable("\(name): \(words(code))")
        }
        // Everybody may lock a file of an earlier release. This fails for another user's file.
        fchmod(descriptor, FileMode.ofOwner)
        return descriptor
    }

    /// The holder's process id is for the error message; the lock itself does not depend on it.
    /// Returns whether it is on disk.
    @discardableResult
    private static func write(_ note: MarkNote?, to descriptor: Int32) -> Bool {
        let text = Array("\(getpid())\n\(note.map { $0.line + "\n" } ?? "")".utf8)
        let count = unsafe text.withUnsafeBytes { bytes in
            unsafe pwrite(descriptor, bytes.baseAddress, bytes.count, 0)
        }
        ftruncate(descriptor, off_t(max(count, 0)))
        return count == text.count && fsync(descriptor) == 0
    }

    /// The note in the lock file beside a journal; nil if there is none.
    static func recorded(beside path: String) -> MarkNote? {
        let descriptor = unsafe open(file(path) + ".lock", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { shut(descriptor) }
        return contents(of: descriptor).note
    }

    /// Notes which marks the database may have; nil: any. Returns whether the note is on disk.
    func record(_ note: MarkNote?) -> Bool {
        noted.withLock { $0 = note }
        return descriptor.withLock { held in held.map { Self.write(note, to: $0) } ?? false }
    }

    var note: MarkNote? { noted.withLock { $0 } }

    private static func takeJournal(_ path: String) throws(JournalFileFault) -> Int32? {
        #if os(Linux)
            // SQLite gives its log and its index the same mode.
            let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, FileMode.ofOwner)
            guard descriptor >= 0 else { throw .unusable(words(errno)) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                // It stays open: this process may have the journal open under another path.
                throw errno == EWOULDBLOCK ? .locked(by: nil) : .unusable(words(errno))
            }
            return descriptor
        #else
            return nil
        #endif
    }

    /// Whether the lock file is still there: without it another process could acquire a lock.
    var isHeld: Bool {
        descriptor.withLock { held in
            held.map { FileIdentity(of: $0) == FileIdentity(name) } ?? false
        }
    }

    /// Locks the file again if it was removed; returns nil if the lock is held afterwards.
    func regain() -> JournalFailure? {
        guard !isHeld else { return nil }
        do {
            let fresh = try Self.acquire(name)
            Self.write(note, to: fresh)
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

    /// Releases the journal for other processes.
    ///
    /// - Parameter isClosed: Whether SQLite has closed it; if not, a descriptor stays open.
    func release(isClosed: Bool = true) {
        let journal = self.journal.withLock { $0.take() }
        if let journal {
            flock(journal, LOCK_UN)
            if isClosed { Self.shut(journal) }
        }
        if let held = descriptor.withLock({ $0.take() }) { Self.unlock(held) }
    }

    private static func unlock(_ descriptor: Int32) {
        // Not by `close` alone: a child between fork and exec still has the file open.
        flock(descriptor, LOCK_UN)
        shut(descriptor)
    }

    /// The resolved path, so that two symbolic links to a file share one lock.
    static func file(_ path: String) -> String {
        guard let found = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    private static let limitBytes = 512

    private static func contents(of descriptor: Int32) -> (holder: Int32?, note: MarkNote?) {
        var bytes = [UInt8](repeating: 0, count: limitBytes)
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe pread(descriptor, $0.baseAddress, $0.count, 0)
        }
        let lines = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        return (
            lines.first.flatMap { Int32($0) },
            lines.dropFirst().first.flatMap { MarkNote(line: $0) }
        )
    }

    private static func shut(_ descriptor: Int32) { close(descriptor) }

    private static func words(_ code: Int32) -> String { unsafe String(cString: strerror(code)) }
}
