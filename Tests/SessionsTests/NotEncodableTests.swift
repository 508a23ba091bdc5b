import Feeds
import JSONCoding
import Cyclers
import Reactors
import Sessions
import Storage
import TestStreams
import Testing

@Suite("Contract §5 — a value without JSON is refused without a trace", .timeLimit(.minutes(60)))
struct NotEncodableTests {
    private let gate = Gate()

    private func begun(
        slow: Bool = false, keepsRecords: Bool = true
    ) throws -> (Rig, Session) {
        let rig = Rig(
            slow: slow, keepsRecords: keepsRecords, answers: keepsRecords,
            registrations: [try registration()])
        let session = try rig.create("s", try registration())
        rig.settleAll()
        return (rig, session)
    }

    private func registration() throws -> Registration {
        let gate = gate
        return try .of("fragile", activities: ["announced"]) { Fragile(gate: gate) }
    }

    /// The reason for which a request is refused.
    private func refusal(_ rig: Rig, _ session: Session, _ body: String) throws -> String {
        let error = try #require(try rig.refusal(of: body, on: session))
        guard case .notEncodable(let what, let failure) = error else { return "\(error)" }
        return "\(what) \(failure.path)"
    }

    private static let empty = #"{"marks":[],"quotient":0.5,"tree":[]}"#

