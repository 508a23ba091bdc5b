#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A file that is written under a temporary name and renamed when it is complete, so that a failure
/// never leaves half a file under the final name.
///
/// The partial file of a killed process is overwritten. Two processes never write the same one: it
/// is locked, with `flock`, by a descriptor that is opened before SQLite opens the file and closed
/// after SQLite has closed it (see ``JournalLock``).
final class PartialFile {
    /// The temporary path.
    let path: String
    private let name: String
    /// Nil once the file is renamed or removed.
    private var descriptor: Int32?

    /// - Throws: ``JournalFileFault``: a file of that name exists, another process is writing it,
    ///   or the system refuses it.
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

    /// Renames the file, which must be complete, flushed and closed.
    ///
    /// - Throws: ``JournalFileFault``: a file of that name exists by now.
    func finish() throws(JournalFileFault) {
        defer { abandon() }
        try FileIdentity.move(path, to: name)
    }

    /// Removes the file. It must be closed, or never be written again.
    func abandon() {
        guard let opened = descriptor else { return }
        descriptor = nil
        // Not if another process has started a file of that name.
        if FileIdentity(of: opened) == FileIdentity(path) { FileIdentity.remove(path) }
        close(opened)
    }
}
