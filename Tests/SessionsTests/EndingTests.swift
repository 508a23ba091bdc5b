import Feeds
import Reactors
import Sessions
import Storage
import TestStreams
import Testing

/// Ends its session in every way that it can.
struct Closer: Reactor {
    enum Action: TaggedCodable, Sendable {
        case add
        case close
        case closeLater
        /// Begins a step, and ends the session before that can run.
        case closeAmongSteps
        case wait
        /// Ends the session, and makes a state that has no JSON.
        case ruin
        case refuse
        /// Sets a timer whose action ends the session.
        case closeByTimer
        /// Sets a timer, and ends the session.
        case closeWithTimer
    }

    enum Mutation: TaggedCodable, Sendable { case added, ruined }

    struct State: Codable, Sendable {
        @Pulse var sum = 0.0
    }

    let initialState = State()
    var gate = Gate()
    var begun = Gate()

    func recovery(of action: Action) -> Recovery { .runAgain }

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        let (gate, begun) = (gate, begun)
        return switch action {
        case .add: .just(.added)
        case .close: .concat(.just(.added), .end, .just(.added))
        case .closeLater: .concat(.run { _ in await gate.pass() }, .just(.added), .end)
        case .closeAmongSteps: .merge(.run { _ in await begun.pass() }, .end)
        case .wait: .run { _ in await gate.pass() }
        case .ruin: .concat(.just(.ruined), .end)
        case .refuse: .refuse("no", "No.")
        case .closeByTimer: .schedule("close", after: .milliseconds(10), .close)
        case .closeWithTimer: .concat(.schedule("late", after: .milliseconds(10), .add), .end)
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .added: state.sum += 1
        case .ruined: state.sum = .infinity
        }
    }
}

@Suite("An effect ends its session, as a DELETE does", .timeLimit(.minutes(60)))
struct EndingTests {
    private static let add = Post.plain("add")
    private static let close = Post.plain("close")

    private func registration(_ make: @escaping @Sendable () -> Closer = { Closer() }) throws
        -> Registration
    { try .of("closer", make) }

    private func word(_ rig: Rig, _ token: UInt64) -> String { rig.line(token) }

    @Test(arguments: [true, false])
    func `the answer, the events, the end, and then 410`(keepsRecords: Bool) throws {
        let rig = Rig(keepsRecords: keepsRecords, answers: keepsRecords)
        let session = try rig.create("s", registration())
        let reader = rig.subscribe(session, .everything, .now)
        let post = try rig.post(Self.close, to: session)
        // Already decided, and not committed.
        let late = try rig.post(Self.add, to: session)
        rig.settleAll()
        #expect(rig.line(post) == "received v1 n1")
        #expect(rig.line(late).hasPrefix("gone"))
        let lines = rig.lines(reader)
        #expect(lines.last == #"end 2 {"reason":"deleted"}"#)
        #expect(lines.first == "sum 1.1 1" || lines.first == "sum 1 1", "\(lines)")
        guard case .ended = rig.table.find(session.id) else {
            Issue.record("it has ended")
            return
        }
        #expect(rig.journal.all.map(\.kind).last == (keepsRecords ? .deleted : nil))
    }

    @Test func `without a version the answer waits for the commit of the end`() throws {
        let rig = Rig(slow: true, keepsRecords: false)
        let session = try rig.create("s", registration())
        rig.settleAll()
        let post = try rig.post(Post.plain("closeAmongSteps"), to: session)
        rig.endRound()
        #expect(rig.line(post) == "-")
        rig.settleAll()
        #expect(rig.line(post) == "received v0 n0")
        #expect(session.hasEnded)
    }

