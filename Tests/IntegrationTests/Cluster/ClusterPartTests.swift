import Cluster
import Cyclers
import Foundation
import Reactors
import ReactorHosting
import Testing
import Wire

@testable import ReactorHosting

@Suite("A part acts on its parent at another node, or it is said", .timeLimit(.minutes(60)))
struct ClusterPartTests {
    private static let settled = SessionHandle.settled
    private static let hosted = [
        Hosted("table") { Table() }, Hosted("seat") { Seat() }, Hosted("other") { Table() },
    ]

    private func add(_ number: Int) -> String { #"{"type":"add","number":\#(number)}"# }

    private func create(
        _ reactor: String, _ path: String, at client: Client
    ) async throws -> SessionHandle {
        let body = "{\"reactor\":\"\(reactor)\"}"
        let made =
            path.isEmpty
            ? try await client.post("/v1/sessions", body)
            : try await client.put("/v1/sessions/\(path)", body)
        guard made.status == 201, let id = try made.json["id"]?.string,
            let position = try made.json["position"]?.string
        else { throw UnexpectedAnswer(response: made) }
        return SessionHandle(client: client, id: id, created: position)
    }

    private func numbers(_ table: SessionHandle) async throws -> [Int] {
        try await table.state()["numbers"]?.array?.compactMap(\.integer) ?? []
    }

    /// Posts an action that ends with a failure of the part.
    ///
    /// - Returns: The error.
    private func failure(_ action: String, _ seat: SessionHandle) async throws -> String {
        let log = try await seat.followLog()
        try await seat.post(action, query: Self.settled)
        return try await log.entry("effect.failed")["content"]?["error"]?.string ?? ""
    }

    /// Two servers, the first of which has a part, and the second the part's parent.
    private func withPair(
        _ reactor: String = "table",
        _ act: (LocalCluster, _ table: SessionHandle, _ seat: SessionHandle) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with(2, hosting: Self.hosted) { cluster in
                while true {
                    let table = try await create(reactor, "", at: cluster.client(1))
                    let seat = try await create("seat", "\(table.id)--1", at: cluster.client(0))
                    // It is made at its home.
                    guard cluster.isOwner(0, of: seat) else { continue }
                    #expect(cluster.isOwner(1, of: table))
                    return try await act(cluster, table, seat)
                }
            }
        }
    }

    @Test func `the parent has committed the action when the part continues`() async throws {
        try await withPair { cluster, table, seat in
            for number in 0..<20 {
                try await seat.post(add(number), query: Self.settled)
                #expect(try await numbers(table) == Array(0...number))
            }
            #expect(try await seat.read()["version"] == 20)
            let metrics = try await cluster.client(0).get("/metrics").text
            #expect(metrics.contains("reactor_part_actions_total{outcome=\"applied\"} 20\n"))
            #expect(cluster.isOwner(1, of: table) && cluster.isOwner(0, of: seat))
        }
    }

    @Test func `the client for which the part acts is named at the other node`() async throws {
        try await withPair { _, table, seat in
            for subject in ["ädä", ""] {
                try await seat.post(
                    #"{"type":"addAs","number":1,"subject":"\#(subject)"}"#,
                    query: Self.settled)
            }
            try await seat.post(add(1), query: Self.settled)
            #expect(try await table.state()["subjects"] == ["ädä", "", "-"])
        }
    }

    @Test func `the parent's error is the part's, and nothing is changed`() async throws {
        try await withPair { cluster, table, seat in
            #expect(try await failure(#"{"type":"fail"}"#, seat) == "Fault()")
            #expect(try await table.read()["version"] == 0)
            #expect(try await seat.read()["version"] == 0)
            try await seat.post(add(1), query: Self.settled)
            #expect(try await numbers(table) == [1])
            let metrics = try await cluster.client(0).get("/metrics").text
            #expect(metrics.contains("reactor_part_actions_total{outcome=\"refused\"} 1\n"))
        }
    }

