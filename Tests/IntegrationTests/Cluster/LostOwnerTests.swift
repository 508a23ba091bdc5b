import Cluster
import Clustering
import Testing
import Wire

@testable import ReactorHosting

@Suite(
    "An owner that is gone, silent or wrong delays a post, and never doubles it",
    .timeLimit(.minutes(60)))
struct LostOwnerTests {
    /// A session that a peer has taken from a server.
    ///
    /// - Parameter isKnown: Whether the server believes that it is the peer's.
    private func withPeer(
        _ acts: [ScriptedPeer.Act], hasPings: Bool = true, saysItsDatabase: Bool? = nil,
        provesItself: Bool = true,
        isKnown: Bool = true,
        _ act: (LocalCluster, ScriptedPeer, SessionHandle) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            let peer = try ScriptedPeer(
                acts, hasPings: hasPings, saysItsDatabase: saysItsDatabase,
                provesItself: provesItself)
            try await LocalCluster.with(1) { cluster in
                let session = try await cluster.session(ownedBy: 0)
                cluster.journal.join(peer.member)
                cluster.journal.give(session.id, to: peer.node)
                // The server learns of it by the read, which looks at the journal.
                if isKnown { _ = try await session.read() }
                try await act(cluster, peer, session)
            }
            await peer.end()
        }
    }

    private static func post(_ session: SessionHandle, key: String? = nil) async throws -> Response
    {
        var request = Request.json(
            "POST", "\(session.path)/actions", #"{"type":"alert","message":"a"}"#)
        if let key { request.fields.append(("Idempotency-Key", key)) }
        return try await session.client.send(request)
    }

    @Test func `the answer of the owner is the client's`() async throws {
        let answer = LinkAnswer(
            status: 418, code: "teapot", fields: [.init("Content-Type", "text/plain")],
            body: Array("short".utf8))
        try await withPeer([.answer(answer)]) { _, _, session in
            let response = try await Self.post(session)
            #expect(response.status == 418)
            #expect(response.text == "short")
            #expect(response.head["Content-Type"] == "text/plain")
        }
    }

    // Without the rule: 503 `moved`.
    @Test func `a post that is refused because its session was taken goes to the owner`()
        async throws
    {
        let answer = LinkAnswer(status: 418, code: "teapot")
        try await withPeer([.answer(answer)], isKnown: false) { cluster, _, session in
            let response = try await Self.post(session)
            #expect(response.status == 418)
            #expect(cluster.journal.deposed == 0)
            let state = try await session.read()
            #expect(state["version"]?.integer == 0)
        }
    }

    private static let requestLimit = Forwarding.Limits.request.nanoseconds

    // Without the rule: 503 `owner_unreachable` at once.
    @Test(arguments: [true, false])
    func `an owner that the last beat has not shown is waited for`(joins: Bool) async throws {
        try await Turnstile.servers.pass {
            let peer = try ScriptedPeer([.answer(LinkAnswer(status: 418, code: "teapot"))])
            try await LocalCluster.with(1) { cluster in
                let session = try await cluster.session(ownedBy: 0)
                cluster.journal.give(session.id, to: peer.node)
                var response: Response
                var isLate: Bool
                repeat {
                    cluster.journal.hide(peer.member)
                    let start = ContinuousClock.now
                    async let answer = Self.post(session)
                    while !cluster.journal.isReferred(session.id) {
                        _ = try await cluster.client(0).get("/livez")
                    }
                    if joins { cluster.journal.join(peer.member) }
                    response = try await answer
                    // On a slow machine it may join after the time for the request.
                    isLate = ContinuousClock.now - start > .nanoseconds(Self.requestLimit)
                } while joins && isLate && response.status == 503
                #expect(response.status == (joins ? 418 : 503))
                if !joins { #expect(try response.json["code"]?.string == "owner_unreachable") }
                #expect(cluster.journal.deposed == 0)
            }
            await peer.end()
        }
    }

    @Test func `it is served once, if its session comes back meanwhile`() async throws {
        try await withPeer([.close], isKnown: false) { cluster, peer, session in
            // The owner ends, which the next look at the journal shows.
            cluster.journal.leave(peer.node)
            let response = try await Self.post(session)
            #expect(response.status == 200)
            let state = try await session.read()
            #expect(state["version"]?.integer == 1)
        }
    }

    @Test func `an owner whose host refuses is deposed at once`() async throws {
        try await withPeer([]) { cluster, peer, session in
            await peer.end()
            let response = try await Self.post(session)
            #expect(response.status == 200)
            #expect(try response.json["version"]?.integer == 1)
            #expect(cluster.journal.deposed == 1)
        }
    }

    @Test func `an owner that ends in the middle leaves the outcome open`() async throws {
        try await withPeer([.end]) { cluster, _, session in
            let response = try await Self.post(session)
            #expect(response.status == 504)
            #expect(try response.json["code"]?.string == "outcome_unknown")
            #expect(try await Self.post(session).status == 200)
            #expect(cluster.journal.deposed == 1)
        }
    }

    @Test func `a post with a key is asked again`() async throws {
        try await withPeer([.end]) { cluster, _, session in
            let response = try await Self.post(session, key: "k")
            #expect(response.status == 200)
            #expect(cluster.journal.deposed == 1)
            let state = try await session.read()
            #expect(state["version"]?.integer == 1)
        }
    }

    @Test func `a 503 after a lost try is a 504`() async throws {
        let busy = LinkAnswer(status: 503, code: "too_busy")
        try await withPeer([.close, .answer(busy)]) { cluster, _, session in
            let response = try await Self.post(session, key: "k")
            #expect(response.status == 504)
            #expect(try response.json["code"]?.string == "outcome_unknown")
            #expect(cluster.journal.deposed == 0, "a link that breaks is no proof")
        }
    }

    private static let running = LinkAnswer(status: 409, code: "request_running")

    // Without the rule: 409, for the client's first post.
    @Test func `a post that meets its own first try waits for it`() async throws {
        let done = LinkAnswer(status: 200, body: Array("done".utf8))
        let running = ScriptedPeer.Act.answer(Self.running)
        try await withPeer([.close, running, running, .answer(done)]) { cluster, _, session in
            let response = try await Self.post(session, key: "k")
            #expect(response.status == 200)
            #expect(response.text == "done")
            #expect(cluster.journal.deposed == 0)
        }
    }

    @Test func `a first try that does not end leaves the outcome open`() async throws {
        let running = ScriptedPeer.Act.answer(Self.running)
        try await withPeer([.close] + Array(repeating: running, count: 100)) {
            cluster, _, session in
            let response = try await Self.post(session, key: "k")
            #expect(response.status == 504)
            #expect(try response.json["code"]?.string == "outcome_unknown")
            #expect(cluster.journal.deposed == 0)
        }
    }

    @Test func `a post that meets another one with its key is refused`() async throws {
        try await withPeer([.answer(Self.running)]) { _, _, session in
            let response = try await Self.post(session, key: "k")
            #expect(response.status == 409)
        }
    }

    @Test func `a silent owner is deposed`() async throws {
        try await withPeer([], hasPings: false, saysItsDatabase: true) { cluster, _, session in
            let response = try await Self.post(session, key: "k")
            #expect(response.status == 200)
            #expect(cluster.journal.deposed == 1)
        }
    }

    @Test func `an owner that does not prove itself has applied nothing`() async throws {
        try await withPeer([], hasPings: false, provesItself: false) { cluster, _, session in
            let response = try await Self.post(session)
            #expect(response.status == 200)
            #expect(cluster.journal.deposed == 1)
        }
    }

    @Test func `nodes that send a request back and forth end it`() async throws {
        var randomness = SystemRandomNumberGenerator()
        let nobody = Node(using: &randomness)
        try await withPeer([.moved(nobody), .moved(nobody), .moved(nobody), .moved(nobody)]) {
            cluster, _, session in
            let response = try await Self.post(session)
            #expect(response.status == 503)
            #expect(try response.json["code"]?.string == "owner_unreachable")
            #expect(cluster.journal.deposed == 0)
        }
    }

    @Test func `an owner without an address is sent nothing`() async throws {
        try await withPeer([]) { cluster, _, session in
            var randomness = SystemRandomNumberGenerator()
            let hidden = Member(node: Node(using: &randomness), address: "", loops: 1)
            cluster.journal.join(hidden)
            cluster.journal.give(session.id, to: hidden.node)
            // The session's home may be the peer, which would not answer. Without the peer, this
            // node asks the journal for the owner.
            cluster.journal.leave(cluster.journal.nodes[1])
            let response = try await Self.post(session)
            #expect(response.status == 503)
            #expect(try response.json["code"]?.string == "owner_unreachable")
        }
    }

    @Test func `the owner hears of a client that has gone`() async throws {
        try await withPeer([]) { cluster, peer, session in
            var raw: RawConnection? = try cluster.servers[0].connect()
            await raw?.send("POST", "\(session.path)/actions", #"{"type":"alert","message":"a"}"#)
            #expect(await peer.until("POST \(session.path)/actions"))
            raw?.makeCloseReset()
            raw = nil
            #expect(await peer.until("gone"))
        }
    }
}
