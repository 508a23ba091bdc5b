import Dispatch
import ReactorHosting
import Reactors
import Synchronization
import Testing

@Suite("Case 144 — large responses delay no other request", .timeLimit(.minutes(60)))
struct TurnTests {
    private func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n" }

    /// Five sessions with a large state; the loop blocks in the first one's encoding.
    private func withBusyLoop(
        _ act: (LocalServer, EncodingGate) async throws -> Void
    ) async throws {
        let gate = EncodingGate()
        try await LocalServer.with(hosting: [Hosted("large") { LargeText(gate: gate) }]) {
            server in
            for number in 1...5 {
                #expect(try await server.create("s\(number)", of: "large") == 201)
            }
            gate.close()
            let first = try server.connect()
            await first.send(get("/v1/sessions/s1"))
            await gate.untilWaiting(1)
            defer { gate.open() }
            try await act(server, gate)
        }
    }

    @Test(arguments: ["/livez", "/readyz"])
    func `case 144: a probe is answered before large responses requested earlier`(
        path: String
    ) async throws {
        try await withBusyLoop { server, gate in
            var readers: [RawConnection] = []
            for number in 2...5 {
                readers.append(try server.connect())
                await readers[number - 2].send(get("/v1/sessions/s\(number)"))
            }
            let probe = try server.connect()
            await probe.send(get(path))
            // The first two are encoded and use up the round's output; the third blocks.
            gate.allow(2)
            #expect(await probe.answers(1).first?.head.status == 200)
            gate.open()
            for reader in readers {
                #expect(await reader.answers(1).first?.head.status == 200)
            }
        }
    }

    @Test func `case 144: a connection is accepted between large responses`() async throws {
        let gate = EncodingGate()
        try await LocalServer.with(hosting: [Hosted("large") { LargeText(gate: gate) }]) { server in
            for number in 1...5 { _ = try await server.create("s\(number)", of: "large") }
            let readers = try (1...20).map { _ in try server.connect() }
            for reader in readers {
                await reader.send(get("/livez"))
                _ = await reader.answers(1)
            }
            gate.close()
            defer { gate.open() }
            for (number, reader) in readers.enumerated() {
                await reader.send(get("/v1/sessions/s\(number % 5 + 1)"))
            }
            await gate.untilWaiting(1)
            let probe = try server.connect()
            await probe.send(get("/livez"))
            // The loop blocks again in the eleventh.
            gate.allow(10)
            #expect(await probe.answers(1).first?.head.status == 200)
            gate.open()
            for reader in readers {
                #expect(await reader.answers(1).first?.head.status == 200)
            }
        }
    }

    // Without the rule: a crowd that sends bodies of a megabyte delays every other request by
    // seconds.
    @Test func `a small request is served before large bodies that were complete earlier`()
        async throws
    {
        let gate = EncodingGate()
        let hosted = [Hosted("large") { LargeText(gate: gate) }, Hosted("list") { NameList() }]
        try await LocalServer.with(hosting: hosted) { server in
            _ = try await server.create("large", of: "large")
            _ = try await server.create("s", of: "list")
            var writers: [RawConnection] = []
            var rests: [String] = []
            for number in 1...4 {
                let body = add("large \(number)", padding: 100_000)
                let request = post(body)
                writers.append(try server.connect())
                await writers[number - 1].send(String(request.prefix(request.count - 20_000)))
                rests.append(String(request.suffix(20_000)))
            }
            let small = try server.connect()
            // The loop has read the beginnings when it responds.
            for _ in 1...3 {
                await small.send(get("/livez"))
                _ = await small.answers(1)
            }
            gate.close()
            let first = try server.connect()
            await first.send(get("/v1/sessions/large"))
            await gate.untilWaiting(1)
            for (writer, rest) in zip(writers, rests) { await writer.send(rest) }
            await small.send(post(add("small", padding: 0)))
            gate.open()
            #expect(await small.answers(1).first?.head.status == 200)
            for writer in writers { #expect(await writer.answers(1).first?.head.status == 200) }
            await small.send(get("/v1/sessions/s"))
            let state = try #require(await small.answers(1).first?.body)
            #expect(state.contains(#"["small","large "#), "\(state)")
        }
    }

    private func add(_ name: String, padding: Int) -> String {
        let padding = String(repeating: "x", count: padding)
        return #"{"type":"add","name":"\#(name)","padding":"\#(padding)"}"#
    }

    private func post(_ body: String) -> String {
        "POST /v1/sessions/s/actions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test func `case 144: a first request is served before the rest of large ones`() async throws {
        try await withBusyLoop { server, gate in
            // Each of its responses uses up a turn.
            let reader = try server.connect()
            await reader.send((2...5).map { get("/v1/sessions/s\($0)") }.joined())
            let other = try server.connect()
            await other.send(get("/v1/sessions/none"))
            gate.allow(2)
            // Its turn comes before the third response, in whose encoding the loop blocks.
            #expect(await other.answers(1).first?.head.status == 404)
            gate.open()
            #expect(await reader.answers(4).map(\.head.status) == [200, 200, 200, 200])
        }
    }
}

/// Encodings of states wait here while it is closed; each allowed one passes.
///
/// It blocks its thread on purpose: the thread is the loop's.
private final class EncodingGate: Sendable {
    private struct Passage {
        var isOpen = true
        var allowed = 0
        var passed = 0
    }

    private let passage = Mutex(Passage())
    private let changed = DispatchSemaphore(value: 0)
    private let waiting = AsyncStream<Int>.makeStream()

    func close() { passage.withLock { $0.isOpen = false } }

    func open() {
        passage.withLock { $0.isOpen = true }
        changed.signal()
    }

    func allow(_ count: Int) {
        passage.withLock { $0.allowed += count }
        changed.signal()
    }

    /// Waits until the loop blocks here for the `number`th time.
    func untilWaiting(_ number: Int) async {
        for await one in waiting.stream where one == number { return }
    }

    func pass() {
        guard
            let number = passage.withLock({ passage -> Int? in
                guard !passage.isOpen else { return nil }
                passage.passed += 1
                return passage.passed
            })
        else { return }
        waiting.continuation.yield(number)
        while !passage.withLock({ $0.isOpen || $0.allowed >= number }) { changed.wait() }
    }
}

/// The names of its actions, in their order.
private struct NameList: Reactor {
    enum Action: TaggedCodable, Sendable { case add(name: String, padding: String) }
    enum Mutation: TaggedCodable, Sendable { case added(name: String) }
    struct State: Codable, Sendable { var names: [String] = [] }
    let initialState = State()

    func mutate(action: Action) -> Effect<Mutation> {
        guard case .add(let name, _) = action else { return .none }
        return .just(.added(name: name))
    }

    func reduce(state: inout State, mutation: Mutation) {
        if case .added(let name) = mutation { state.names.append(name) }
    }
}

/// A state of 1.2 MB, encoded when the gate allows it.
private struct LargeText: Reactor {
    enum Action: TaggedCodable, Sendable { case nothing }
    typealias Mutation = Action

    struct State: Codable, Sendable {
        var text = String(repeating: "x", count: 1_200_000)
        var gate: EncodingGate?

        private enum CodingKeys: String, CodingKey { case text }

        init(_ gate: EncodingGate) { self.gate = gate }

        func encode(to encoder: any Encoder) throws {
            gate?.pass()
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(text, forKey: .text)
        }
    }

    let gate: EncodingGate
    var initialState: State { State(gate) }
}
