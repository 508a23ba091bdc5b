import Cluster
import Testing
import Wire

@testable import ReactorHosting

@Suite("ADR-0052 — events reach other nodes by the owner's hints", .timeLimit(.minutes(60)))
struct HintedStreamTests {
    /// Waits until the owner sends hints of a session that the first server follows.
    private func untilHinted(_ cluster: LocalCluster) async throws {
        while !(try await page(cluster, 0)).contains("\nreactor_hinted_sessions 1\n") {}
    }

    private func page(_ cluster: LocalCluster, _ index: Int) async throws -> String {
        try await cluster.client(index).get("/metrics").text
    }

    // An hour between two questions: without hints the first event would not come before the
    // limit of the test.
    @Test(arguments: ["pulses", "states"])
    func `events come although the journal is asked once in an hour`(query: String) async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with(followPause: 3_600_000) { cluster in
                let session = try await cluster.session(ownedBy: 1)
                let owner = SessionHandle(
                    client: cluster.client(1), id: session.id, created: session.created)
                let stream = try await session.follow(query)
                try await untilHinted(cluster)
                for number in 0..<20 {
                    try await owner.alert("\(number)")
                    #expect(try await stream.next().data.contains("\"\(number)\""))
                }
                #expect(cluster.isOwner(1, of: session))
                let (here, there) = (try await page(cluster, 0), try await page(cluster, 1))
                #expect(!here.contains("reactor_hints_total{direction=\"received\"} 0\n"))
                #expect(!there.contains("reactor_hints_total{direction=\"sent\"} 0\n"))
                // Without a question.
                #expect(!here.contains("\nreactor_follow_records_total 0\n"))
                #expect(try await owner.client.delete(session.path).status == 204)
                #expect(try await stream.rest().last?.name == "end")
            }
        }
    }

    // MARK: A peer

    /// A stream at a server of a session that a peer owns.
    private func withPeer(
        _ acts: [ScriptedPeer.Act] = [], hintActs: [ScriptedPeer.HintAct]?,
        _ act: (LocalCluster, ScriptedPeer, SessionHandle, EventStream) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            let peer = try ScriptedPeer(acts, hintActs: hintActs)
            try await LocalCluster.with(1) { cluster in
                let session = try await cluster.session(ownedBy: 0)
                cluster.journal.join(peer.member)
                cluster.journal.give(session.id, to: peer.node)
                _ = try await session.read()
                try await act(cluster, peer, session, try await session.follow("pulses"))
            }
            await peer.end()
        }
    }

    /// The server becomes the owner, and the stream continues.
    private func expectNext(
        _ stream: EventStream, _ session: SessionHandle, _ peer: ScriptedPeer,
        _ cluster: LocalCluster
    ) async throws {
        cluster.journal.leave(peer.node)
        try await session.alert("a")
        #expect(try await stream.next().data == "\"a\"")
    }

    // The frame would end the link, and with it the requests.
    @Test func `a node of a release without hints is asked for none`() async throws {
        let answer = ScriptedPeer.Act.answer(LinkAnswer(status: 418))
        try await withPeer([answer, answer], hintActs: nil) { cluster, peer, session, stream in
            let post = Request.json(
                "POST", "\(session.path)/actions", #"{"type":"alert","message":"a"}"#)
            for _ in 0..<2 { #expect(try await session.client.send(post).status == 418) }
            for _ in 0..<2 { #expect(await peer.next()?.hasPrefix("POST ") == true) }
            try await expectNext(stream, session, peer, cluster)
        }
    }

    @Test func `false hints change nothing`() async throws {
        let hints = [
            LinkHint(generation: "zzzzzzzz", number: 1, part: 0),
            LinkHint(generation: "\0\0\0\0\0\0\0\0", number: .max, part: .max),
            LinkHint(generation: "zzzzzzzz", number: 0, part: 1),
        ]
        try await withPeer(hintActs: [.hints(hints)]) { cluster, peer, session, stream in
            #expect(await peer.next() == "follow \(session.id)")
            try await untilHinted(cluster)
            try await expectNext(stream, session, peer, cluster)
        }
    }

    @Test(arguments: [ScriptedPeer.HintAct.refuse, .close])
    func `an owner that refuses, or whose link ends, is asked again`(act: ScriptedPeer.HintAct)
        async throws
    {
        let hint = LinkHint(generation: "zzzzzzzz", number: 1, part: 0)
        try await withPeer(hintActs: [act, .hints([hint])]) { cluster, peer, session, stream in
            for _ in 0..<2 { #expect(await peer.next() == "follow \(session.id)") }
            try await untilHinted(cluster)
            try await expectNext(stream, session, peer, cluster)
        }
    }

    @Test func `the last reader ends the hints`() async throws {
        try await withPeer(hintActs: []) { _, peer, session, stream in
            #expect(await peer.next() == "follow \(session.id)")
            await stream.close()
            #expect(await peer.next() == "unfollow")
        }
    }
}
