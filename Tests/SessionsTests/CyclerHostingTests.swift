import Cyclers
import Feeds
import Reactors
import Sessions
import Storage
import TestStreams
import Testing

@Suite(
    "Contract §2 — a Cycler has commits in order, sources and the stub, like a reactor",
    .timeLimit(.minutes(60)))
struct CyclerHostingTests {
    private let world = World()
    private let gate = Gate()

    private func registration(_ stream: AsyncStream<Cashier.Action>? = nil) throws -> Registration {
        let (world, gate) = (world, gate)
        return try Registration(
            name: "cashier", activities: ["said"], examples: [],
            makeCycler: { Cashier(gate: gate, world: world, stream: stream) })
    }

    private func begun(
        slow: Bool = false, answers: Bool = false, _ stream: AsyncStream<Cashier.Action>? = nil
    ) throws -> (Rig, Session) {
        let rig = Rig(slow: slow, answers: answers, registrations: [try registration()])
        let session = try rig.create("s", try registration(stream))
        rig.settleAll()
        return (rig, session)
    }

    // MARK: The journal first

    @Test func `a waiting action continues when its commits are in the journal, and not before`()
        async throws
    {
        let (rig, session) = try begun(slow: true)
        let token = try rig.post(Cashier.charge(5), to: session, waits: true)
        rig.endRound()
        await rig.inbox.hasJob()
        rig.drainInbox()
        rig.endRound()
        #expect(world.pendingEvents == [])
        rig.settle()
        #expect(world.pendingEvents == ["charged 5"])
        rig.settleAll()
        #expect(rig.line(token) == "received v1 n2")
    }

    @Test func `when the journal fails, the action gets an error that nothing was saved`()
        async throws
    {
        let (rig, session) = try begun(slow: true)
        let token = try rig.act(Cashier.charge(5), on: session)
        await rig.inbox.hasJob()
        rig.drainInbox()
        rig.settle(.full)
        #expect(rig.line(token) == "failed full v0 n0")
        #expect(world.pendingEvents == ["lost 5"])
        rig.settleAll()
        #expect(rig.state(session) == #"{"sum":0,"text":null}"#)
        #expect(rig.journal.kept.map(\.kind) == [.created])
    }

    @Test func `an action without commits continues when its beginning is in the journal`()
        async throws
    {
        let (rig, session) = try begun(slow: true)
        try rig.act(Cashier.call, on: session)
        try rig.act(Cashier.add(1), on: session)
        await rig.inbox.hasJob()
        rig.drainInbox()
        #expect(world.pendingEvents == [])
        rig.settle()
        // Pending: the other session's commit, and this one's end.
        #expect(rig.journal.pendingCount == 2)
        #expect(world.pendingEvents == ["called"])
        #expect(rig.journal.keptBatch.started.map(\.action) == [1])
        rig.settleAll()
        #expect(rig.journal.kept.map(\.kind) == [.created, .mutation])
    }

    @Test func `after a restart an action is run again if the Cycler asks for it`() async throws {
        let (rig, session) = try begun(answers: true)
        try rig.act(Cashier.charge(5), on: session)
        try rig.act(Cashier.addLater(1), on: session)
        rig.table.stop()
        let later = Rig(journal: rig.journal, registrations: [try registration()])
        guard case .session(let woken) = try later.wake("s") else { throw Rig.NoSession(id: "s") }
        await later.work { world.pendingEvents.count == 1 }
        later.settleAll()
        #expect(world.pendingEvents == ["charged 5"])
        #expect(later.state(woken) == #"{"sum":11,"text":null}"#)
        #expect(later.journal.kept.filter { $0.kind == .failure }.count == 1)
    }

    // MARK: Sources

