import Cyclers
import Reactors
import Sessions
import Storage
import Testing

@testable import Feeds

/// A text that grows by the given text, or doubles.
private struct Notebook: Reactor {
    enum Action: TaggedCodable, Sendable {
        case add(text: String)
        case addLater(text: String)
        /// Doubles the text.
        case double
        case clear
    }

    enum Mutation: TaggedCodable, Sendable {
        case add(text: String)
        case double
        case clear
    }

    struct State: Codable, Sendable {
        var text = ""
        @Pulse var adds = 0
    }

    let initialState = State()

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .add(let text): .just(.add(text: text))
        case .addLater(let text): .run { send in await send(.add(text: text)) }
        case .double: .just(.double)
        case .clear: .just(.clear)
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .add(let text):
            state.text += text
            state.adds += 1
        case .double: state.text += state.text
        case .clear: state.text = ""
        }
    }
}

/// A text that can be emptied, and a number that JSON may be unable to represent.
private struct Measured: Reactor {
    enum Action: TaggedCodable, Sendable {
        case add(text: String)
        case clear
        case spoil
    }

    struct State: Codable, Sendable {
        var text = ""
        var ratio = 0.0
    }

    let initialState = State()

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .add(let text): state.text += text
        case .clear: state.text = ""
        case .spoil: state.ratio = .nan
        }
    }
}

@Suite("Case 153 — --state-limit bounds a session's state", .timeLimit(.minutes(60)))
struct StateLimitTests {
    private func add(_ count: Int, _ type: String = "add") -> String {
        #"{"type":"\#(type)","text":"\#(String(repeating: "x", count: count))"}"#
    }

    private func batch(_ action: String, _ count: Int) -> String {
        "[\(Array(repeating: action, count: count).joined(separator: ","))]"
    }

    private func begun(
        keepsRecords: Bool = true, _ limit: Int = 2_000
    ) throws -> (Rig, Session) {
        let rig = Rig(keepsRecords: keepsRecords, stateBytes: limit)
        return (rig, try rig.create("s", .of { Notebook() }))
    }

    private func isRefused(_ body: String, _ session: Session, _ rig: Rig) throws -> Bool {
        guard let refusal = try rig.refusal(of: body, on: session) else { return false }
        guard case .stateTooLarge(limit: 2_000) = refusal else { throw refusal }
        return true
    }

    @Test(arguments: [true, false])
    func `a state of exactly the limit is accepted, one more byte is refused`(
        keepsRecords: Bool
    ) throws {
        let (rig, session) = try begun(keepsRecords: keepsRecords)
        let empty = rig.state(session).utf8.count
        let reader = rig.subscribe(session, .allPulses, .now)
        #expect(try !isRefused(add(2_000 - empty), session, rig))
        let full = rig.state(session)
        #expect(full.utf8.count == 2_000)
        #expect(try isRefused(add(1), session, rig))
        #expect(try isRefused(Post.all(add(5), add(6)), session, rig))
        #expect(rig.state(session) == full)
        #expect(session.version == 1)
        #expect(rig.lines(reader) == ["adds 1 1"])
        #expect(rig.journal.kept.filter { $0.kind == .failure }.isEmpty)
        // The state can be made smaller, and the session continues.
        #expect(try !isRefused(#"{"type":"clear"}"#, session, rig))
        #expect(try !isRefused(add(10), session, rig))
        #expect(rig.lines(reader) == ["adds 1 1", "adds 3 2"])
        #expect(rig.state(session) == #"{"text":"xxxxxxxxxx","adds":2}"#)
    }

