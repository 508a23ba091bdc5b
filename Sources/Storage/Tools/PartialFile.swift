#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A file that is written under a temporary name and renamed when it is complete, so that a failure
/// never leaves half a file under the final name.
///
/// The partial file of a killed process is removed, and never written to: it may be another name of
/// a complete file. Two processes never write the same one: a descriptor with a `flock` is open for
/// longer than SQLite's (see ``JournalLock``).
final class PartialFile {
    let path: String
    private let name: String
    private let flushFolder: (String) throws(JournalFileFault) -> Void
    /// Nil once the file is renamed or removed.
    private var descriptor: Int32?

    /// - Throws: ``JournalFileFault``: it exists, another process writes it, or the system refuses.
    init(
        of name: String, suffix: String,
        flushFolder: @escaping (String) throws(JournalFileFault) -> Void =
            FileIdentity.flushFolder(of:)
    ) throws(JournalFileFault) {
        self.name = name
        self.flushFolder = flushFolder
        path = name + suffix
        // SQLite would apply an old log to the new file.
        for other in [name, name + "-wal", name + "-journal"] {
            guard FileIdentity(other) == nil else { throw .unusable("\(other) exists already") }
        }
        try removeLeftover()
        let opened = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FileMode.ofOwner)
        guard opened >= 0 else {
            if errno == EEXIST { throw otherWriter }
            throw .unusable("\(path): \(FileIdentity.systemWords())")
        }
        try lock(opened)
        descriptor = opened
        for beside in ["-wal", "-shm", "-journal"] { _ = unsafe unlink(path + beside) }
    }

    private func removeLeftover() throws(JournalFileFault) {
        let left = unsafe open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard left >= 0 else {
            if errno == ENOENT { return }
            throw .unusable("\(path): \(FileIdentity.systemWords())")
        }
        try lock(left)
        _ = unsafe unlink(path)
        close(left)
    }

    /// Closes the file and throws if another process holds, or has renamed or removed it.
    private func lock(_ opened: Int32) throws(JournalFileFault) {
        guard Self.isLocked(opened), FileIdentity(of: opened) == FileIdentity(path) else {
            close(opened)
            throw otherWriter
        }
    }

    private var otherWriter: JournalFileFault {
        .unusable("\(path) is being written by another process")
    }

    deinit { abandon() }

    private static func isLocked(_ descriptor: Int32) -> Bool {
        #if os(Linux)
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        #else
            true
        #endif
    }

    /// Renames the file, which must be complete, flushed and closed, and flushes its new name.
    /// Throws ``JournalFileFault``: it exists by now, or may be lost by a power failure.
    func finish() throws(JournalFileFault) {
        defer { abandon() }
        try FileIdentity.move(path, to: name)
        try flushFolder(name)
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