    @Test func `a parent that has ended is none`() async throws {
        try await withPair { cluster, table, seat in
            #expect(try await cluster.client(1).delete(table.path).status == 204)
            let found = try await failure(add(1), seat)
            #expect(found.contains("CyclerParentMissing"))
        }
    }

    // The types are the same.
    @Test func `a session of the same Cycler under another name is a parent as well`() async throws
    {
        try await withPair("other") { _, table, seat in
            try await seat.post(add(5), query: Self.settled)
            #expect(try await numbers(table) == [5])
        }
    }

    @Test func `a session of another reactor is no parent`() async throws {
        try await withPair("seat") { _, table, seat in
            let found = try await failure(add(5), seat)
            #expect(found.contains("CyclerParentMissing"))
            #expect(try await table.read()["version"] == 0)
        }
    }

    @Test func `no client can send an action of a part`() async throws {
        try await withPair { cluster, table, seat in
            for index in 0..<2 {
                let path = "/parts/\(table.id)?reactors=table"
                #expect(try await cluster.client(index).post(path, add(1)).status == 404)
            }
            try await seat.post(add(2), query: Self.settled)
            #expect(try await numbers(table) == [2])
        }
    }

    /// Accepts every token. No client may act on a table.
    private struct Guests: Authenticator {
        func authenticate(bearer token: String) async throws(AuthenticationFailure) -> Principal {
            var grants = Grants.all
            if token == "guest" { grants.reactors = ["seat"] }
            return Principal(subject: token, grants: grants, expiresAtSeconds: 4_102_444_800)
        }
    }

    private func send(
        _ method: String, _ path: String, _ json: String, as client: String, at node: Client
    ) async throws -> Response {
        var request = Request.json(method, path, json)
        request.fields.append(("Authorization", "Bearer \(client)"))
        return try await node.send(request)
    }

