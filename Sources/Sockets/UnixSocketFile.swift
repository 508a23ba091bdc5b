// A Unix socket is also a file, which outlives its process. A crashed run leaves a file without a
// listener, which is replaced; a file with a listener belongs to a running server and is not
// touched, nor is a file that is not a socket. If two servers start on the same stale file at the
// same moment, both can believe that they own it; do not start two servers on one path.
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

struct UnixSocketFile {
    let descriptor: Int32
    let path: String
    /// Identifies the file, so that another file at the same path is not removed.
    private let device: UInt64
    private let inode: UInt64

    /// Binds a new socket to `path` with permission bits `mode`. No client can connect before it
    /// listens, so the bits apply to every client.
    init(path: String, mode: UInt16) throws(SystemFailure) {
        let address = try SocketAddress.unix(path)
        let descriptor = try ListeningSocket.open(AF_UNIX)
        do throws(SystemFailure) {
            try Self.bind(descriptor, address, path)
            guard unsafe chmod(path, mode_t(mode)) == 0, let status = Self.status(of: path) else {
                let code = errno
                _ = unsafe unlink(path)
                throw SystemFailure(operation: "chmod", code: code, detail: path)
            }
            self.descriptor = descriptor
            self.path = path
            self.device = UInt64(truncatingIfNeeded: status.st_dev)
            self.inode = UInt64(status.st_ino)
        } catch {
            SocketCalls.close(descriptor)
            throw error
        }
    }

    /// Removes the file, if it is still the one that this value made.
    func remove() {
        guard let status = Self.status(of: path),
            UInt64(truncatingIfNeeded: status.st_dev) == device, UInt64(status.st_ino) == inode
        else { return }
        _ = unsafe unlink(path)
    }

    private static func bind(
        _ descriptor: Int32, _ address: SocketAddress, _ path: String
    ) throws(SystemFailure) {
        var code = address.bind(descriptor)
        if code == EADDRINUSE, try isStale(address, path) {
            _ = unsafe unlink(path)
            code = address.bind(descriptor)
        }
        guard code == 0 else { throw SystemFailure(operation: "bind", code: code, detail: path) }
    }

    private static func isStale(
        _ address: SocketAddress, _ path: String
    ) throws(SystemFailure) -> Bool {
        guard let status = status(of: path), status.st_mode & S_IFMT == S_IFSOCK else {
            return false
        }
        let probe = try ListeningSocket.open(AF_UNIX)
        defer { SocketCalls.close(probe) }
        return address.connect(probe) == ECONNREFUSED
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status : nil
    }
}
