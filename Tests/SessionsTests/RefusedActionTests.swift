import Cyclers
import Feeds
import Reactors
import Sessions
import Storage
import TestStreams
import Testing

@Suite("A request that the reactor refuses leaves no trace", .timeLimit(.minutes(60)))
struct RefusedActionTests {
    private func refusal(
        _ rig: Rig, _ body: String, _ session: Session, key: String? = nil
    ) throws -> String {
        let error = try rig.refusal(of: body, on: session, key: key)
        guard case .refused(let refusal, let index)? = error else { return "\(error as Any)" }
        return refusal.description + (index.map { " at \($0)" } ?? "")
    }

    /// The answer as JSON, without the position.
    private func receipt(_ rig: Rig, _ body: String, _ session: Session) throws -> String {
        let token = try rig.act(body, on: session)
        var bytes: [UInt8] = []
        rig.answer(token)?.appendReceipt(to: &bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        guard let start = text.firstIndex(of: "\""),
            let comma = text.firstRange(of: ",\"position\"")
        else { return text }
        let rest = text[comma.upperBound...].drop { $0 != "," }
        return String(text[start..<comma.lowerBound] + rest.dropLast(2))
    }

    @Test(arguments: [true, false], [true, false])
    func `no record, no event, no note, no number and no key`(late: Bool, keepsRecords: Bool) throws
    {
        let rig = Rig(keepsRecords: keepsRecords)
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .everything, .now)
        let log = rig.subscribe(session, .log, .now)
        #expect(
            try refusal(rig, Post.decline(7, late: late), session, key: "k")
                == "declined: 7 is declined.")
        #expect(
            try refusal(
                rig, Post.all(Post.set(1), Post.say("x"), Post.decline(2, late: late), Post.set(3)),
                session) == "declined: 2 is declined. at 2")
        rig.settleAll()
        #expect(session.position.number == 0)
        #expect(rig.lines(reader).isEmpty)
        #expect(rig.lines(log).isEmpty)
        #expect(rig.notes.isEmpty)
        // The key is free: another body may use it.
        let token = try rig.post(Post.set(4), to: session, key: "k")
        rig.endRound()
        #expect(rig.line(token) == "received v1 n1")
        #expect(rig.lines(reader).first == "a 1.1 4")
        let kept = rig.journal.all
        #expect(kept.map(\.action) == (keepsRecords ? [0, 1, 1] : []))
    }

    @Test func `a session that it wakes has no trace of it either`() throws {
        let rig = Rig(answers: true)
        try rig.act(Post.set(1), on: rig.create("s", .ledger()))
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [try .ledger()])
        guard case .session(let woken) = try next.wake("s") else { throw Rig.NoSession(id: "s") }
        let kept = rig.journal.all.count
        #expect(
            try refusal(next, Post.decline(2, late: true), woken, key: "k")
                == "declined: 2 is declined.")
        next.settleAll()
        #expect(rig.journal.all.count == kept)
        #expect(woken.position.number == 1 && next.state(woken).contains(#""a":1"#))
    }

    @Test(arguments: [Post.decline(2, late: false), Post.fill(1_000)])
    func `it is answered after the commit of what it was refused for`(body: String) throws {
        let rig = Rig(slow: true, stateBytes: 1_000)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let accepted = try rig.post(Post.set(1), to: session)
        let refused = try rig.post(body, to: session)
        rig.endRound()
        #expect(rig.answer(refused) == nil)
        rig.settle(.full)
        for token in [accepted, refused] {
            guard case .failed? = rig.answer(token)?.kind else {
                Issue.record("\(rig.line(token))")
                continue
            }
        }
    }

    @Test func `its entries of the log make no snapshot and no closing record due`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        try rig.act(Post.nothing, on: session)
        #expect(session.isSaved)
        let spaces = String(repeating: " ", count: 300_000)
        #expect(
            try refusal(rig, Post.decline(2).dropLast() + spaces + "}", session)
                == "declined: 2 is declined.")
        #expect(session.isSaved)
    }

    /// The number of mutations that are reduced for the second of two refused batches.
    private func reductions(after versions: Int) throws -> Int {
        let rig = Rig()
        let counter = CallCounter()
        let session = try rig.create("s", try .of("counted") { Counted(counter: counter) })
        for _ in 0..<versions { try rig.act("1", on: session) }
        var before = 0
        for _ in 1...2 {
            before = counter.count
            #expect(try refusal(rig, "[1,0]", session) == "no: No. at 1")
        }
        return counter.count - before
    }

    @Test func `refused batches cost the same however many versions are kept`() throws {
        #expect(try reductions(after: 900) == reductions(after: 10))
    }

    private struct Counted: Reactor {
        typealias Action = Int
        typealias Mutation = Int

        let counter: CallCounter
        let initialState = 0

        func mutate(state: Int, action: Int) -> Effect<Int> {
            action == 0 ? .refuse("no", "No.") : .just(action)
        }

        func reduce(state: inout Int, mutation: Int) {
            counter.add()
            state += mutation
        }
    }

    @Test func `the next action, which has its number, is not part of its trace`() async throws {
        let rig = Rig()
        let session = try rig.create("s", try .of("troubled") { Troubled() })
        let tally = TraceTally()
        var post = ActionPost(body: ActionBody(Array(Post.plain("begin").utf8)), token: 0)
        post.trace = tally.trace(1)
        try session.post(post)
        let token = try rig.post(Post.plain("work"), to: session, waits: true)
        await rig.work { rig.answer(token) != nil }
        #expect(tally.parts.isEmpty)
    }

    @Test func `an answer says which hook and which effect failed, and why`() throws {
        let rig = Rig()
        let session = try rig.create("s", try .of("troubled") { Troubled() })
        #expect(
            try receipt(rig, Troubled.reject, session)
                == #""version":0,"accepted":false,"reason":"Fault \"hook\"""#)
        #expect(
            try receipt(rig, Troubled.fail, session)
                == #""version":1,"failed":"Fault \"effect\"""#)
        #expect(try receipt(rig, Troubled.well, session) == #""version":2"#)
        #expect(
            try receipt(
                rig, Post.all(Troubled.well, Troubled.fail, Troubled.reject, Troubled.ignored),
                session)
                == #""version":4,"accepted":false,"rejected":[2,3],"#
                + #""reasons":{"2":"Fault \"hook\""},"failures":{"1":"Fault \"effect\""}"#)
        let many = Array(repeating: Troubled.fail, count: 20).joined(separator: ",")
        let text = try receipt(rig, "[\(many)]", session)
        #expect(text.contains(#""15":"#) && !text.contains(#""16":"#), "it is bounded")
    }

    @Test func `a Cycler refuses one action; of a batch only that one, with its reason`() throws {
        let rig = Rig()
        let clerk = try Registration(
            name: "clerk", activities: ["said"], examples: [],
            makeCycler: { Clerk(heldEffects: HeldEffects()) })
        let session = try rig.create("s", clerk)
        let log = rig.subscribe(session, .log, .now)
        let decline = #"{"type":"decline"}"#
        #expect(try refusal(rig, decline, session) == "declined: It is declined.")
        rig.settleAll()
        #expect(session.position.number == 0)
        #expect(rig.lines(log).isEmpty)
        let mark = #"{"type":"mark","number":1}"#
        #expect(
            try receipt(rig, Post.all(mark, decline, mark), session)
                == #""version":2,"accepted":false,"rejected":[1],"#
                + #""refusals":{"1":{"code":"declined","detail":"It is declined."}}"#)
        #expect(rig.state(session) == #"{"mark":1,"work":0,"ratio":1}"#)
        let actions = Set(rig.journal.all.map(\.action))
        #expect(actions == [0, 1, 2], "the refused ones are not numbered")
        let many = Array(repeating: decline, count: 20).joined(separator: ",")
        let text = try receipt(rig, "[\(many)]", session)
        #expect(text.contains(#""15":{"code":"declined","detail":"It is declined."}"#))
        #expect(text.contains(#""19":{"code":"declined","detail":""}"#), "the texts are bounded")
    }

    @Test func `the refused action of a source is a failure record`() async throws {
        let rig = Rig()
        let (stream, continuation) = AsyncStream.makeStream(of: Troubled.Action.self)
        let session = try rig.create("s", try .of("troubled") { Troubled(more: stream) })
        continuation.yield(.refuse)
        continuation.yield(.well)
        await rig.work { session.version == 1 }
        let kept = rig.journal.all.filter { $0.kind != .note }
        #expect(kept.map(\.kind) == [.created, .failure, .mutation])
        #expect(kept.map(\.action) == [0, 0, 1], "the refused one is not numbered")
        #expect(
            String(decoding: kept[1].content, as: UTF8.self)
                == #"{"place":"source","source":"actions","error":"no: No."}"#)
    }

    private struct Troubled: Reactor {
        typealias Mutation = Int

        enum Action: TaggedCodable, Sendable {
            case well, reject, ignored, fail, refuse, work
            /// Refused after a step was begun.
            case begin
        }

        struct Fault: Error, CustomStringConvertible {
            let place: String
            var description: String { "Fault \"\(place)\"" }
        }

        static let well = Post.plain("well")
        static let reject = Post.plain("reject")
        static let ignored = Post.plain("ignored")
        static let fail = Post.plain("fail")

        var more = AsyncStream<Action> { $0.finish() }
        let initialState = 0

        var sources: [Source] { [.actions(more)] }

        func transform(action: Action) throws -> Action? {
            switch action {
            case .reject: throw Fault(place: "hook")
            case .ignored: nil
            default: action
            }
        }

        func mutate(state: Int, action: Action) -> Effect<Int> {
            switch action {
            case .fail: .concat(.just(1), .error(Fault(place: "effect")), .just(1))
            case .refuse: .concat(.just(1), .refuse("no", "No."))
            case .work: .run { await $0.send(1) }
            case .begin: .merge(.run { await $0.send(1) }, .refuse("no", "No."))
            default: .just(1)
            }
        }

        func reduce(state: inout Int, mutation: Int) { state += mutation }
    }
}
