#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A path in the form that socket calls require.
struct UnixAddress {
    private var address = sockaddr_un()

    /// Nil if the path does not fit, or is empty.
    init?(_ path: String) {
        let bytes = Array(path.utf8)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard !bytes.isEmpty, bytes.count < capacity, !bytes.contains(0) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    }

    /// Returns 0 or `errno`.
    func bind(_ descriptor: Int32) -> Int32 {
        unsafe withPointer { unsafe systemBind(descriptor, $0, $1) }
    }

    /// Returns 0 or `errno`.
    func connect(_ descriptor: Int32) -> Int32 {
        unsafe withPointer { unsafe systemConnect(descriptor, $0, $1) }
    }

    private func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        return unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, length) == 0 ? 0 : errno
            }
        }
    }
}

// Inside the type the calls' names would refer to the type's own methods.
private func systemBind(
    _ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
) -> Int32 {
    unsafe bind(descriptor, address, length)
}

private func systemConnect(
    _ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
) -> Int32 {
    unsafe connect(descriptor, address, length)
}
