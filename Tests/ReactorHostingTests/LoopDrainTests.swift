import Glibc
import Logging
import Sockets
import Storage
import Testing

@testable import ReactorHosting

@Suite("Drain — the reports of loops", .timeLimit(.minutes(5)))
struct DrainReportTests {
    // Without the rule: the server ends, and a request that the listener has accepted meanwhile
    // gets no response.
    @Test func `a loop reports only once all accepted connections have come to it`() async throws {
        var configuration = Configuration()
        configuration.loops = 1
        let service = Service(
            configuration: configuration, reactors: [], journal: MemoryJournal(),
            logger: Logger(label: "drain"))
        let peers = Peers(count: 1)
        let loop = try EventLoop<ServerLoop>(label: "drain") { loop, table in
            ServerLoop(index: 0, service: service, peers: peers, loop: loop, table: table)
        }
        peers.introduce([loop])
        service.beginDraining()
        var pair: [Int32] = [-1, -1]
        try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { close(pair[1]) }
        loop.adopt(try DetachedSocket(owning: pair[0])) { $0.occupy($1).close(.now) }
        await on(loop) { #expect($0.resources.openCount == 0) }
        #expect(!service.drain.isDone)
        await on(loop) { $0.beginDraining() }
        #expect(service.drain.isDone)
        await loop.stop()
    }

    private func on(
        _ loop: EventLoop<ServerLoop>, _ act: @escaping @Sendable (ServerLoop) -> Void
    ) async {
        await withCheckedContinuation { continuation in
            loop.enqueue {
                act($0)
                continuation.resume()
            }
        }
    }
}
