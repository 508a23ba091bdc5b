#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The standard streams, written at once and whole.
enum Standard {
    static func out(_ text: String) { write(text, to: 1) }
    static func error(_ text: String) { write(text, to: 2) }

    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = unsafe bytes.withUnsafeBytes {
                unsafe platformWrite(descriptor, $0.baseAddress, $0.count)
            }
            // Nobody reads the stream any more: there is nobody to tell.
            guard written > 0 else { return }
            bytes = bytes.dropFirst(written)
        }
    }

    private static func platformWrite(
        _ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int
    ) -> Int {
        #if canImport(Glibc)
            unsafe Glibc.write(descriptor, bytes, count)
        #else
            unsafe Darwin.write(descriptor, bytes, count)
        #endif
    }
}

/// The process's environment.
enum ProcessEnvironment {
    static var variables: [String: String] {
        var variables: [String: String] = [:]
        var entry = unsafe environ
        while let text = unsafe entry.pointee {
            let pair = unsafe String(cString: text)
            if let equals = pair.firstIndex(of: "=") {
                variables[String(pair[..<equals])] = String(pair[pair.index(after: equals)...])
            }
            unsafe entry += 1
        }
        return variables
    }
}

/// `RLIMIT_NOFILE`: a server needs a descriptor for each connection, and the usual soft limit of
/// 1024 is for programs that use select(2).
enum DescriptorLimit {
    /// Raises the soft limit to the hard one; it stays as it is where that is not allowed.
    static func raise() {
        var limit = rlimit()
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        guard unsafe getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(resource, &limit)
    }
}