    @Test(arguments: [true, false])
    func `a batch just below the limit measures the state once`(keepsRecords: Bool) throws {
        let limit = 200_000
        let (rig, session) = try begun(keepsRecords: keepsRecords, limit)
        try rig.act(add(limit - 200), on: session)
        // Until the intervals between two measurements are long.
        for _ in 0..<200 { try rig.act(add(0), on: session) }
        rig.table.pass.most = 0
        try rig.act(batch(add(0), 50), on: session)
        #expect(rig.table.pass.most < 3 * limit)
        let full = rig.state(session)
        let refusal = try rig.refusal(of: batch(add(9), 50), on: session)
        guard case .stateTooLarge(limit: limit)? = refusal else {
            return #expect(refusal == nil, "not refused")
        }
        #expect(rig.state(session) == full)
        // At the end it is within the limit.
        #expect(
            try rig.refusal(of: Post.all(add(1_000), #"{"type":"clear"}"#), on: session) == nil)
        #expect(rig.state(session).utf8.count < 100)
    }

    @Test func `many small changes reach the limit, and none exceeds it`() throws {
        let (rig, session) = try begun()
        var refused = 0
        for _ in 1...100 where try isRefused(add(50), session, rig) { refused += 1 }
        #expect(refused > 50)
        #expect((1_900...2_000).contains(rig.state(session).utf8.count))
        #expect(session.version == UInt64(100 - refused))
    }

    @Test func `a batch with one action that does not fit is refused as a whole`() throws {
        let (rig, session) = try begun()
        #expect(try isRefused(Post.all(add(1_000), add(1_500), add(10)), session, rig))
        #expect(session.version == 0)
        #expect(rig.journal.kept.map(\.kind) == [.created])
        #expect(try !isRefused(Post.all(add(1_000), add(10)), session, rig))
        #expect(session.version == 2)
    }

    @Test func `the measurements of a refused batch are discarded`() throws {
        let rig = Rig(stateBytes: 2_000)
        let session = try rig.create("s", .of { Measured() })
        #expect(try !isRefused(add(1_900), session, rig))
        // Enough of them to measure the empty state in between.
        let clears = Array(repeating: #"{"type":"clear"}"#, count: 100).joined(separator: ",")
        let spoiled = "[\(clears),{\"type\":\"spoil\"}]"
        #expect(try rig.refusal(of: spoiled, on: session) != nil)
        #expect(session.version == 1)
        #expect(try isRefused(add(200), session, rig))
    }

    @Test func `an effect's mutation is dropped, and a failure record says so`() async throws {
        let (rig, session) = try begun()
        #expect(try !isRefused(add(1_900), session, rig))
        let token = try rig.post(add(100, "addLater"), to: session, waits: true)
        rig.endRound()
        await rig.work { rig.answer(token) != nil }
        #expect(session.version == 1)
        let failures = rig.journal.kept.filter { $0.kind == .failure }
        #expect(failures.count == 1)
        #expect(String(decoding: failures[0].content, as: UTF8.self).contains("2000 bytes"))
    }

    @Test func `a reducer that multiplies its state is stopped`() throws {
        let (rig, session) = try begun(1_000_000)
        try rig.act(add(1), on: session)
        for _ in 1...60 { _ = try? rig.act(#"{"type":"double"}"#, on: session) }
        #expect(rig.state(session).utf8.count <= 1_000_000)
        #expect(session.version >= 17)
    }

    @Test(arguments: [true, false]) func `a Cycler's action is refused as a whole`(
        keepsRecords: Bool
    ) throws {
        let rig = Rig(keepsRecords: keepsRecords, stateBytes: 2_000)
        let session = try rig.create(
            "s",
            try Registration(
                name: "cashier", activities: ["said"], examples: [], makeCycler: { Cashier() }))
        let empty = #"{"sum":0,"text":""}"#.utf8.count
        func shout(_ count: Int) -> String {
            #"{"type":"shout","text":"\#(String(repeating: "x", count: count))"}"#
        }
        #expect(try isRefused(shout(2_001 - empty), session, rig))
        #expect(session.version == 0)
        #expect(try !isRefused(shout(2_000 - empty), session, rig))
        #expect(rig.state(session).utf8.count == 2_000)
        #expect(try isRefused(shout(2_001 - empty), session, rig))
        #expect(session.version == 1)
        #expect(try !isRefused(shout(5), session, rig))
    }

    @Test func `a stub shows no state beyond the limit`() throws {
        let rig = Rig(stateBytes: 100)
        let session = try rig.create("s", .ledger())
        let empty = #"{"a":1,"b":0,"touched":0,"filling":""}"#.utf8.count
        func put(_ count: Int) throws {
            let filling = String(repeating: "x", count: count - empty)
            let state = #"{"a":1,"b":0,"touched":0,"filling":"\#(filling)"}"#
            try session.putStub(
                Array(#"{"enabled":true,"state":\#(state)}"#.utf8), for: rig.nextToken())
            rig.endRound()
        }
        #expect {
            try put(101)
        } throws: {
            if case StubRefusal.stateTooLarge(100)? = $0 as? StubRefusal { true } else { false }
        }
        #expect(session.version == 0)
        #expect(rig.state(session).utf8.count < 100)
        try put(100)
        #expect(rig.state(session).utf8.count == 100)
    }
}
