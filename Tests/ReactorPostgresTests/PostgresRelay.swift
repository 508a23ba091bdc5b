import Foundation
import PostgresRig
import Synchronization

/// A network between a journal and its database, that loses bytes on demand.
final class PostgresRelay: Sendable {
    enum Mode {
        /// Everything arrives.
        case passing
        /// Bytes of the client do not arrive.
        case swallowingRequests
        /// Bytes of the server do not arrive.
        case swallowingAnswers
    }

    private struct State {
        var mode = Mode.passing
        var pairs: [Pair] = []
        var swallowed = 0
        var listener: Int32
        /// The folder of the server to which new connections go.
        var target: String
        var isPooler = false
    }

    private struct Pair {
        var client: Int32
        var server: Int32
        /// A connection that was cut stays so.
        var isStalled = false
    }

    /// The folder of the relay's socket.
    let folder: String
    private let state: Mutex<State>

    init(to server: PostgresServer) throws {
        folder = "/tmp/reactor-relay-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        state = Mutex(State(listener: -1, target: server.folder))
        try listen()
    }

    deinit {
        close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    // MARK: Faults

    func become(_ mode: Mode) { state.withLock { $0.mode = mode } }

    /// Waits until something was swallowed since this mode began.
    func untilSwallowed() async {
        while state.withLock({ $0.swallowed }) == 0 { await Task.yield() }
    }

    /// Sends each new connection a wrong process number, as poolers do.
    func poseAsPooler() { state.withLock { $0.isPooler = true } }

    /// New connections go to another server; the present ones stay.
    func lead(to server: PostgresServer) { state.withLock { $0.target = server.folder } }

    /// Breaks all connections; new ones can be made.
    func cut() {
        state.withLock { state in
            for pair in state.pairs {
                _ = shutdown(pair.client, Int32(SHUT_RDWR))
                _ = shutdown(pair.server, Int32(SHUT_RDWR))
            }
            state.pairs = []
            state.swallowed = 0
        }
    }

    /// Nothing passes over the present connections any more, and neither end notices; new
    /// ones can be made.
    func stall() {
        state.withLock { state in
            for index in state.pairs.indices { state.pairs[index].isStalled = true }
        }
    }

    /// Breaks all connections, and refuses new ones.
    func close() {
        state.withLock { state in
            if state.listener >= 0 {
                _ = shutdown(state.listener, Int32(SHUT_RDWR))
                _ = Glibc.close(state.listener)
            }
            state.listener = -1
        }
        _ = unsafe unlink(path)
        cut()
    }

    func listen() throws {
        let descriptor = try unsafe Self.socket(path) { unsafe bind($0, $1, $2) }
        guard Glibc.listen(descriptor, 64) == 0 else {
            throw PostgresServer.Failure(description: "listen: \(errno)")
        }
        state.withLock { $0.listener = descriptor }
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0, let relay = self else { return }
                relay.serve(client)
            }
        }
    }

    private var path: String { "\(folder)/.s.PGSQL.5432" }

    private static func socket(
        _ path: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Int32 {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            unsafe bytes.copyBytes(from: path.utf8)
        }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe use(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            _ = Glibc.close(descriptor)
            throw PostgresServer.Failure(description: "\(path): \(errno)")
        }
        return descriptor
    }

    private func serve(_ client: Int32) {
        let path = "\(state.withLock { $0.target })/.s.PGSQL.5432"
        guard let server = try? unsafe Self.socket(path, { unsafe connect($0, $1, $2) }) else {
            _ = Glibc.close(client)
            return
        }
        state.withLock { $0.pairs.append(Pair(client: client, server: server)) }
        let isPooler = state.withLock { $0.isPooler }
        Self.pump(client, server) { [weak self] in self?.lets(.swallowingRequests, client) ?? false
        }
        Self.pump(server, client, changesProcess: isPooler) { [weak self] in
            self?.lets(.swallowingAnswers, client) ?? false
        }
    }

    /// Whether bytes pass, in the direction that this mode swallows.
    private func lets(_ swallowing: Mode, _ client: Int32) -> Bool {
        state.withLock { state in
            let isStalled = state.pairs.first { $0.client == client }?.isStalled ?? true
            guard isStalled || state.mode == swallowing else { return true }
            state.swallowed += 1
            return false
        }
    }

    /// Descriptors are not closed: others would get their numbers while the other
    /// direction uses them.
    private static func pump(
        _ from: Int32, _ to: Int32, changesProcess: Bool = false,
        _ lets: @escaping @Sendable () -> Bool
    ) {
        Thread.detachNewThread {
            var changes = changesProcess
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = unsafe read(from, &buffer, buffer.count)
                guard count > 0 else { break }
                guard lets() else { continue }
                // BackendKeyData: K, the length 12, the process, the key.
                if changes, let key = buffer[..<count].firstRange(of: [0x4b, 0, 0, 0, 12]) {
                    buffer[key.upperBound] ^= 0x40
                    changes = false
                }
                var sent = 0
                while sent < count {
                    let more = unsafe buffer.withUnsafeBytes { bytes in
                        unsafe send(
                            to, bytes.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL))
                    }
                    guard more > 0 else { break }
                    sent += more
                }
            }
            _ = shutdown(to, Int32(SHUT_RDWR))
        }
    }
}
