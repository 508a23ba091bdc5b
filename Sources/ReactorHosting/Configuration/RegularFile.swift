internal import Sockets

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Reads files that settings name.
enum RegularFile {
    static func contents(
        of path: String, limitBytes: Int
    ) throws(ConfigurationFailure) -> [UInt8] {
        // A pipe without a writer would block the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure("open", path, code: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw failure("fstat", path, code: errno)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw ConfigurationFailure(sentences: ["\(path): it is not a regular file"])
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe read(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read", path, code: errno) }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= limitBytes else {
                throw ConfigurationFailure(
                    sentences: ["\(path): it has more than \(limitBytes) bytes"])
            }
        }
    }

    private static func failure(
        _ call: String, _ path: String, code: Int32
    ) -> ConfigurationFailure {
        let failure = SystemFailure(operation: call, code: code)
        return ConfigurationFailure(sentences: ["\(path): \(failure)"])
    }
}
