import Feeds
import Reactors
import Sessions
import Storage
import TestStreams
import Testing
import Wire

@Suite("An event names the key of the request that has led to it", .timeLimit(.minutes(60)))
struct CauseTests {
    /// `name number[.part] cause` of each event after the first block; `-` without a cause.
    private func causes(_ rig: Rig, _ reader: UInt64) throws -> [String] {
        var decoder = EventStreamDecoder()
        var lines: [String] = []
        let body = StreamBody(rig.output.bytes(of: reader)).content
        try decoder.receive(body.span) { event in
            let place = event.lastEventID.split(separator: ".").dropFirst().joined(separator: ".")
            lines.append("\(event.name) \(place) \(event.cause ?? "-")")
        }
        return lines
    }

    private func post(_ body: String, key: String?, _ session: Session, _ rig: Rig) throws {
        try rig.post(body, to: session, key: key)
        rig.endRound()
        rig.settleAll()
    }

    @Test(arguments: [false, true])
    func `every event of a record has the key of its request`(isChunked: Bool) throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        var everything = Selection.everything
        everything.isChunked = isChunked
        let reader = rig.subscribe(session, everything, .now)
        try post(Post.both(1, 2), key: "k-1", session, rig)
        try post(Post.set(3), key: nil, session, rig)
        try post(Post.all(Post.set(4), Post.say("x")), key: "k-2", session, rig)
        // The same request again leaves no record.
        try post(Post.set(5), key: "k-3", session, rig)
        try post(Post.set(5), key: "k-3", session, rig)
        #expect(
            try causes(rig, reader) == [
                "a 1.1 k-1", "b 1.2 k-1", "state 1 k-1", "a 2.1 -", "state 2 -", "a 3.1 k-2",
                "state 3 k-2", "said 4 k-2", "a 5.1 k-3", "state 5 k-3",
            ])
        let body = String(
            decoding: StreamBody(rig.output.bytes(of: reader)).content, as: UTF8.self)
        #expect(body.contains("1.2\ncause: k-1\ndata: 2\n\n"), "between id and data")
        #expect(body.contains(".2.1\ndata: 3\n\n"), "not a byte more without a key")
    }

    @Test func `on the action log records have it, and notes have it in their content`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let reader = rig.subscribe(session, .log, .now)
        try post(Post.set(1), key: "k", session, rig)
        try post(Post.set(2), key: nil, session, rig)
        #expect(
            try causes(rig, reader) == [
                "action.received 1.1 -", "mutation 1 k", "action.received 2.1 -", "mutation 2 -",
            ])
        #expect(rig.transcript(reader).events.first?.data.contains(#""key":"k""#) == true)
    }

    @Test func `memory shows it again, and the journal does not`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        let session = try rig.create("s", .ledger())
        try post(Post.set(1), key: "k", session, rig)
        try post(Post.set(2), key: nil, session, rig)
        try post(Post.set(3), key: "l", session, rig)
        let kept = rig.subscribe(session, .allPulses, .start)
        #expect(try causes(rig, kept) == ["a 1 k", "a 2 -", "a 3 l"])
        rig.table.stop()
        let later = Rig(journal: rig.journal, registrations: [try .ledger()])
        guard case .session(let woken) = try later.wake("s") else { throw Rig.NoSession(id: "s") }
        let stored = later.subscribe(woken, .allPulses, .start)
        later.drainInbox()
        later.settleAll()
        #expect(try causes(later, stored) == ["a 1 -", "a 2 -", "a 3 -"])
    }

    @Test func `a record that takes the number of one that was rolled back has its own`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settle()
        let reader = rig.subscribe(session, .allPulses, .now)
        try rig.post(Post.set(1), to: session, key: "lost")
        rig.endRound()
        rig.settle(.full)
        try post(Post.set(2), key: nil, session, rig)
        try post(Post.set(3), key: "k", session, rig)
        #expect(try causes(rig, reader) == ["a 1 -", "a 2 k"])
    }

    /// A chain: when its step ends, it counts.
    private struct Chain: Reactor {
        enum Action: TaggedCodable, Sendable { case begin, cancel }
        enum Mutation: TaggedCodable, Sendable { case begun, worked, continued, cancelled }
        struct State: Codable, Sendable { @Pulse var last = "" }
        let initialState = State()
        let gate: Gate

        func mutate(state: State, action: Action) -> Effect<Mutation> {
            guard case .begin = action else {
                return .concat(.cancel("x"), .just(.cancelled))
            }
            let gate = gate
            return .concat(
                .just(.begun),
                .run(id: "x") { send in
                    await gate.pass()
                    await send(.worked)
                },
                .just(.continued))
        }

        func reduce(state: inout State, mutation: Mutation) { state.last = "\(mutation)" }
    }

    @Test func `later parts of effects have none`() async throws {
        let gate = Gate()
        let rig = Rig()
        let session = try rig.create("s", .of { Chain(gate: gate) })
        let reader = rig.subscribe(session, .allPulses, .now)
        let begin = #"{"type":"begin"}"#
        try post(begin, key: "one", session, rig)
        gate.open()
        await rig.work { session.version == 3 }
        #expect(try causes(rig, reader) == ["last 1 one", "last 2 -", "last 3 -"])
    }

    // The chain continues within the request that cancels its step.
    @Test func `parts of another action that continue at once have none`() async throws {
        let gate = Gate()
        let rig = Rig()
        let session = try rig.create("s", .of { Chain(gate: gate) })
        let reader = rig.subscribe(session, .allPulses, .now)
        try post(#"{"type":"begin"}"#, key: "one", session, rig)
        try post(#"{"type":"cancel"}"#, key: "two", session, rig)
        #expect(
            rig.lines(reader) == [
                #"last 1 "begun""#, #"last 2 "cancelled""#, #"last 3 "continued""#,
            ]
        )
        #expect(try causes(rig, reader) == ["last 1 one", "last 2 two", "last 3 -"])
        gate.open()
    }
}
