import Dispatch
import Glibc
import Sockets
import Storage
import Testing

@testable import ReactorHosting

@Suite("A loop drains once all accepted connections have come to it", .timeLimit(.minutes(60)))
struct LoopDrainTests {
    private let service: Service
    private let loop: EventLoop<ServerLoop>

    init() throws {
        var configuration = Configuration()
        configuration.loops = 1
        let service = try Service(
            ReactorServer(hosting: [], configuration: configuration), [], journal: MemoryJournal())
        let peers = Peers(count: 1)
        loop = try EventLoop<ServerLoop>(label: "drain") { loop, table in
            ServerLoop(index: 0, service: service, peers: peers, loop: loop, table: table)
        }
        peers.introduce([loop])
        service.beginDraining()
        self.service = service
    }

    // Without the rule: the server ends, and a request that the listener has accepted meanwhile
    // gets no response.
    @Test func `a loop without connections does not report before its drain begins`() async throws {
        let (ours, theirs) = try pair()
        defer { close(theirs) }
        loop.adopt(try DetachedSocket(owning: ours)) { $0.occupy($1, peer: .local).close(.now) }
        await on { #expect($0.resources.openCount == 0) }
        #expect(!service.drain.isDone)
        await on { $0.beginDraining() }
        // In the next pass.
        await on { _ in }
        #expect(service.drain.isDone)
        await loop.stop()
    }

    // Without the rule: its connection is closed as idle, with the request unread.
    @Test func `a request that has arrived is answered`() async throws {
        let (ours, theirs) = try pair()
        defer { close(theirs) }
        let request = Array("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        #expect(unsafe write(theirs, request, request.count) == request.count)
        let gate = DispatchSemaphore(value: 0)
        loop.enqueue { _ in gate.wait() }
        // In the same pass.
        loop.adopt(try DetachedSocket(owning: ours)) { $0.occupy($1, peer: .local) }
        loop.enqueue { $0.beginDraining() }
        gate.signal()
        var response = [UInt8](repeating: 0, count: 12)
        #expect(unsafe recv(theirs, &response, 12, Int32(MSG_WAITALL)) == 12)
        #expect(response == Array("HTTP/1.1 200".utf8))
        await loop.stop()
    }

    private func pair() throws -> (Int32, Int32) {
        var both: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        try #require(unsafe socketpair(AF_UNIX, kind, 0, &both) == 0)
        return (both[0], both[1])
    }

    private func on(_ act: @escaping @Sendable (ServerLoop) -> Void) async {
        await withCheckedContinuation { continuation in
            loop.enqueue {
                act($0)
                continuation.resume()
            }
        }
    }
}
