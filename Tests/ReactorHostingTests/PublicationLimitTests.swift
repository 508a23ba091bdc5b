import Glibc
import Reactors
import Sessions
import Sockets
import Storage
import Synchronization
import Testing

@testable import ReactorHosting

@Suite(
    "ADR-0078 — a publication waits for the sessions for a limited time", .timeLimit(.minutes(60)))
struct PublicationLimitTests {
    private struct News: Reactor {
        typealias Action = String
        typealias Mutation = String

        let initialState = ""
        var sources: [Source] { [.mutations(topic: Topic<String>("news")) { $0 }] }

        func reduce(state: inout String, mutation: String) { state = mutation }
    }

    private let service: Service
    private let loop: EventLoop<ServerLoop>

    init() throws {
        var configuration = Configuration()
        configuration.loops = 1
        configuration.administration = .on
        let news = try Registration(
            name: "news", activities: [], examples: [], clock: ContinuousClock(), make: { News() })
        let service = try Service(
            ReactorServer(hosting: [], configuration: configuration), [news],
            journal: MemoryJournal())
        let peers = Peers(count: 1)
        loop = try EventLoop<ServerLoop>(label: "topics") { loop, table in
            ServerLoop(index: 0, service: service, peers: peers, loop: loop, table: table)
        }
        peers.introduce([loop])
        self.service = service
    }

    private static let request = Array(
        """
        POST /v1/topics/news HTTP/1.1\r
        Host: localhost\r
        Content-Type: application/json\r
        Content-Length: 3\r
        \r
        "a"
        """.utf8)

    // The loop's clock stands still during a job.
    @Test func `the time begins when the request arrives, and ends even before the commit`()
        async throws
    {
        let (ours, theirs) = try pair()
        defer { close(theirs) }
        await withCheckedContinuation { continuation in
            loop.enqueue { $0.sessions.topics.begin(["news"]) { continuation.resume() } }
        }
        // It listens, and never reads.
        let listener = News().sources[0].open(service.topics)
        let socket = Mutex<ConnectionID?>(nil)
        loop.adopt(try DetachedSocket(owning: ours)) { loop, id in
            loop.occupy(id, peer: .local)
            socket.withLock { $0 = id }
        }
        await on { _ in }
        let id = try #require(socket.withLock { $0 })
        await on { loop in
            guard let connection = loop.connection(id) else { return }
            unsafe connection.receive(Self.request.span.bytes)
            guard case .waiting(let request, let options?) = connection.state else {
                Issue.record("the publication is answered before its commit")
                return
            }
            #expect(options.waitDeadline == request.since + .seconds(5))
            connection.expireWait()
        }
        let response = await read(theirs)
        #expect(response.hasPrefix("HTTP/1.1 200"))
        #expect(response.hasSuffix("{\"sessions\":0}"))
        withExtendedLifetime(listener) {}
        await loop.stop()
    }

    /// Reads the response. Does not block: the response is made by a task, which needs a thread.
    private func read(_ socket: Int32) async -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.last != UInt8(ascii: "}") {
            switch unsafe recv(socket, &byte, 1, Int32(MSG_DONTWAIT)) {
            case 1: bytes.append(byte)
            case 0: return String(decoding: bytes, as: UTF8.self)
            default: await on { _ in }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
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
