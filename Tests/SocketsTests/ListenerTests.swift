import Dispatch
import Glibc
import Synchronization
import Testing

@testable import Sockets

extension Loops {
    @Suite("A listener accepts the permitted peers and no others", .timeLimit(.minutes(60)))
    struct ListenerTests {
        static let echo = Scripted.Script(
            opened: { handler, _, peer in handler.say("peer \(peer.host)") },
            received: { $0.send($1, $2) },
            peerFinished: { handler, id in handler.table.close(id, .now) })

        private func port(of address: ListenAddress) throws -> UInt16 {
            guard case .tcp(_, let port) = address else { throw Host.Ended() }
            return port
        }

        private func check(_ client: Client) {
            client.send("hello")
            #expect(client.receiveText(5) == "hello")
        }

        @Test(arguments: PollerKind.allCases, ["127.0.0.1", "::1", "localhost"])
        func `it listens at an address or a name and reports the real port`(
            _ poller: PollerKind, _ name: String
        ) async throws {
            let host = try Host(poller, at: .tcp(host: name, port: 0), Self.echo)
            let bound = try #require(host.listener).boundAddress
            #expect(try port(of: bound) != 0)
            check(try Client(to: bound))
            try await host.until(.said(name == "::1" ? "peer ::1" : "peer 127.0.0.1"))
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `the IPv6 wildcard accepts IPv4 peers under their own address`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, at: .tcp(host: "::", port: 0), Self.echo)
            let port = try port(of: try #require(host.listener).boundAddress)
            check(try Client(to: .tcp(host: "127.0.0.1", port: port)))
            try await host.until(.said("peer 127.0.0.1"))
            check(try Client(to: .tcp(host: "::1", port: port)))
            try await host.until(.said("peer ::1"))
            await host.end()
        }

        @Test func `the kernel gives up an accepted peer that acknowledges nothing`() throws {
            let listening = try ListeningSocket(binding: .tcp(host: "127.0.0.1", port: 0))
            defer { listening.close() }
            listening.giveUp(after: .seconds(35))
            try listening.listen(backlog: 1)
            let client = try Client(to: listening.address)
            var accepted = SocketCalls.accept(listening.descriptor)
            while case .failure(let error) = accepted, error.code == EAGAIN {
                accepted = SocketCalls.accept(listening.descriptor)
            }
            let descriptor = try accepted.get().descriptor
            defer { SocketCalls.close(descriptor) }
            var (milliseconds, length) = (UInt32(0), socklen_t(MemoryLayout<UInt32>.size))
            let result = unsafe getsockopt(
                descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, &length)
            #expect(result == 0)
            #expect(milliseconds == 35_000)
            withExtendedLifetime(client) {}
        }

        @Test func `a port in use is a failure that names its address`() async throws {
            let host = try Host(.platformDefault)
            let bound = try #require(host.listener).boundAddress
            let failure = #expect(throws: SystemFailure.self) {
                try Listener(try BoundSocket(bound), loops: host.loops, maximumConnections: 1)
            }
            #expect(failure?.operation == "bind" || failure?.operation == "listen")
            #expect(failure?.code == EADDRINUSE)
            #expect(failure?.detail == bound.description)
            await host.end()
        }

