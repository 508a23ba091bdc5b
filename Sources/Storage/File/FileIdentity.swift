#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The identity of the file at a path.
struct FileIdentity: Equatable {
    private let device: UInt64
    private let inode: UInt64

    /// Nil if there is no file.
    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Nil if there is no file.
    init?(of descriptor: Int32) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// The free bytes on its disk for users other than root; nil if the system does not report
    /// them.
    static func freeBytes(besides path: String) -> Int? {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        return Int(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
    }

    /// Removes a file and the files that SQLite keeps beside it, if they exist.
    static func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { _ = unsafe unlink(path + suffix) }
    }

    /// Renames a complete file to `name`, unless a file of that name exists.
    ///
    /// Why a link: `rename` would replace a file that appeared there meanwhile.
    static func move(_ path: String, to name: String) throws(JournalFileFault) {
        if unsafe link(path, name) == 0 {
            _ = unsafe unlink(path)
            return
        }
        guard errno != EEXIST else { throw .unusable("\(name) exists already") }
        // For file systems without links.
        guard [EPERM, EOPNOTSUPP, ENOTSUP, ENOSYS].contains(errno) else {
            throw .unusable(systemWords())
        }
        guard FileIdentity(name) == nil else { throw .unusable("\(name) exists already") }
        guard unsafe rename(path, name) == 0 else { throw .unusable(systemWords()) }
    }

    /// The system's message for the last call that failed.
    static func systemWords() -> String { unsafe String(cString: strerror(errno)) }
}