    @Test func `cases 56, 97: a source's elements are actions, and its end is reported`()
        async throws
    {
        let (stream, feed) = AsyncStream<Cashier.Action>.makeStream()
        let (rig, session) = try begun(stream)
        feed.yield(.add(number: 4))
        feed.yield(.addThenFail(number: 50))
        feed.yield(.add(number: 2))
        feed.finish()
        await rig.work { rig.page(session).entries.contains { $0.hasPrefix("source.ended") } }
        #expect(rig.state(session) == #"{"sum":6,"text":null}"#)
        #expect(session.version == 2)
    }

    // MARK: Saved forms

    @Test func `an older state is migrated and saved again`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", try growing { Plain() })
        for number in [2, 3] { try rig.act(#"{"add":{"_0":\#(number)}}"#, on: session) }
        let later = Rig(journal: rig.journal, registrations: [try growing { Grown() }])
        guard case .session(let grown) = try later.wake("s") else { throw Rig.NoSession(id: "s") }
        #expect(later.state(grown) == #"{"sum":5,"unit":"m"}"#)
        #expect(later.journal.keptBatch.snapshots.last?.stateVersion == 2)
        try later.act(#"{"add":{"_0":4}}"#, on: grown)
        let last = Rig(journal: rig.journal, registrations: [try growing { Grown() }])
        guard case .session(let again) = try last.wake("s") else { throw Rig.NoSession(id: "s") }
        #expect(last.state(again) == #"{"sum":9,"unit":"m"}"#)
    }

    private func growing<C: ActionCycler & SendableMetatype>(
        _ make: @escaping @Sendable () -> C
    ) throws -> Registration
    where C.Action: Codable, C.State: Codable, C.Activity: Codable {
        try Registration(name: "growing", activities: [], examples: [], makeCycler: make)
    }

    @Test func `a null state is a state, and no version of a stub`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", try growing { Maybe() })
        for value in ["5", "null"] { try rig.act(#"{"set":{"_0":\#(value)}}"#, on: session) }
        let later = Rig(journal: rig.journal, registrations: [try growing { Maybe() }])
        guard case .session(let woken) = try later.wake("s") else { throw Rig.NoSession(id: "s") }
        #expect(later.state(woken) == "null")
        #expect(later.page(woken).entries.filter { $0.hasPrefix("mutation") }.count == 2)
    }

    // MARK: The stub

    private func put(_ body: String, _ rig: Rig, _ session: Session) throws {
        try session.putStub(Array(body.utf8), for: rig.nextToken())
        rig.endRound()
    }

    private func stub(_ rig: Rig, _ session: Session) throws -> String {
        let token = rig.nextToken()
        session.readStub(for: token)
        rig.endRound()
        guard case .stub(let body)? = rig.answer(token)?.kind else { return "-" }
        return String(decoding: body, as: UTF8.self)
    }

    @Test func `cases 102, 103, 106: a stub records actions and shows states; the own state waits`()
        throws
    {
        let (rig, session) = try begun(answers: true)
        let reader = rig.subscribe(session, .everything, .now)
        try rig.act(Cashier.add(1), on: session)
        try put(#"{"enabled":true}"#, rig, session)
        try rig.act(Cashier.add(50), on: session)
        #expect(rig.state(session) == #"{"sum":1,"text":null}"#)
        try put(#"{"state":{"sum":99,"text":"x"}}"#, rig, session)
        #expect(rig.state(session) == #"{"sum":99,"text":"x"}"#)
        try put(#"{"enabled":false}"#, rig, session)
        #expect(
            try stub(rig, session)
                == #"{"enabled":false,"actions":[{"type":"add","number":50}]}"# + "\n")
        try rig.act(Cashier.add(2), on: session)
        #expect(
            rig.lines(reader) == [
                #"state 1 {"sum":1,"text":null}"#, #"text 2.1 "x""#,
                #"state 2 {"sum":99,"text":"x"}"#, #"state 3 {"sum":1,"text":null}"#,
                #"state 4 {"sum":3,"text":null}"#,
            ])
        let sums = (0...4).map { rig.state(session, version: $0).prefix(9) }
        #expect(
            sums == [#"{"sum":0,"#, #"{"sum":1,"#, #"{"sum":99"#, #"{"sum":1,"#, #"{"sum":3,"#])
        #expect(
            rig.page(session).entries.filter { $0.hasPrefix("state.") || $0.contains("recorded") }
                == ["action.recorded 2.2", "state.replaced 2", "state.replaced 3"])
        rig.table.stop()
        let later = Rig(journal: rig.journal, registrations: [try registration()])
        guard case .session(let woken) = try later.wake("s") else { throw Rig.NoSession(id: "s") }
        #expect(later.state(woken) == #"{"sum":3,"text":null}"#)
        #expect(woken.version == 4)
    }

    @Test func `a stub cancels waiting actions and discards what they still do`() async throws {
        let (rig, session) = try begun()
        let waiting = try rig.post(Cashier.addLater(2), to: session, waits: true)
        rig.endRound()
        try put(#"{"enabled":true}"#, rig, session)
        #expect(rig.line(waiting) == "received v1 n1")
        gate.open()
        await rig.inbox.hasJob()
        rig.drainInbox()
        rig.settleAll()
        try put(#"{"enabled":false}"#, rig, session)
        #expect(rig.state(session) == #"{"sum":2,"text":null}"#)
        #expect(rig.line(try rig.act(Cashier.add(1), on: session)) == "received v2 n2")
        #expect(
            rig.page(session).entries.filter { $0.hasPrefix("effect.") }.map { $0.prefix(12) }
                == ["effect.start", "effect.cance"])
    }

    @Test func `a failed commit rolls back the stub's versions and the own state`() throws {
        let (rig, session) = try begun(slow: true)
        try rig.act(Cashier.add(1), on: session)
        rig.settleAll()
        try rig.act(Cashier.add(10), on: session)
        try put(#"{"enabled":true,"state":{"sum":99,"text":"x"}}"#, rig, session)
        rig.settle(.full)
        rig.settleAll()
        #expect(rig.state(session) == #"{"sum":1,"text":null}"#)
        try put(#"{"state":{"sum":50}}"#, rig, session)
        rig.settleAll()
        #expect(rig.state(session) == #"{"sum":50,"text":null}"#)
        try put(#"{"enabled":false}"#, rig, session)
        rig.settleAll()
        try rig.act(Cashier.add(2), on: session)
        rig.settleAll()
        #expect(rig.state(session) == #"{"sum":3,"text":null}"#)
        #expect(session.version == 4)
    }
}

private final class Plain: ActionCycler {
    enum Action: Codable, Sendable { case add(Int) }
    struct State: Codable, Sendable { var sum = 0 }
    let state: Storage<State> = .init(.init())

    func receive(_ action: Action) async throws {
        if case .add(let number) = action { commit { $0.update($0.value.sum + number, \.sum) } }
    }
}

private final class Grown: ActionCycler {
    typealias Action = Plain.Action
    struct State: Codable, Sendable {
        var sum = 0
        var unit = "m"
    }
    let state: Storage<State> = .init(.init())
    static let stateVersion = 2

    static func migrate(state saved: SavedValue) throws -> State {
        State(sum: try saved.decode(Plain.State.self).sum)
    }

    func receive(_ action: Action) async throws {
        if case .add(let number) = action { commit { $0.update($0.value.sum + number, \.sum) } }
    }
}

private final class Maybe: ActionCycler {
    enum Action: Codable, Sendable { case set(Int?) }
    typealias State = Int?
    let state: Storage<Int?> = .init(nil)

    func receive(_ action: Action) async throws {
        if case .set(let value) = action { commit { $0.replace(value) } }
    }
}

extension Cashier {
    static let call = #"{"type":"call"}"#
    static func charge(_ number: Int) -> String { #"{"type":"charge","number":\#(number)}"# }
}
