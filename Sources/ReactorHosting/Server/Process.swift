internal import Clustering

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The standard streams; each write is complete and unbuffered.
enum Standard {
    // Without a reader of the stream, a failure needs no report.
    static func out(_ text: String) { _ = send(Array(text.utf8), to: 1) }
    static func error(_ text: String) { error(Array(text.utf8)) }
    static func error(_ bytes: [UInt8]) { _ = send(bytes, to: 2) }

    /// After this call a vanished reader, of a log for instance, does not end the process: SIGPIPE
    /// is ignored, and writing fails with EPIPE. SIGUSR1, SIGUSR2 and SIGALRM are ignored, too:
    /// they have no meaning here, and their default would end the process without draining.
    static func ignoreStraySignals() {
        for number in [SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM] { signal(number, SIG_IGN) }
    }

    /// For output that is useless unless it is complete: returns `errno` if it could not be
    /// written, otherwise 0.
    static func put(_ bytes: [UInt8]) -> Int32 { send(bytes, to: 1) }

    /// Whether the reader of standard output, a pipe, is gone.
    static var hasLostReader: Bool {
        var entry = pollfd(fd: 1, events: 0, revents: 0)
        return unsafe poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLERR) != 0
    }

    /// Reads standard input by lines, without their ends.
    ///
    /// Why not `readLine`: it replaces bytes that are no UTF-8, so that nobody could refuse them.
    static func eachLine(_ act: ([UInt8]) throws -> Void) throws {
        let (lineFeed, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))
        var (line, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        func end() throws {
            if line.last == carriageReturn { line.removeLast() }
            try act(line)
            line.removeAll(keepingCapacity: true)
        }
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe read(0, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            var rest = buffer[..<count]
            while let feed = rest.firstIndex(of: lineFeed) {
                line += rest[..<feed]
                rest = rest[(feed + 1)...]
                try end()
            }
            line += rest
        }
        if !line.isEmpty { try end() }
    }

    private static func send(_ all: [UInt8], to descriptor: Int32) -> Int32 {
        var bytes = all[...]
        while !bytes.isEmpty {
            let written = unsafe bytes.withUnsafeBytes {
                unsafe write(descriptor, $0.baseAddress, $0.count)
            }
            if written < 0, errno == EINTR { continue }
            if written < 0, errno == EAGAIN, waitForRoom(descriptor) { continue }
            guard written > 0 else { return errno }
            bytes = bytes.dropFirst(written)
        }
        return 0
    }

    /// A stream is shared with other processes, and any of them may have made it non-blocking
    /// (fcntl(2), `O_NONBLOCK`): Node.js does so with the pipes of its children. Returns false if
    /// waiting is impossible.
    private static func waitForRoom(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&entry, 1, -1) >= 0 || errno == EINTR
    }
}

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

/// `RLIMIT_NOFILE`: a server needs a descriptor per connection, and the usual soft limit of 1024 is
/// intended for programs that use select(2).
enum DescriptorLimit {
    /// Descriptors reserved besides connections and one per loop: for the journal's files, the
    /// standard streams, and Dispatch. Dispatch opens a file of `/proc` occasionally to check
    /// whether its threads run, and ends the process if it gets no descriptor for that
    /// (libdispatch, `_dispatch_workq_count_runnable_workers`). Precedent: Redis reserves 32.
    static let kept = 64

    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// Raises the soft limit to the hard one; without permission it stays as it is.
    static func raise() {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(resource, &limit)
    }

    /// The number of descriptors that the process may have; without a limit the largest number.
    static var present: Int {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }

    /// The number of connections that clients of a process with `descriptors` can have;
    /// at least one.
    ///
    /// - Parameter links: See ``links(descriptors:loops:)``; 0 for a server that is no node.
    static func connections(
        descriptors: Int, loops: Int, operations: Int = 0, links: Int = 0
    ) -> Int {
        max(1, descriptors - kept - loops - operations - links)
    }

    /// Descriptors reserved for links and for peers that have not proved themselves. Without them,
    /// clients could keep a node from reaching the owner of any session.
    ///
    /// A node has a link to each loop of another node from each of its own, and as many in the
    /// other direction. They are reserved for seven other nodes with as many loops, but at most a
    /// quarter of the descriptors; beyond that links and clients compete.
    ///
    /// - Parameter loops: The loops that have sessions.
    static func links(descriptors: Int, loops: Int) -> Int {
        let (pairs, isTooMany) = loops.multipliedReportingOverflow(by: loops)
        guard !isTooMany, pairs < descriptors / (2 * reservedNodes) else { return descriptors / 4 }
        return min(2 * reservedNodes * pairs + LinkHandshakes.connectionLimit, descriptors / 4)
    }

    private static let reservedNodes = 7
}

/// `RLIMIT_AS`: a process that gets no memory for a thread's stack hangs in Dispatch, without a
/// message and without handling signals. Observed with a limit of 240 to 300 MB; the memory that is
/// really used is bounded by a container's limit, not by this one.
enum AddressSpaceLimit {
    /// With a lower limit the server refuses to start.
    static let least: UInt64 = 536_870_912

    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_AS.rawValue)
    #else
        private static let resource = RLIMIT_AS
    #endif

    /// A sentence about a limit that is too low; nil if it suffices.
    static var fault: String? {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return nil }
        return fault(UInt64(limit.rlim_cur))
    }

    static func fault(_ bytes: UInt64) -> String? {
        guard bytes < least else { return nil }
        return """
            the process may have \(bytes / 1_024) KiB of address space (ulimit -v); with less than \
            \(least / 1_024) it can hang for want of a thread
            """
    }
}