    @Test func `the grants of clients do not bind a part, which acts for one or for none`()
        async throws
    {
        let secret = "\(TemporaryFolder.shared.path)/\(UUID().uuidString)"
        let line = String(repeating: "secret", count: 6)
        try line.write(toFile: secret, atomically: true, encoding: .utf8)
        try await LocalCluster.with(
            hosting: Self.hosted, authenticator: Guests(), { $1.clusterSecretPath = secret }
        ) { cluster in
            var (table, seat) = ("", "")
            repeat {
                let made = try await send(
                    "POST", "/v1/sessions", #"{"reactor":"table"}"#, as: "host",
                    at: cluster.client(1))
                table = try #require(try made.json["id"]?.string)
                seat = "/v1/sessions/\(table)--1"
                let put = try await send(
                    "PUT", seat, #"{"reactor":"seat"}"#, as: "host", at: cluster.client(0))
                #expect(put.status == 201)
            } while cluster.journal.owner(of: "\(table)--1") != cluster.journal.nodes[0]
            for action in [add(1), #"{"type":"addAs","number":2,"subject":"ada"}"#] {
                let posted = try await send(
                    "POST", "\(seat)/actions?wait=settled", action, as: "guest",
                    at: cluster.client(0))
                #expect(posted.status == 200, "\(posted.text)")
            }
            let read = try await send(
                "GET", "/v1/sessions/\(table)", "", as: "host", at: cluster.client(1))
            #expect(try read.json["state"]?["numbers"] == [1, 2])
            #expect(try read.json["state"]?["subjects"] == ["-", "ada"])
        }
    }

    @Test func `many parts of one parent act on it at the same time`() async throws {
        try await withPair { cluster, table, _ in
            try await withThrowingTaskGroup { group in
                for number in 0..<20 {
                    let client = cluster.client(number % 2)
                    group.addTask {
                        let seat = try await create("seat", "\(table.id)--s\(number)", at: client)
                        for count in 0..<5 {
                            try await seat.post(add(number * 5 + count), query: Self.settled)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await numbers(table).sorted() == Array(0..<100))
        }
    }

    // MARK: Nodes that do something else

    /// A server with a part, and a peer that owns the part's parent. The server still has the
    /// parent in memory.
    private func withPeer(
        _ acts: [ScriptedPeer.Act], hasPings: Bool = true, provesItself: Bool = true,
        hosting hosted: [Hosted] = Self.hosted, grace: Duration = .seconds(10),
        _ act: (LocalCluster, ScriptedPeer, SessionHandle, SessionHandle) async throws -> Void
    ) async throws {
        let peer = try ScriptedPeer(acts, hasPings: hasPings, provesItself: provesItself)
        try await Turnstile.servers.pass {
            try await LocalCluster.with(1, hosting: hosted, { $1.grace = grace }) { cluster in
                let table = try await create("table", "", at: cluster.client(0))
                let seat = try await create("seat", "\(table.id)--1", at: cluster.client(0))
                try await seat.post(add(0), query: Self.settled)
                cluster.journal.join(peer.member)
                cluster.journal.give(table.id, to: peer.node)
                try await act(cluster, peer, table, seat)
            }
        }
        await peer.end()
    }

    @Test func `an action whose commit shows another owner is sent there`() async throws {
        try await withPeer([.answer(LinkAnswer(status: 200))]) { cluster, peer, table, seat in
            try await seat.post(
                #"{"type":"addAs","number":1,"subject":"ada"}"#, query: Self.settled)
            #expect(await peer.next() == "part \(table.id) ada {\"type\":\"add\",\"number\":1}")
            #expect(try await seat.read()["version"] == 2)
            #expect(cluster.journal.owner(of: table.id) == peer.node)
            #expect(cluster.journal.deposed == 0)
        }
    }

    // Sent again, it might be applied twice.
    @Test(arguments: [ScriptedPeer.Act.close, .end])
    func `an action whose link ends before the answer is not sent again`(act: ScriptedPeer.Act)
        async throws
    {
        try await withPeer([act, .answer(LinkAnswer(status: 200))]) { cluster, peer, table, seat in
            let found = try await failure(add(1), seat)
            #expect(found.contains("once or not at all"))
            let metrics = try await cluster.client(0).get("/metrics").text
            #expect(
                metrics.contains("reactor_part_actions_total{outcome=\"outcome_unknown\"} 1\n"))
            // A sentinel.
            if case .close = act {
                try await seat.post(add(2), query: Self.settled)
                #expect(await peer.next() == "part \(table.id) - {\"type\":\"add\",\"number\":1}")
                #expect(await peer.next() == "part \(table.id) - {\"type\":\"add\",\"number\":2}")
            }
        }
    }

    // Nothing is sent before it says what it accepts.
    @Test(arguments: [true, false])
    func `a node that shows no sign of life loses the parent to this one`(provesItself: Bool)
        async throws
    {
        try await withPeer([], hasPings: false, provesItself: provesItself) {
            cluster, _, table, seat in
            try await seat.post(add(1), query: Self.settled)
            #expect(try await numbers(table) == [0, 1])
            #expect(cluster.journal.deposed == 1)
        }
    }

    @Test func `a node that has ended leaves the parent to this one`() async throws {
        try await withPeer([]) { cluster, peer, table, seat in
            await peer.end()
            try await seat.post(add(1), query: Self.settled)
            #expect(try await numbers(table) == [0, 1])
            #expect(cluster.isOwner(0, of: table))
        }
    }

    @Test func `an action that the parent's former node refers on is applied once`() async throws {
        try await withPeer([]) { cluster, _, table, seat in
            let second = try ScriptedPeer([.answer(LinkAnswer(status: 200))])
            cluster.journal.join(second.member)
            let first = try ScriptedPeer([.moved(second.node)])
            cluster.journal.join(first.member)
            cluster.journal.give(table.id, to: first.node)
            try await seat.post(add(1), query: Self.settled)
            let expected = "part \(table.id) - {\"type\":\"add\",\"number\":1}"
            #expect(await first.next() == expected)
            #expect(await second.next() == expected)
            #expect(try await seat.read()["version"] == 2)
            for peer in [first, second] { await peer.end() }
        }
    }

    @Test(arguments: [
        (LinkAnswer(status: 409, code: "no_parent"), "CyclerParentMissing"),
        (LinkAnswer(status: 422, code: "action_failed", body: Array("Ä".utf8)), "Ä"),
        (LinkAnswer(status: 422, code: "action_refused", body: Array("no Ä.".utf8)), "no: Ä."),
        (LinkAnswer(status: 503, code: "parent_unavailable", body: Array("full".utf8)), "full"),
        (LinkAnswer(status: 503, code: "too_busy"), "too_busy"),
        // A node of an earlier release does not have this route.
        (LinkAnswer(status: 503, code: "owner_unreachable"), "earlier release"),
        (LinkAnswer(status: 504, code: "outcome_unknown"), "once or not at all"),
        (LinkAnswer(status: 299, code: "new"), "once or not at all"),
    ])
    func `each answer has its error`(answer: LinkAnswer, error: String) async throws {
        try await withPeer([.answer(answer)]) { _, _, _, seat in
            let found = try await failure(add(1), seat)
            #expect(found.contains(error))
            #expect(try await seat.read()["version"] == 1)
        }
    }

    @Test func `an owner that the last beat has not shown is waited for`() async throws {
        try await withPeer([]) { cluster, _, table, seat in
            let hidden = try ScriptedPeer([.answer(LinkAnswer(status: 200))])
            cluster.journal.hide(hidden.member)
            cluster.journal.give(table.id, to: hidden.node)
            try await seat.post(add(1))
            while !cluster.journal.isReferred(table.id) { _ = try await seat.read() }
            cluster.journal.join(hidden.member)
            #expect(await hidden.next() == "part \(table.id) - {\"type\":\"add\",\"number\":1}")
            while try await seat.read()["version"] != 2 {}
            await hidden.end()
        }
    }

    /// A part that reports how its actions fail.
    private final class Witness: ActionCycler, ModularCycler {
        enum Action: TaggedCodable, Sendable {
            case add(number: Int)
        }

        struct State: Codable, Sendable {}

        let state: Storage<State> = .init(.init())
        let parent = CyclerParent<Table>()
        private let failure: AsyncStream<String>.Continuation

        init(_ failure: AsyncStream<String>.Continuation) { self.failure = failure }

        func receive(_ action: Action) async throws {
            guard case .add(let number) = action else { return }
            do {
                try await forward(.add(number: number))
            } catch {
                failure.yield("\(error)")
                throw error
            }
        }
    }

    // Otherwise the part's task would never end.
    @Test(arguments: [true, false])
    func `an action that waits when the server ends has ended`(isSent: Bool) async throws {
        let (failures, failure) = AsyncStream.makeStream(of: String.self)
        let hosted = [Hosted("table") { Table() }, Hosted("seat") { Witness(failure) }]
        try await withPeer([.nothing], hosting: hosted, grace: .milliseconds(100)) {
            cluster, peer, table, seat in
            let hidden = try ScriptedPeer([])
            if !isSent {
                cluster.journal.hide(hidden.member)
                cluster.journal.give(table.id, to: hidden.node)
            }
            try await seat.post(add(1))
            if isSent { _ = await peer.next() }
            while !isSent, !cluster.journal.isReferred(table.id) { _ = try await seat.read() }
            await hidden.end()
        }
        let found = await failures.first { _ in true }
        let expected = isSent ? "once or not at all" : "the server is shutting down"
        #expect(found?.contains(expected) ?? false)
    }
}