    // Cases 145, 146
    @Test(arguments: [true, false])
    func `a number that is not finite is refused wherever it appears`(keepsRecords: Bool) throws {
        let (rig, session) = try begun(keepsRecords: keepsRecords)
        let reader = rig.subscribe(session, .everything, .now)
        #expect(try refusal(rig, session, Post.plain("divide")) == "the state /quotient")
        #expect(try refusal(rig, session, Post.plain("spoil")) == "the state /quotient")
        #expect(try refusal(rig, session, Post.plain("announce")) == "an activity /quotient")
        #expect(
            try refusal(rig, session, Post.all(Post.mark(1), Post.plain("spoil"), Post.mark(2)))
                .hasPrefix("the "))
        rig.settleAll()
        #expect(rig.state(session) == Self.empty)
        #expect(session.position.number == 0)
        #expect(rig.lines(reader).isEmpty)
        let kept = rig.journal.kept.map(\.kind)
        #expect(kept == (keepsRecords ? [.created] : []))
        #expect(rig.line(try rig.act(Post.mark(3), on: session)) == "received v1 n1")
        #expect(rig.lines(reader).count == 1)
        #expect(rig.notes.isEmpty)
    }

    // Case 146
    @Test(arguments: [true, false])
    func `a state that has no JSON is refused without readers too`(keepsRecords: Bool) throws {
        let (rig, session) = try begun(keepsRecords: keepsRecords)
        _ = try refusal(rig, session, Post.plain("spoil"))
        _ = try refusal(rig, session, Post.plain("divide"))
        #expect(rig.state(session) == Self.empty)
        #expect(rig.state(session, version: 0) == Self.empty)
    }

    // Case 145
    @Test(arguments: [true, false])
    func `a state that is too deep to be read back is refused`(keepsRecords: Bool) throws {
        let (rig, session) = try begun(keepsRecords: keepsRecords)
        // One container for the state, and two for each tree.
        for _ in 0..<63 { try rig.act(Post.plain("nest"), on: session) }
        let place = "/tree" + String(repeating: "/0/trees", count: 63) + "/0"
        #expect(try refusal(rig, session, Post.plain("nest")) == "the state \(place)")
        #expect(session.version == 63)
        let nests = Array(repeating: Post.plain("nest"), count: 200).joined(separator: ",")
        #expect(try refusal(rig, session, "[\(nests)]") == "the state \(place)")
        try rig.act(Post.mark(1), on: session)
        #expect(session.version == 64)
        #expect(rig.state(session).hasPrefix(#"{"marks":[1],"#))
        guard keepsRecords else { return }
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [try registration()])
        guard case .session(let woken) = try next.wake("s") else {
            Issue.record("it is not read back")
            return
        }
        #expect(next.state(woken).hasPrefix(#"{"marks":[1],"#))
    }

    @Test(arguments: [true, false])
    func `a refusal leaves earlier and later actions of the same round alone`(keepsRecords: Bool)
        throws
    {
        let (rig, session) = try begun(slow: true, keepsRecords: keepsRecords)
        let reader = rig.subscribe(session, .allStates, .now)
        rig.settleAll()
        let first = try rig.post(Post.mark(1), to: session)
        let batch = Post.all(Post.mark(8), Post.plain("divide"), Post.mark(9))
        let divided = try rig.post(batch, to: session)
        let second = try rig.post(Post.mark(2), to: session)
        let spoiled = try rig.post(Post.plain("spoil"), to: session)
        rig.settleAll()
        for token in [divided, spoiled] {
            guard case .refused(.notEncodable, _)? = rig.answer(token)?.kind else {
                Issue.record("\(rig.line(token))")
                continue
            }
        }
        #expect(rig.line(first) == "received v1 n1")
        #expect(rig.line(second) == "received v2 n2")
        #expect(
            rig.lines(reader) == [
                #"state 1 {"marks":[1],"quotient":0.5,"tree":[]}"#,
                #"state 2 {"marks":[1,2],"quotient":0.5,"tree":[]}"#,
            ])
        guard keepsRecords else { return }
        let kept = rig.journal.kept.filter { $0.kind != .note }
        #expect(kept.map(\.number) == [0, 1, 2])
        #expect(
            kept.dropFirst().map { String(decoding: $0.content, as: UTF8.self) }
                == [Post.mark(1), Post.mark(2)])
        #expect(kept.map(\.action) == [0, 1, 2], "the refused ones are not numbered")
    }

    @Test func `a refused request neither starts an effect nor cancels one`() async throws {
        let (rig, session) = try begun()
        try rig.act(Post.wait(1), on: session)
        await gate.hasArrivals(1)
        let all = Post.all(Post.wait(2), Post.plain("cancel"), Post.plain("spoil"))
        _ = try refusal(rig, session, all)
        let replaced = Post.all(Post.plain("cancel"), Post.wait(3), Post.plain("spoil"))
        _ = try refusal(rig, session, replaced)
        rig.settleAll()
        #expect(rig.state(session) == Self.empty)
        gate.open()
        await rig.work { session.version == 2 }
        #expect(rig.state(session).hasPrefix(#"{"marks":[1,-1],"#))
        #expect(gate.arrivals == 1)
        // Its name is free again.
        try rig.act(Post.wait(4), on: session)
        await rig.work { session.version == 4 }
        #expect(rig.state(session).hasPrefix(#"{"marks":[1,-1,4,-4],"#))
    }

    @Test func `a mutation of an effect that can't be encoded is dropped with a failure record`()
        async throws
    {
        let (rig, session) = try begun()
        let reader = rig.subscribe(session, .everything, .now)
        try rig.act(Post.mark(0), on: session)
        try rig.act(Post.plain("spoilLater"), on: session)
        gate.open()
        await rig.work { session.version == 3 }
        #expect(rig.state(session).hasPrefix(#"{"marks":[0,1,2],"quotient":0.5,"#))
        try checkFailures(rig, ["/quotient", "/quotient"])
        #expect(rig.transcript(reader).events.count == 3)
    }

    @Test func `mutations that follow it in the same effect are dropped too`() async throws {
        let (rig, session) = try begun()
        try rig.act(Post.mark(0), on: session)
        try rig.act(Post.plain("spoilAfter"), on: session)
        gate.open()
        await rig.work { session.version == 3 }
        #expect(rig.state(session).hasPrefix(#"{"marks":[0,1,2],"quotient":0.5,"#))
        try checkFailures(rig, ["quotient"])
    }

    @Test func `the other mutations of a source's action stay`() async throws {
        let registration = try Registration.of("fragile", activities: ["announced"]) {
            Fragile(actions: [.mark(number: 0), .spoilBetween, .mark(number: 3)])
        }
        let rig = Rig(answers: true, registrations: [registration])
        let session = try rig.create("s", registration)
        await rig.work {
            rig.journal.kept.contains {
                String(decoding: $0.content, as: UTF8.self) == Post.mark(3)
            }
        }
        #expect(rig.state(session).hasPrefix(#"{"marks":[0,1,2,3],"quotient":0.5,"#))
        try checkFailures(rig, ["quotient"])
    }

    private struct Gauge: Reactor {
        enum Action: TaggedCodable, Sendable { case look }
        typealias Mutation = Double

        let levels: AsyncStream<Double>
        let initialState = 0.0
        var sources: [Source] { [.mutations(levels)] }

        func mutate(action: Action) -> Effect<Double> { .none }
        func reduce(state: inout Double, mutation: Double) { state = mutation }
    }

    @Test func `a mutation of a source is dropped, and its failure names the source`() async throws
    {
        let (levels, level) = AsyncStream<Double>.makeStream()
        let rig = Rig(answers: true)
        let session = try rig.create("s", .of("gauge") { Gauge(levels: levels) })
        for value in [1, .infinity, 2] { level.yield(value) }
        await rig.work { session.version == 2 }
        let failures = rig.journal.kept.filter { $0.kind == .failure }
        #expect(failures.count == 1)
        let text = failures.first.map { String(decoding: $0.content, as: UTF8.self) }
        #expect(text?.hasPrefix(#"{"place":"source","source":"mutations","error":"#) == true)
        #expect(rig.state(session) == "2")
    }

    /// Each failure names its action, the second one, and the position.
    private func checkFailures(_ rig: Rig, _ places: [String]) throws {
        let failures = rig.journal.kept.filter { $0.kind == .failure }
        #expect(failures.map(\.action) == places.map { _ in 2 })
        for (failure, place) in zip(failures, places) {
            #expect(String(decoding: failure.content, as: UTF8.self).contains(place))
        }
        let records = rig.journal.kept.filter { $0.kind != .note }
        #expect(records.map(\.number) == Array(0..<UInt64(records.count)))
    }

    // MARK: Cyclers

    private func cycling() throws -> (Rig, Session) {
        let gate = gate
        let registration = try Registration(
            name: "cycler", activities: ["announced"], examples: [],
            makeCycler: { FragileCycler(gate: gate) })
        let rig = Rig(answers: true, registrations: [registration])
        return (rig, try rig.create("s", registration))
    }

    @Test func `a Cycler's action is refused as a whole`() throws {
        let (rig, session) = try cycling()
        #expect(try refusal(rig, session, Post.plain("spoil")) == "the pulse quotient ")
        #expect(try refusal(rig, session, Post.plain("announce")) == "an activity /quotient")
        #expect(rig.state(session) == Self.empty)
        try rig.act(Post.mark(1), on: session)
        #expect(session.version == 1)
        #expect(rig.state(session).hasPrefix(#"{"marks":[1],"quotient":0.5,"#))
        #expect(rig.journal.kept.filter { $0.kind == .mutation }.count == 1)
    }

    @Test func `a Cycler's action that continues after a wait is rolled back to that wait`()
        async throws
    {
        let (rig, session) = try cycling()
        try rig.act(Post.plain("spoilLater"), on: session)
        #expect(session.version == 1)
        gate.open()
        await rig.work { rig.journal.kept.contains { $0.kind == .failure } }
        #expect(session.version == 1)
        let failure = try #require(rig.journal.kept.last { $0.kind == .failure })
        #expect(failure.action == 1)
        #expect(String(decoding: failure.content, as: UTF8.self).contains("the pulse quotient"))
        try rig.act(Post.mark(5), on: session)
        #expect(rig.state(session).hasPrefix(#"{"marks":[1,5],"quotient":0.5,"#))
    }

    @Test func `a Cycler's action that is refused and waits leaves nothing later either`()
        async throws
    {
        let (rig, session) = try cycling()
        #expect(try refusal(rig, session, Post.plain("spoilAndWait")) == "the pulse quotient ")
        try rig.act(Post.plain("spoilLater"), on: session)
        gate.open()
        await rig.work { rig.journal.kept.contains { $0.kind == .failure } }
        try rig.act(Post.mark(5), on: session)
        #expect(rig.state(session).hasPrefix(#"{"marks":[1,5],"quotient":0.5,"#))
    }
}