        @Test(arguments: ["", "no such host", "999.1.1.1", "host.invalid"])
        func `a name that does not resolve is a failure`(_ name: String) async throws {
            let host = try Host(.platformDefault, at: nil)
            let failure = #expect(throws: SystemFailure.self) {
                try Listener(
                    try BoundSocket(.tcp(host: name, port: 0)), loops: host.loops,
                    maximumConnections: 1)
            }
            #expect(failure?.operation == "getaddrinfo")
            #expect(failure?.message.isEmpty == false)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `small responses are sent at once`(_ poller: PollerKind) async throws {
            let host = try Host(poller)
            let client = try host.connect()
            let id = try await host.opened()
            let option = await host.on { handler in
                var value: Int32 = 0
                var length = socklen_t(MemoryLayout<Int32>.size)
                let descriptor = handler.table.slots[Int(id.slot)].descriptor
                unsafe getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &value, &length)
                return value
            }
            #expect(option != 0)
            withExtendedLifetime(client) {}
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `connections are spread over the loops in turn`(_ poller: PollerKind) async throws {
            let host = try Host(poller, loops: 3, Self.echo)
            let clients = try (0..<12).map { _ in try host.connect() }
            for client in clients { check(client) }
            #expect(host.loops.map(\.connections) == [4, 4, 4])
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `at the limit new connections are reset and old ones stay`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, loops: 2, limit: 3, Self.echo)
            var clients = try (0..<3).map { _ in try host.connect() }
            for client in clients { check(client) }
            for _ in 0..<5 {
                let refused = try host.connect()
                #expect(refused.receiveAll().ending == .failed(ECONNRESET))
            }
            for client in clients { check(client) }
            // One connection leaves, and there is room for one.
            clients.removeLast().finishWriting()
            while host.loops.reduce(0, { $0 + $1.connections }) > 2 { await Task.yield() }
            check(try host.connect())
            await host.end()
        }

        // Without the last look it would be reset.
        @Test(arguments: PollerKind.allCases)
        func `a connection that comes while the listener closes is served`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, Self.echo)
            let late = Mutex<Client?>(nil)
            let gate = DispatchSemaphore(value: 0)
            host.loop.queue.async { gate.wait() }
            host.listener?.close()
            // After the close, and before the descriptor is closed.
            host.loop.queue.async {
                let client = try? host.connect()
                late.withLock { $0 = client }
            }
            gate.signal()
            await host.listener?.untilClosed()
            check(try #require(late.withLock { $0 }))
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `after close new connections are refused and open ones stay`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, Self.echo)
            let listener = try #require(host.listener)
            let client = try host.connect()
            check(client)
            listener.close()
            listener.close()
            await listener.untilClosed()
            let failure = #expect(throws: SystemFailure.self) { try host.connect() }
            #expect(failure?.code == ECONNREFUSED)
            check(client)
            await host.end()
        }
    }

    @Suite("A Unix socket is a file with the lifetime of its listener", .timeLimit(.minutes(60)))
    struct UnixSocketTests {
        @Test(arguments: PollerKind.allCases, [UInt16(0o600), 0o660, 0o666])
        func `it serves, has the requested permissions, and is removed at the end`(
            _ poller: PollerKind, _ mode: UInt16
        ) async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path + "/s"
            let host = try Host(poller, at: .unix(path: path, mode: mode), ListenerTests.echo)
            #expect(host.listener?.boundAddress == .unix(path: path, mode: mode))
            #expect(permissions(path) == mode)
            let client = try host.connect()
            client.send("hello")
            #expect(client.receiveText(5) == "hello")
            try await host.until(.said("peer local"))
            await host.end()
            #expect(permissions(path) == nil)
        }

        @Test func `a socket file left by a crash is replaced`() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path + "/s"
            let crashed = try UnixSocketFile(path: path, mode: 0o600)
            close(crashed.descriptor)
            #expect(permissions(path) != nil)
            let host = try Host(.platformDefault, at: .unix(path: path), ListenerTests.echo)
            let client = try host.connect()
            client.send("hello")
            #expect(client.receiveText(5) == "hello")
            await host.end()
        }

        @Test func `a running server's socket file is left alone`() async throws {
            let directory = try TemporaryDirectory()
            let address = ListenAddress.unix(path: directory.path + "/s")
            let host = try Host(.platformDefault, at: address, ListenerTests.echo)
            let failure = #expect(throws: SystemFailure.self) {
                try Listener(try BoundSocket(address), loops: host.loops, maximumConnections: 1)
            }
            #expect(failure?.code == EADDRINUSE)
            let client = try host.connect()
            client.send("hello")
            #expect(client.receiveText(5) == "hello")
            await host.end()
        }

        @Test func `a file that is not a socket is left alone`() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path + "/s"
            close(unsafe open(path, O_CREAT | O_WRONLY, 0o644))
            let host = try Host(.platformDefault, at: nil)
            let failure = #expect(throws: SystemFailure.self) {
                try Listener(
                    try BoundSocket(.unix(path: path)), loops: host.loops, maximumConnections: 1)
            }
            #expect(failure?.code == EADDRINUSE)
            #expect(permissions(path) == 0o644)
            await host.end()
        }

        @Test func `another server's file at the same path is not removed`() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path + "/s"
            let host = try Host(.platformDefault, at: .unix(path: path))
            unsafe unlink(path)
            // The new file may get the old inode's number only after the old one is closed.
            close(unsafe open(path, O_CREAT | O_WRONLY, 0o644))
            await host.end()
            #expect(permissions(path) == 0o644)
        }

        @Test(arguments: ["", String(repeating: "x", count: 108), "a\0b"])
        func `a path that is not valid for a socket is a failure`(_ path: String) async throws {
            let host = try Host(.platformDefault, at: nil)
            let failure = #expect(throws: SystemFailure.self) {
                try Listener(
                    try BoundSocket(.unix(path: path)), loops: host.loops, maximumConnections: 1)
            }
            #expect(failure?.code == (path.count > 100 ? ENAMETOOLONG : EINVAL))
            await host.end()
        }

        private func permissions(_ path: String) -> UInt16? {
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else { return nil }
            return UInt16(status.st_mode & 0o777)
        }
    }

    @Suite("Signals call a handler", .timeLimit(.minutes(60)))
    struct SignalTests {
        @Test func `a signal is reported and has no other effect`() async {
            let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
            let watcher = SignalWatcher([SIGUSR1, SIGUSR2]) { continuation.yield($0) }
            await watcher.untilWatching()
            var signals = stream.makeAsyncIterator()
            for number in [SIGUSR1, SIGUSR2, SIGUSR1] {
                kill(getpid(), number)
                #expect(await signals.next() == number)
            }
            watcher.cancel()
            // Neither reported nor fatal.
            kill(getpid(), SIGUSR1)
        }
    }
}

/// A separate directory, removed with any files that a test left in it.
final class TemporaryDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/sockets-XXXXXX".utf8CString)
        try #require(unsafe mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        unsafe unlink(path + "/s")
        unsafe rmdir(path)
    }
}
