import Cluster
import Foundation
import Reactors
import SampleReactors
import Testing

@testable import ReactorHosting

@Suite("Any node takes any post, and the owner decides", .timeLimit(.minutes(60)))
struct ForwardingTests {
    private func withSession(
        _ act: (LocalCluster, _ session: SessionHandle) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with { cluster in
                try await act(cluster, try await cluster.session(ownedBy: 1))
            }
        }
    }

    @Test func `posts at two nodes are one history`() async throws {
        try await withSession { cluster, session in
            let there = SessionHandle(
                client: cluster.client(1), id: session.id, created: session.created)
            for number in 0..<10 {
                let receipt = try await (number.isMultiple(of: 2) ? session : there).alert("a")
                #expect(receipt.version == number + 1)
            }
            #expect(try await session.read() == there.read())
            #expect(cluster.isOwner(1, of: session), "a request does not move its session")
            let metrics = try await cluster.client(0).get("/metrics").text
            #expect(metrics.contains("reactor_forwarded_total{outcome=\"answered\"} 5\n"))
            let other = try await cluster.client(1).get("/metrics").text
            #expect(other.contains("reactor_guests_total{result=\"answered\"} 5\n"))
        }
    }

    @Test func `a session is created at its home, and known everywhere`() async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with(3) { cluster in
                for number in 0..<12 {
                    let path = "/v1/sessions/home-\(number)"
                    var statuses: [Int] = []
                    for index in [0, 1, 2, 0] {
                        let response = try await cluster.client(index).send(
                            .json("PUT", path, #"{"reactor":"alerts"}"#))
                        statuses.append(response.status)
                    }
                    #expect(statuses == [201, 200, 200, 200])
                }
                let owners = Set(
                    (0..<12).compactMap { cluster.journal.owner(of: "home-\($0)") })
                #expect(owners.count > 1, "twelve sessions have more than one home of three")
            }
        }
    }

    /// That node still decides on the session for nodes that believe its database.
    @Test func `nothing is sent to a node that believes another database`() async throws {
        try await withSession { cluster, session in
            let (here, there) = (cluster.journal.nodes[0], cluster.journal.nodes[1])
            let other = DatabaseStanding(
                DatabaseMark(era: 2, timeline: 2, branch: 2), committed: 1 << 40)
            cluster.journal.believe(other, at: there)
            let refused = try await cluster.client(0).post(
                "\(session.path)/actions", #"{"type":"alert","message":"a"}"#)
            #expect(refused.status == 503)
            #expect(try refused.json["code"]?.string == "owner_unreachable")
            #expect(cluster.journal.hasHeard(here, of: other), "its first ping says so")
            let owner = SessionHandle(
                client: cluster.client(1), id: session.id, created: session.created)
            #expect(try await owner.read()["version"] == 0)
            cluster.journal.believe(other, at: here)
            // The next pings of the links deliver it.
            while try await cluster.client(0).post(
                "\(session.path)/actions", #"{"type":"alert","message":"a"}"#
            ).status != 200 {}
            #expect(try await owner.read()["version"] == 1)
        }
    }

    /// The client's node finds the next owner, as soon as that may claim the session.
    @Test func `a node that has lost the journal leaves what it cannot load to others`()
        async throws
    {
        try await Turnstile.servers.pass {
            try await LocalCluster.with { cluster in
                let session = try await cluster.session(ownedBy: 0)
                let there = cluster.journal.nodes[1]
                cluster.journal.give(session.id, to: there)
                cluster.journal.cutOff(there)
                let refused = try await cluster.client(0).post(
                    "\(session.path)/actions", #"{"type":"alert","message":"a"}"#)
                #expect(refused.status == 503)
                #expect(try refused.json["code"]?.string == "owner_unreachable")
                let metrics = try await cluster.client(1).get("/metrics").text
                #expect(metrics.contains("reactor_guests_total{result=\"answered\"} 0\n"))
                // Its lease has ended.
                cluster.journal.leave(there)
                #expect(try await session.alert("a").version == 1)
            }
        }
    }

    @Test(arguments: [
        (#"{"type":"unknown"}"#, [] as [(name: String, value: String)], 422), ("{", [], 400),
        (#"{"type":"alert","message":"a"}"#, [("If-Match", "\"x.1\"")], 412),
        (#"{"type":"alert","message":"a"}"#, [("Idempotency-Key", "ä")], 400),
    ])
    func `refusals are those of the owner`(
        body: String, fields: [(name: String, value: String)], status: Int
    ) async throws {
        try await withSession { cluster, session in
            var request = Request.json("POST", "\(session.path)/actions", body)
            request.fields += fields
            let here = try await cluster.client(0).send(request)
            let there = try await cluster.client(1).send(request)
            #expect(here.status == status)
            #expect(there.status == status)
            #expect(here.text == there.text)
            #expect(here.head["Content-Type"] == there.head["Content-Type"])
            #expect(try await session.read()["version"]?.integer == 0)
        }
    }

    @Test func `a reactor's refusal is the same at each node`() async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with(hosting: [Hosted("alerts") { Refuser() }]) { cluster in
                let session = try await cluster.session(ownedBy: 1)
                for index in [0, 1, 0] {
                    var request = Request.json("POST", "\(session.path)/actions", "[1,2,3]")
                    request.fields.append(("Idempotency-Key", "k"))
                    let answer = try await cluster.client(index).send(request)
                    #expect(answer.status == 422)
                    #expect(try answer.json["code"] == "action_refused")
                    #expect(try answer.json["detail"] == "It is 2.")
                    #expect(try answer.json["refusal"] == ["code": "two"])
                    #expect(try answer.json["pointer"] == "/1")
                    #expect(answer.head["Idempotency-Replayed"] == nil)
                }
                #expect(try await session.read()["position"]?.string?.hasSuffix(".0") == true)
            }
        }
    }

    private struct Refuser: Reactor {
        typealias Action = Int
        typealias Mutation = Int
        typealias State = Int

        let initialState = 0

        func mutate(action: Int) -> Effect<Int> {
            action == 2 ? .refuse("two", "It is 2.") : .just(action)
        }

        func reduce(state: inout Int, mutation: Int) { state += mutation }
    }

    @Test func `one key at two nodes is one action`() async throws {
        try await withSession { cluster, session in
            var request = Request.json(
                "POST", "\(session.path)/actions", #"{"type":"alert","message":"a"}"#)
            request.fields.append(("Idempotency-Key", "k"))
            let first = try await cluster.client(0).send(request)
            let second = try await cluster.client(1).send(request)
            let third = try await cluster.client(0).send(request)
            #expect(first.status == 200 && first.text == second.text && first.text == third.text)
            #expect(first.head["Idempotency-Replayed"] == nil)
            #expect(third.head["Idempotency-Replayed"] == "true")
            #expect(third.head["Durability"] == "shared")
        }
    }

    @Test func `large bodies and settled posts pass through`() async throws {
        try await withSession { cluster, session in
            let text = String(repeating: "x", count: 300_000)
            let first = try await session.post(
                #"{"type":"alert","message":"\#(text)"}"#, query: SessionHandle.settled)
            let second = try await session.alert(text)
            #expect(second.version == first.version + 1)
            #expect(try await session.state()["alertMessage"]?.string == text)
        }
    }

    @Test func `requests after a forwarded one keep their order`() async throws {
        try await withSession { cluster, session in
            let raw = try cluster.servers[0].connect()
            let body = #"{"type":"alert","message":"a"}"#
            let post =
                "POST \(session.path)/actions HTTP/1.1\r\nHost: localhost\r\n"
                + "Content-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            let get = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
            await raw.send(
                post + get + post + "GET \(session.path) HTTP/1.1\r\nHost: localhost\r\n\r\n" + post
            )
            let answers = await raw.answers(5)
            #expect(answers.map(\.head.status) == [200, 200, 200, 200, 200])
            #expect(answers.count == 5 && answers[0].body.contains("\"version\":1"))
            #expect(answers.count == 5 && answers[2].body.contains("\"version\":2"))
            #expect(answers.count == 5 && answers[3].body.contains("\"version\":2"))
            #expect(answers.count == 5 && answers[4].body.contains("\"version\":3"))
        }
    }

    @Test func `a body that is expected is read before it is forwarded`() async throws {
        try await withSession { cluster, session in
            let raw = try cluster.servers[0].connect()
            let body = #"{"type":"alert","message":"a"}"#
            await raw.send(
                "POST \(session.path)/actions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                    + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            )
            #expect(await raw.answers(1).first?.head.status == 100)
            await raw.send(body)
            #expect(await raw.answers(1).last?.head.status == 200)
        }
    }

    @Test func `a session is deleted at any node`() async throws {
        try await withSession { cluster, session in
            let deleted = try await cluster.client(0).delete(session.path)
            #expect(deleted.status == 204)
            for index in [0, 1] {
                let after = try await cluster.client(index).post(
                    "\(session.path)/actions", #"{"type":"alert","message":"a"}"#)
                #expect(after.status == 410)
            }
        }
    }

    @Test func `a session that does not exist is unknown at every node`() async throws {
        try await withSession { cluster, _ in
            for id in ["none-1", "none-2", "none-3", "none-4"] {
                for index in [0, 1] {
                    let response = try await cluster.client(index).post(
                        "/v1/sessions/\(id)/actions", #"{"type":"alert","message":"a"}"#)
                    #expect(response.status == 404)
                }
            }
        }
    }

    @Test func `a node that ends passes its sessions on, and no post fails`() async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with { cluster in
                var sessions: [SessionHandle] = []
                for _ in 0..<8 { sessions.append(try await cluster.session(ownedBy: 1)) }
                for session in sessions { try await session.alert("a") }
                cluster.servers[1].stop()
                try await withThrowingTaskGroup { group in
                    for session in sessions {
                        group.addTask { try await Self.post(to: session, in: cluster) }
                    }
                    try await group.waitForAll()
                }
                for session in sessions { #expect(cluster.isOwner(0, of: session)) }
            }
        }
    }

    /// Posts without a key until the session has come to the first node.
    private static func post(to session: SessionHandle, in cluster: LocalCluster) async throws {
        var version = 1
        while !cluster.isOwner(0, of: session) {
            #expect(try await session.alert("a").version == version + 1)
            version += 1
        }
    }

    @Test func `the drain of the client's node ends a wait for effects of another node`()
        async throws
    {
        try await Turnstile.servers.pass {
            try await LocalCluster.with(hosting: [Hosted("alerts") { Holder() }]) { cluster in
                let session = try await cluster.session(ownedBy: 1)
                async let waiting = session.client.post(
                    "\(session.path)/actions?wait=settled&timeout=10m",
                    #"{"type":"hold"}"#)
                while try await session.read()["version"]?.integer != 1 {}
                cluster.servers[0].stop()
                #expect(try await waiting.status == 202)
            }
        }
    }

    @Test func `a node with another secret is not believed`() async throws {
        let folder = TemporaryFolder()
        for index in 0..<2 {
            try String(repeating: "\(index)", count: 32).write(
                toFile: "\(folder.path)/\(index)", atomically: false, encoding: .utf8)
        }
        try await Turnstile.servers.pass {
            try await LocalCluster.with(2) { index, configuration in
                configuration.clusterSecretPath = "\(folder.path)/\(index)"
            } _: { cluster in
                let session = try await cluster.session(ownedBy: 1)
                let response = try await cluster.client(0).post(
                    "\(session.path)/actions", #"{"type":"alert","message":"a"}"#)
                #expect(response.status == 503)
                #expect(try response.json["code"]?.string == "owner_unreachable")
                #expect(response.head["Retry-After"] == "1")
                #expect(try await session.read()["version"]?.integer == 0)
                #expect(cluster.isOwner(1, of: session))
            }
        }
    }
}
