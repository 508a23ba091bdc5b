import Cluster
import Clustering
import Feeds
import Sessions
import Storage
import Testing

@Suite(
    "ADR-0049 — a position that this node has not reached may be another owner's",
    .timeLimit(.minutes(60)))
struct UnreachedPositionTests {
    /// The second node owns the session, and has one record of it; the first does not know.
    private func two(isTaken: Bool = true) throws -> (ClusterRig, Session) {
        let rigs = ClusterRig(2, [try .ledger()])
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        guard isTaken else { return (rigs, session) }
        rigs.expire(0)
        let other = try rigs.wake("s", at: 1)
        #expect(try rigs.post(Post.set(1), to: other, at: 1) == "received v1 n1")
        return (rigs, session)
    }

    private func post(
        _ rigs: ClusterRig, _ session: Session, ifMatch positions: String..., key: String? = nil
    ) throws -> String {
        let token = try rigs[0].post(
            Post.set(9), to: session, condition: .oneOf(positions), key: key)
        rigs.settle()
        return rigs[0].line(token)
    }

    private func position(_ session: Session, _ number: Int) -> String {
        "\(session.generation.text).\(number)"
    }

    // MARK: If-Match

    @Test(arguments: [nil, "key"] as [String?])
    func `a post for a record of the next owner is its own to answer`(key: String?) throws {
        let (rigs, session) = try two()
        #expect(
            try post(rigs, session, ifMatch: position(session, 1), key: key)
                == "failed moved v0 n0")
        #expect(rigs[0].table.count == 0)
    }

    @Test func `a post for a session that was created anew elsewhere is its owner's to answer`()
        throws
    {
        let (rigs, session) = try two()
        #expect(try post(rigs, session, ifMatch: "zzzzzzzz.4") == "failed moved v0 n0")
    }

    @Test func `a position that nobody has reached is refused once the journal has said so`()
        throws
    {
        let (rigs, session) = try two(isTaken: false)
        #expect(
            try post(rigs, session, ifMatch: position(session, 1), key: "k")
                == "conditionFailed v0 n0")
        #expect(rigs.nodes[0].counts[.confirm] == 1)
        // The key is free again.
        #expect(
            try post(rigs, session, ifMatch: position(session, 0), key: "k") == "received v1 n1")
    }

    @Test func `an earlier position, and what is none, are refused at once`() throws {
        let (rigs, session) = try two(isTaken: false)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        #expect(
            try post(rigs, session, ifMatch: position(session, 0), "none")
                == "conditionFailed v1 n1")
        #expect(rigs.nodes[0].counts[.confirm] == nil)
    }

    // MARK: Streams

    @Test(arguments: [true, false])
    func `a stream after a record of the next owner follows that one`(
        isSameGeneration: Bool
    ) throws {
        let (rigs, session) = try two()
        let start = isSameGeneration ? position(session, 1) : "zzzzzzzz.4"
        let token = rigs[0].subscribe(session, .allPulses, .after(start))
        rigs.settle()
        #expect(rigs[0].output.isStreaming(token))
        let events = rigs[0].transcript(token).events
        #expect(events.map(\.name) == (isSameGeneration ? [] : ["reset", "snapshot"]))
        #expect(isSameGeneration || events.first?.data == #"{"reason":"generation"}"#)
    }

    @Test func `a stream after what nobody has reached gets a reset`() throws {
        let (rigs, session) = try two(isTaken: false)
        for (start, reason) in [
            (position(session, 7), "ahead"), ("zzzzzzzz.4", "generation"),
            ("none", "malformed"),
        ] {
            let token = rigs[0].subscribe(session, .allPulses, .after(start))
            rigs.settle()
            let events = rigs[0].transcript(token).events
            #expect(events.map(\.name) == ["reset", "snapshot"])
            #expect(events.first?.data == #"{"reason":"\#(reason)"}"#)
        }
        #expect(rigs.nodes[0].counts[.confirm] == 2)
    }

    @Test func `a stream waits no longer than a read while the journal does not answer`() throws {
        let (rigs, session) = try two(isTaken: false)
        rigs.nodes[0].setImmediate(false)
        let token = rigs[0].subscribe(session, .allPulses, .after(position(session, 7)))
        rigs.run()
        rigs[0].clock.uptime += 1_000
        rigs[0].table.answerLateReads()
        #expect(rigs[0].line(token).hasPrefix("unreadable"))
        rigs.settle()
        #expect(!rigs[0].output.isStreaming(token))
    }
}
