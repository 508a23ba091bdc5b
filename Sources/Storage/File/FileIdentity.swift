internal import CFiles

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

struct FileIdentity: Equatable {
    private let device: UInt64
    private let inode: UInt64

    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(of descriptor: Int32) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
    }

    static func bytes(of path: String) -> Int? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return Int(status.st_size)
    }

    /// The free bytes on its disk for users other than root; nil if unknown.
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
    static func move(_ path: String, to name: String) throws(JournalFileFault) {
        let code = unsafe files_rename_new(path, name)
        guard [EINVAL, ENOSYS, EOPNOTSUPP, ENOTSUP].contains(code) else {
            guard code == 0 else { throw .unusable(moveWords(code, name)) }
            return
        }
        try moveInSteps(path, to: name)
    }

    /// For file systems that cannot do it in one step. Why a link: `rename` would replace a file
    /// that has appeared there meanwhile. If the process is killed in between, both names remain.
    private static func moveInSteps(_ path: String, to name: String) throws(JournalFileFault) {
        let code = unsafe link(path, name) == 0 ? 0 : errno
        guard code != 0 else {
            _ = unsafe unlink(path)
            return
        }
        // For file systems without links.
        guard [EPERM, EOPNOTSUPP, ENOTSUP, ENOSYS].contains(code) else {
            throw .unusable(moveWords(code, name))
        }
        guard FileIdentity(name) == nil else { throw .unusable(moveWords(EEXIST, name)) }
        guard unsafe rename(path, name) == 0 else { throw .unusable(systemWords()) }
    }

    private static func moveWords(_ code: Int32, _ name: String) -> String {
        code == EEXIST ? "\(name) exists already" : unsafe String(cString: strerror(code))
    }

    /// Flushes the folder of a file: after a power failure the file has its name.
    static func flushFolder(of path: String) throws(JournalFileFault) {
        let end = path.lastIndex(of: "/")
        let folder = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unusable("\(folder): \(systemWords())") }
        defer { close(descriptor) }
        // EINVAL: the file system cannot flush a folder (fsync(2)).
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw .unusable("\(folder): \(systemWords())")
        }
    }

    /// The system's message for the last call that failed.
    static func systemWords() -> String { unsafe String(cString: strerror(errno)) }
}
