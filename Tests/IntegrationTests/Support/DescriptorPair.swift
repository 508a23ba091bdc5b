import Glibc

/// Two connected descriptors: bytes written to one are read from the other; closed on exec. The
/// creator of a pair closes both.
///
/// A socket pair instead of a pipe: pipe2(2), which sets close-on-exec without a gap in which
/// another thread's child could inherit it, is not exposed by Swift's Glibc module.
struct DescriptorPair: Sendable {
    let reading: Int32
    let writing: Int32

    init(isBlocking: Bool = true) throws {
        var ends: [Int32] = [-1, -1]
        var kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        if !isBlocking { kind |= Int32(SOCK_NONBLOCK.rawValue) }
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw SystemCallFailure(call: "socketpair", code: errno)
        }
        reading = ends[0]
        writing = ends[1]
    }

    func close() {
        Glibc.close(reading)
        Glibc.close(writing)
    }
}

/// A failed system call.
struct SystemCallFailure: Error {
    var call: String
    /// `errno`.
    var code: Int32
}
