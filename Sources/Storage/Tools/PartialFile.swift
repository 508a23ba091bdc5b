#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A file that is being made beside the place where it belongs, under a name of its own, and gets
/// its name when it is whole: whatever goes wrong, there is no half of it under that name.
///
/// One that was left behind by a process that was killed is made anew. Two processes never make
/// the same one: it is locked, with `flock`, by a descriptor that is opened before SQLite opens the
/// file and closed after SQLite has closed it (see ``JournalLock``).
final class PartialFile {
    /// Where it is made.
    let path: String
    private let name: String
    /// Nil once it has its name, or is gone.
    private var descriptor: Int32?

    /// - Throws: ``JournalFileFault``: there is a file of that name, somebody else is making it, or
    ///   the system refuses it.
    init(of name: String, suffix: String) throws(JournalFileFault) {
        self.name = name
        path = name + suffix
        guard FileIdentity(name) == nil else { throw .unusable("\(name) exists already") }
        let opened = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard opened >= 0 else { throw .unusable("\(path): \(FileIdentity.systemWords())") }
        guard Self.lock(opened),
            // Another process may have renamed it in between.
            FileIdentity(of: opened) == FileIdentity(path)
        else {
            close(opened)
            throw .unusable("\(path) is being written by another process")
        }
        descriptor = opened
        for beside in ["-wal", "-shm", "-journal"] { _ = unsafe unlink(path + beside) }
        guard ftruncate(opened, 0) == 0 else {
            abandon()
            throw .unusable("\(path): \(FileIdentity.systemWords())")
        }
    }

    deinit { abandon() }

    private static func lock(_ descriptor: Int32) -> Bool {
        #if os(Linux)
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        #else
            true
        #endif
    }

    /// It is whole, flushed and closed: gives it its name.
    ///
    /// - Throws: ``JournalFileFault``: there is a file of that name by now.
    func finish() throws(JournalFileFault) {
        defer { abandon() }
        try FileIdentity.move(path, to: name)
    }

    /// Leaves nothing behind. It must be closed, or never be written again.
    func abandon() {
        guard let opened = descriptor else { return }
        descriptor = nil
        // Not a file of that name that somebody else has begun.
        if FileIdentity(of: opened) == FileIdentity(path) { FileIdentity.remove(path) }
        close(opened)
    }
}