    @Test func `of a batch nothing after it is carried out, and the answer says so`() throws {
        let rig = Rig()
        let session = try rig.create("s", registration())
        let token = try rig.act(Post.all(Self.add, Self.close, Self.add, Self.add), on: session)
        #expect(rig.line(token) == "rejected [2, 3] v2 n2")
        var body: [UInt8] = []
        rig.answer(token)?.appendReceipt(to: &body)
        let text = String(decoding: body, as: UTF8.self)
        #expect(
            text.contains(
                #""reasons":{"2":"the session has ended","3":"the session has ended"}"#))
        #expect(session.hasEnded)
    }

    @Test(arguments: [true, false])
    func `a request that is refused takes it back`(keepsRecords: Bool) throws {
        let rig = Rig(keepsRecords: keepsRecords)
        let session = try rig.create("s", registration())
        let reader = rig.subscribe(session, .everything, .now)
        #expect(try rig.refusal(of: Post.plain("ruin"), on: session) != nil)
        let batch = Post.all(Post.plain("ruin"), Self.add)
        #expect(try rig.refusal(of: batch, on: session) != nil)
        rig.settleAll()
        #expect(rig.lines(reader).isEmpty)
        #expect(session.isRunning)
        let token = try rig.act(Self.add, on: session)
        #expect(rig.line(token) == "received v1 n1")
    }

    @Test func `a failed commit takes it back`() throws {
        let rig = Rig(slow: true, keepsRecords: false)
        let session = try rig.create("s", registration())
        rig.settleAll()
        let reader = rig.subscribe(session, .everything, .now)
        let token = try rig.act(Self.close, on: session)
        rig.settle(JournalFailure(reason: .full, detail: "full"))
        #expect(rig.line(token).hasPrefix("failed"))
        #expect(session.isRunning)
        #expect(rig.lines(reader).isEmpty)
        let next = try rig.act(Self.add, on: session)
        rig.settleAll()
        #expect(rig.line(next) == "received v1 n1")
    }

    @Test func `what waits for effects gets 410, and the step of the same action does not begin`()
        async throws
    {
        let (gate, begun) = (Gate(), Gate())
        let rig = Rig()
        let session = try rig.create("s", registration { Closer(gate: gate, begun: begun) })
        let waiting = try rig.post(Post.plain("wait"), to: session, waits: true)
        rig.endRound()
        let token = try rig.post(Post.plain("closeAmongSteps"), to: session, waits: true)
        rig.endRound()
        #expect(rig.line(token) == "received v0 n0")
        #expect(rig.line(waiting).hasPrefix("gone"))
        gate.open()
        #expect(begun.arrivals == 0)
    }

    @Test func `an effect that ends it after a wait has its answer`() async throws {
        let gate = Gate()
        let rig = Rig()
        let session = try rig.create("s", registration { Closer(gate: gate) })
        let reader = rig.subscribe(session, .everything, .now)
        let token = try rig.post(Post.plain("closeLater"), to: session, waits: true)
        rig.endRound()
        gate.open()
        await rig.work { session.hasEnded }
        #expect(rig.line(token).hasPrefix("received v1"))
        #expect(rig.lines(reader).last?.hasPrefix("end") == true)
    }

    @Test func `another process finds it ended, whichever commit was the last`() throws {
        for isCommitted in [true, false] {
            let registration = try registration()
            let rig = Rig(slow: true, answers: true, registrations: [registration])
            let session = try rig.create("s", registration)
            rig.settleAll()
            try rig.act(Post.plain("wait"), on: session)
            rig.settleAll()
            try rig.act(Self.close, on: session)
            if isCommitted { rig.journal.endNext(nil) }
            // Nothing else of this process happens.
            rig.table.stop()
            let next = Rig(journal: rig.journal, registrations: [registration])
            let found = try next.wake("s")
            switch found {
            case .ended: #expect(isCommitted)
            case .session(let session):
                #expect(!isCommitted)
                #expect(session.version == 0)
            default: Issue.record("\(found)")
            }
        }
    }

    @Test func `the action of a timer ends it, and timers end with it`() throws {
        for action in ["closeByTimer", "closeWithTimer"] {
            let rig = Rig(answers: true)
            let session = try rig.create("s", registration())
            try rig.act(Post.plain(action), on: session)
            rig.clock.milliseconds += 10
            rig.table.fireTimers()
            rig.settleAll()
            #expect(session.hasEnded)
            #expect(rig.table.timerWait == nil)
            let count = rig.journal.all.count
            rig.clock.milliseconds += 1_000
            rig.table.fireTimers()
            rig.settleAll()
            #expect(rig.journal.all.count == count)
            #expect(rig.journal.all.last?.kind == .deleted)
            #expect(rig.journal.loaded("s")?.timers == [])
        }
    }

    @Test func `a key that was answered is gone with its session`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", registration())
        let first = try rig.post(Self.close, to: session, key: "k")
        let second = try rig.post(Self.close, to: session, key: "k")
        rig.settleAll()
        #expect(rig.line(first) == "received v1 n1")
        #expect(rig.line(second).hasPrefix("gone"))
    }
}
