import Glibc
import Testing

@testable import Sockets

extension Loops {
    @Suite("An outgoing connection is one of its loop", .timeLimit(.minutes(60)))
    struct DiallerTests {
        private let question = Array("question".utf8)
        private let answer = Array("answer".utf8)

        @Test(arguments: PollerKind.allCases, ["127.0.0.1", "localhost"])
        func `bytes that are sent at once arrive, and so does the answer`(
            _ poller: PollerKind, host name: String
        ) async throws {
            let (question, answer) = (question, answer)
            let host = try Host(
                poller,
                Scripted.Script(received: { handler, connection, bytes in
                    if bytes == question { handler.send(connection, answer) }
                }))
            dial(name, try port(of: host), on: host) { $0.send($1, question) }
            let dialled = try await self.dialled(host)
            try await host.until(.received(dialled, answer))
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a peer that refuses is reported as such, and not as silent`(
            _ poller: PollerKind
        ) async throws {
            // Bound and not listening: nobody else gets the port, and the kernel refuses.
            let deaf = try ListeningSocket(binding: .loopback)
            defer { deaf.close() }
            let host = try Host(poller, at: nil)
            dial("127.0.0.1", try port(of: deaf.address), on: host) { $0.send($1, [1]) }
            let refused = try await dialled(host)
            try await host.until(.closed(refused, .refused))
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a silent peer leaves the connection to its deadline`(
            _ poller: PollerKind
        ) async throws {
            let busy = try ListeningSocket(binding: .loopback)
            try busy.listen(backlog: 0)
            defer { busy.close() }
            // The kernel completes one, and drops what comes after it.
            let first = try Client(to: busy.address)
            let host = try Host(
                poller, at: nil,
                Scripted.Script(deadline: { handler, connection in
                    #expect(handler.table.isOpen(connection))
                    handler.table.close(connection, .reset)
                }))
            dial("127.0.0.1", try port(of: busy.address), on: host) { handler, connection in
                handler.send(connection, [1])
                handler.table.setDeadline(connection, handler.table.now + .milliseconds(1))
            }
            let silent = try await dialled(host)
            let next = await host.next()
            #expect(next == .deadline(silent))
            await host.end()
            withExtendedLifetime(first) {}
        }

        @Test func `a name that does not exist is a failure, on the loop`() async throws {
            let host = try Host(.platformDefault, at: nil)
            let name = String(repeating: "a", count: 300)
            Dialler().dial(host: name, port: 1, on: host.loop) { handler, result in
                guard case .failure(let failure) = result else { return handler.say("connected") }
                handler.say("\(failure.operation), \(failure.isRefusal)")
            }
            try await host.until(.said("getaddrinfo, false"))
            await host.end()
        }

        // MARK: Helpers

        private func dial(
            _ name: String, _ port: UInt16, on host: Host,
            then act: @escaping @Sendable (Scripted, ConnectionID) -> Void
        ) {
            Dialler().dial(host: name, port: port, on: host.loop) { handler, result in
                do {
                    let connection = try result.get()
                    handler.memo["dialled"] = connection
                    handler.say("dialled")
                    act(handler, connection)
                } catch {
                    handler.say("\(error)")
                }
            }
        }

        /// The connection that was dialled.
        private func dialled(_ host: Host) async throws -> ConnectionID {
            try await host.until(.said("dialled"))
            let dialled = await host.on { $0.memo["dialled"] }
            return try #require(dialled)
        }

        private func port(of host: Host) throws -> UInt16 {
            try port(of: #require(host.listener).boundAddress)
        }

        private func port(of address: ListenAddress) throws -> UInt16 {
            guard case .tcp(_, let port) = address else { throw Host.Ended() }
            return port
        }
    }
}
