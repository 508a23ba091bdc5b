import Glibc

/// Two descriptors, what is written to one is read from the other; closed on exec. Whoever makes
/// a pair closes both.
///
/// A socket pair and not a pipe: pipe2(2), which closes on exec without a gap in which another
/// thread's child would inherit it, is not among what Swift's Glibc module shows.
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

/// The system would not.
struct SystemCallFailure: Error {
    var call: String
    /// `errno`.
    var code: Int32
}
