#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The calls of the system that an outbox's file needs. Tests have a disk that fails and forgets.
protocol OutboxDisk: Sendable {
    /// Opens a file; nil if there is none.
    func open(_ path: String) throws(DiskFault) -> Int32?
    /// Makes an empty file that only this user can read, in place of one that is there.
    func create(_ path: String) throws(DiskFault) -> Int32
    func read(_ file: Int32, limit: Int) throws(DiskFault) -> [UInt8]
    func write(_ bytes: [UInt8], to file: Int32, at offset: Int) throws(DiskFault)
    func truncate(_ file: Int32, to length: Int) throws(DiskFault)
    func flush(_ file: Int32) throws(DiskFault)
    func rename(_ path: String, to new: String) throws(DiskFault)
    /// Returns when the names in the folder of the file are durable.
    func flushFolder(of path: String) throws(DiskFault)
    func remove(_ path: String)
    func close(_ file: Int32)
    func leads(_ path: String, to file: Int32) -> Bool
}

/// A call of the system that has failed.
struct DiskFault: Error, Equatable, CustomStringConvertible {
    let operation: String
    let code: Int32

    var description: String {
        "\(operation): " + (unsafe strerror(code).map { unsafe String(cString: $0) } ?? "\(code)")
    }
}

struct SystemDisk: OutboxDisk {
    func open(_ path: String) throws(DiskFault) -> Int32? {
        let file = openFile(path, O_RDWR | O_CLOEXEC, 0)
        if file >= 0 { return file }
        guard errno == ENOENT else { throw fault("open") }
        return nil
    }

    func create(_ path: String) throws(DiskFault) -> Int32 {
        let file = openFile(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw fault("create") }
        return file
    }

    func read(_ file: Int32, limit: Int) throws(DiskFault) -> [UInt8] {
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw fault("read") }
        guard status.st_size <= limit else {
            throw DiskFault(operation: "read", code: EFBIG)
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let more = unsafe bytes.withUnsafeMutableBytes { room in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[count...])
                return unsafe pread(file, rest.baseAddress, rest.count, off_t(count))
            }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw fault("read") }
            guard more > 0 else { break }
            count += more
        }
        return Array(bytes.prefix(count))
    }

    func write(_ bytes: [UInt8], to file: Int32, at offset: Int) throws(DiskFault) {
        var done = 0
        while done < bytes.count {
            let more = unsafe bytes.withUnsafeBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
                return unsafe pwrite(file, rest.baseAddress, rest.count, off_t(offset + done))
            }
            if more < 0, errno == EINTR { continue }
            guard more > 0 else { throw fault("write") }
            done += more
        }
    }

    func truncate(_ file: Int32, to length: Int) throws(DiskFault) {
        guard ftruncate(file, off_t(length)) == 0 else { throw fault("truncate") }
    }

    func flush(_ file: Int32) throws(DiskFault) {
        #if canImport(Darwin)
            // fsync(2) of Darwin leaves the data in the disk's own memory.
            if unsafe fcntl(file, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(file) == 0 else { throw fault("flush") }
    }

    func rename(_ path: String, to new: String) throws(DiskFault) {
        guard renameFile(path, new) else { throw fault("rename") }
    }

    func flushFolder(of path: String) throws(DiskFault) {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let file = openFile(folder, O_RDONLY | O_CLOEXEC, 0)
        guard file >= 0 else { throw fault("open the folder") }
        defer { closeFile(file) }
        guard fsync(file) == 0 else { throw fault("flush the folder") }
    }

    func remove(_ path: String) { _ = unsafe unlink(path) }

    func close(_ file: Int32) { closeFile(file) }

    func leads(_ path: String, to file: Int32) -> Bool {
        var (named, opened) = (stat(), stat())
        guard unsafe stat(path, &named) == 0, unsafe fstat(file, &opened) == 0 else { return false }
        return named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
    }

    private func fault(_ operation: String) -> DiskFault {
        DiskFault(operation: operation, code: errno)
    }
}

// Outside of the type, where the names of the system's functions are not those of methods.

private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
    unsafe open(path, flags, mode)
}

private func renameFile(_ path: String, _ new: String) -> Bool { unsafe rename(path, new) == 0 }

private func closeFile(_ file: Int32) { close(file) }
