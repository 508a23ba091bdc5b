import ReactorReplay
import Reactors
import Testing

/// A till, as it was when the export was written, or with one change in its code.
private struct Till: Reactor {
    enum Change {
        case none, reduce, warning, otherMutation, oneMore, oneLess, noEffect, refusing, timers
        case ending
    }

    enum Action: TaggedCodable, Sendable { case add(Int), close, sync }
    enum Mutation: TaggedCodable, Sendable { case added(Int), closed, synced }

    struct State: Codable, Sendable {
        var total = 0
        var entries = 0
        @Pulse var warning: String?
    }

    var change = Change.none
    let initialState = State()

    func transform(action: Action) -> Action? {
        if change == .refusing, case .close = action { return nil }
        return action
    }

    func mutate(action: Action) -> Effect<Mutation> {
        switch action {
        case .add(let amount) where change == .ending && amount == 20:
            .concat(.just(.added(amount)), .end)
        case .add(let amount):
            change == .otherMutation && amount == 30 ? .just(.added(31)) : .just(.added(amount))
        case .close:
            switch change {
            case .oneMore: .concat(.just(.closed), .just(.added(0)), .just(.closed))
            case .oneLess: .just(.closed)
            case .timers:
                .concat(
                    .just(.closed), .schedule("a", after: .zero, .sync),
                    .schedule("b", after: .zero, .sync), .just(.added(0)))
            default: .concat(.just(.closed), .just(.added(0)))
            }
        case .sync:
            change == .noEffect ? .none : .run { send in await send(.synced) }
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .added(let amount):
            state.total += amount
            state.entries += change == .reduce ? 2 : 1
            if state.total > (change == .warning ? 20 : 50) { state.warning = "empty it" }
        case .closed: state.warning = nil
        case .synced: break
        }
    }
}

@Suite("An exported session is replayed with today's code", .timeLimit(.minutes(60)))
struct ReplayTests {
    private static func received(_ number: Int, _ part: Int, _ action: Int, _ text: String)
        -> String
    {
        #"{"record":\#(number),"part":\#(part),"kind":"note","version":0,"action":\#(action),"#
            + #""time":0,"content":{"kind":"action.received","content":{"received":\#(text)}}}"#
    }

    private static func logLine(_ number: Int, _ part: Int, _ action: Int, _ kind: String) -> String
    {
        #"{"record":\#(number),"part":\#(part),"kind":"note","version":0,"action":\#(action),"#
            + #""time":0,"content":{"kind":"\#(kind)","content":null}}"#
    }

    private static func mutation(
        _ version: Int, _ action: Int, _ text: String, _ warning: String? = nil
    ) -> String {
        let events = warning.map { #","events":[{"name":"warning","data":\#($0)}]"# } ?? ""
        return #"{"record":\#(version),"kind":"mutation","version":\#(version),"#
            + #""action":\#(action),"time":0,"content":\#(text)\#(events)}"#
    }

    private static func added(_ amount: Int) -> String { #"{"type":"added","_0":\#(amount)}"# }
    private static func add(_ amount: Int) -> String { #"{"type":"add","_0":\#(amount)}"# }

    private static func snapshot(
        _ version: Int, _ total: Int, _ entries: Int, _ warning: String = "null"
    ) -> String {
        #"{"snapshot":\#(version),"version":\#(version),"lastAction":1,"stateVersion":1,"time":0,"#
            + #""state":{"total":\#(total),"entries":\#(entries),"warning":\#(warning)}}"#
    }

    private static func header(keptVersion: Int = 0) -> String {
        #"{"session":"till-1","reactor":"till","generation":"abcdefgh","created":0,"#
            + #""keptAfter":\#(keptVersion),"keptVersion":\#(keptVersion)}"#
    }

    /// add 10, sync (an effect), add 30, its effect's mutation, add 20 with a warning, close.
    private static let lines = [
        header(),
        #"{"record":0,"kind":"created","version":0,"action":0,"time":0}"#,
        received(1, 1, 1, add(10)), mutation(1, 1, added(10)),
        received(2, 1, 2, #"{"type":"sync"}"#), logLine(2, 2, 2, "effect.started"),
        received(2, 3, 3, add(30)), mutation(2, 3, added(30)),
        mutation(3, 2, #"{"type":"synced"}"#), logLine(4, 1, 2, "effect.ended"),
        received(4, 2, 4, add(20)), mutation(4, 4, added(20), #""empty it""#),
        received(5, 1, 5, #"{"type":"close"}"#), mutation(5, 5, #"{"type":"closed"}"#, "null"),
        mutation(6, 5, added(0), #""empty it""#),
        snapshot(2, 40, 2), snapshot(6, 60, 4, #""empty it""#),
        #"{"running":2,"action":{}}"#,
    ]

    private func replay(
        _ change: Till.Change, _ lines: [String] = lines
    ) throws -> ReplayDifference? {
        let session = try ExportedSession(of: lines.joined(separator: "\n") + "\n")
        return try session.replay(with: Till(change: change))
    }

    @Test func `the same code makes no difference`() throws {
        #expect(try replay(.none) == nil)
    }

    @Test func `a reduce that assigns a pulse elsewhere differs at that version`() throws {
        let difference = try #require(try replay(.warning))
        #expect(difference.version == 2)
        #expect(difference.action == 3)
        #expect(
            difference.reason
                == #"today the pulse warning is "empty it"; the export has no assignment"#)
    }

    @Test func `a reduce without a pulse differs at the next saved state`() throws {
        let difference = try #require(try replay(.reduce))
        #expect(difference.version == 2)
        #expect(difference.agreed == 0)
        #expect(difference.reason.contains(#""entries":4"#))
        #expect(difference.reason.contains(#""entries":2"#))
        // Without that state, at the one after it.
        let later = try replay(.reduce, Self.lines.filter { !$0.hasPrefix(#"{"snapshot":2"#) })
        #expect(later?.version == 6)
    }

    @Test func `a mutate that makes another mutation differs at its version`() throws {
        let difference = try #require(try replay(.otherMutation))
        #expect(difference.version == 2)
        #expect(
            difference.description
                == "version 2, action 3: today the mutation is \(Self.added(31)); the export "
                + "has \(Self.added(30))")
    }

    @Test func `a mutate that makes one mutation more differs after the last`() throws {
        let difference = try #require(try replay(.oneMore))
        #expect(difference.version == 7)
        #expect(
            difference.reason
                == #"today there is the mutation {"type":"closed"}; the export has none"#)
    }

    @Test func `a mutate that makes one mutation less differs at that one`() throws {
        let difference = try #require(try replay(.oneLess))
        #expect(difference.version == 6)
        #expect(
            difference.reason == "today there is no mutation; the export has \(Self.added(0))")
    }

    @Test func `an action that is rejected today makes none of its mutations`() throws {
        #expect(try replay(.refusing)?.version == 5)
    }

    @Test func `an action that ends the session today differs after its mutations`() throws {
        let difference = try #require(try replay(.ending))
        #expect(difference.version == 4)
        #expect(
            difference.reason == "today the action ends the session; in the export it continues")
    }

    @Test func `an effect that there is no more differs where it was heard of`() throws {
        let difference = try #require(try replay(.noEffect))
        #expect(difference.version == 3)
        #expect(difference.action == 2)
        #expect(
            difference.reason
                == #"today the action has no effect that could make {"type":"synced"}"#)
    }

    @Test func `mutations of sources and versions of stubs are taken as recorded`() throws {
        let lines = [
            Self.header(), Self.mutation(1, 0, Self.added(5)),
            #"{"record":2,"kind":"mutation","version":2,"action":0,"time":0,"#
                + #""events":[{"name":"warning","data":"of a stub"}]}"#,
            Self.received(3, 1, 1, Self.add(1)), Self.mutation(3, 1, Self.added(1)),
            Self.snapshot(3, 6, 2),
        ]
        #expect(try replay(.none, lines) == nil)
        #expect(try replay(.reduce, lines)?.version == 3)
    }

    private static let close = received(1, 1, 1, #"{"type":"close"}"#)
    private static let closed = mutation(1, 1, #"{"type":"closed"}"#, "null")

    private static func set(_ record: Int, _ part: Int, _ name: String) -> String {
        #"{"record":\#(record),"part":\#(part),"kind":"note","version":0,"action":1,"time":0,"#
            + #""content":{"kind":"timer.set","content":{"name":"\#(name)","number":1}}}"#
    }

    private static func failure(_ record: Int, _ error: String) -> String {
        #"{"record":\#(record),"kind":"failure","version":1,"action":1,"time":0,"#
            + #""content":{"place":"effect","error":"\#(error)"}}"#
    }

    // `.concat(.just(.closed), .schedule("a"), .schedule("b"), .just(.added(0)))`
    @Test(arguments: ["timers", "timerAction"])
    func `a timer beyond the limits ends its effect as it did before`(limit: String) throws {
        let (a, rest) = (Self.set(2, 1, "a"), Self.mutation(2, 1, Self.added(0)))
        let head = [Self.header(), Self.close, Self.closed]
        #expect(try replay(.timers, head + [a, Self.set(2, 2, "b"), rest]) == nil)
        #expect(try replay(.timers, head + [a, Self.failure(2, limit)]) == nil)
        #expect(try replay(.timers, head + [Self.failure(2, limit)]) == nil)
        // Without such a record, the mutation is missing.
        #expect(try replay(.timers, head + [a])?.version == 2)
        #expect(try replay(.timers, head + [a, Self.failure(2, "Fault")])?.version == 2)
    }

    @Test func `trimmed history begins from its saved state`() throws {
        let rest = [
            Self.mutation(8, 1, #"{"type":"synced"}"#),
            Self.received(9, 1, 2, Self.add(1)), Self.mutation(9, 2, Self.added(1)),
            Self.snapshot(9, 41, 8),
        ]
        let kept = [Self.header(keptVersion: 7)] + rest
        #expect(try replay(.none, kept + [Self.snapshot(7, 40, 7)]) == nil)
        let difference = try replay(.reduce, kept + [Self.snapshot(7, 40, 7)])
        #expect(difference?.version == 9)
        #expect(difference?.agreed == 7)
        let fault = #expect(throws: ReplayFault.self) { try replay(.none, kept) }
        #expect(fault?.description == "there is no state of version 7 to begin from")
    }

    @Test(arguments: [
        (
            Self.received(2, 3, 3, Self.add(30)), #"{"type":"subtract"}"#, 7,
            "the action can't be decoded: "
        ),
        (
            Self.mutation(2, 3, Self.added(30)), #"{"type":"took"}"#, 8,
            "the mutation can't be decoded: "
        ),
    ])
    func `a record that today's types cannot read is named`(
        _ line: String, _ text: String, _ number: Int, _ reason: String
    ) throws {
        let kept = line.contains("note") ? Self.add(30) : Self.added(30)
        let lines = Self.lines.map { $0 == line ? line.replacing(kept, with: text) : $0 }
        let fault = try #require(throws: ReplayFault.self) { _ = try replay(.none, lines) }
        #expect(fault.line == number)
        #expect(fault.reason.hasPrefix("record 2, version "))
        #expect(fault.reason.contains(reason))
    }

    @Test func `a missing record is a fault and no difference`() throws {
        let missing = Self.lines.filter { $0 != Self.mutation(1, 1, Self.added(10)) }
        let fault = #expect(throws: ReplayFault.self) { try replay(.none, missing) }
        #expect(fault?.description == "line 4: the record before record 2 is 0")
        let skipping = Self.lines.map {
            $0.replacing(
                #""record":3,"kind":"mutation","version":3"#,
                with: #""record":3,"kind":"mutation","version":4"#)
        }
        let other = #expect(throws: ReplayFault.self) { try replay(.none, skipping) }
        #expect(
            other?.description == "line 9: record 3, version 4: it follows version 2")
        let large = [
            Self.header().replacing("\"keptVersion\":0", with: "\"keptVersion\":\(UInt64.max)")
        ]
        #expect(throws: ReplayFault.self) { try replay(.none, large) }
    }

    @Test func `a session has the input with which it was created`() throws {
        struct Start: Decodable, Equatable { var float: Int }
        let input = #""owner":"ada","input":{"float":50},"keptVersion""#
        let header = Self.header().replacing("\"keptVersion\"", with: input)
        let session = try ExportedSession(of: header)
        #expect(session.owner == "ada")
        #expect(try session.input(as: Start.self) == Start(float: 50))
        let fault = #expect(throws: ReplayFault.self) { try session.input(as: [Int].self) }
        #expect(
            fault?.description.hasPrefix("the input can't be decoded: invalid at its root") == true)
        let plain = try ExportedSession(of: Self.header())
        #expect(plain.owner == nil)
        #expect(try plain.input(as: Start?.self) == nil)
        #expect(throws: ReplayFault.self) { try plain.input(as: Start.self) }
    }

    @Test func `a session is found by its id, and a text that is none is a fault`() throws {
        let other = Self.lines.map { $0.replacing("till-1", with: "till-2") }
        let text =
            ([#"{"journal":2}"#] + other + Self.lines + [#"{"end":1}"#]).joined(separator: "\n")
        let session = try ExportedSession("till-1", of: text)
        #expect(session.id == "till-1")
        #expect(session.reactor == "till")
        #expect(try session.replay(with: Till()) == nil)
        for (id, text, words) in [
            ("till-3", text, "the text does not contain the session till-3"),
            (nil, "", "the text does not contain any session"),
            (nil, Self.header() + "\nnonsense", "line 2: it is not a line of an export"),
            (
                nil, Self.header() + "\n{\"record\":\"x\"}",
                "line 2: it is not a line of an export: "
            ),
        ] as [(String?, String, String)] {
            let fault = #expect(throws: ReplayFault.self) { try ExportedSession(id, of: text) }
            #expect(fault?.description.hasPrefix(words) == true, "\(words)")
        }
    }
}

/// The till after a deployment that renamed a field and a mutation.
private struct LaterTill: Reactor {
    enum Action: TaggedCodable, Sendable { case add(Int), close, sync }
    enum Mutation: TaggedCodable, Sendable { case put(Int), closed, synced }

    struct State: Codable, Sendable {
        var sum = 0
    }

    static let stateVersion = 2

    static func migrate(state saved: SavedValue) throws -> State {
        struct Before: Decodable { var total: Int }
        return State(sum: try saved.decode(Before.self).total)
    }

    static func migrate(mutation saved: SavedValue) throws -> Mutation {
        switch try saved.decode(Till.Mutation.self) {
        case .added(let amount): .put(amount)
        case .closed: .closed
        case .synced: .synced
        }
    }

    let initialState = State()

    func mutate(action: Action) -> Effect<Mutation> {
        switch action {
        case .add(let amount): .just(.put(amount))
        case .close: .concat(.just(.closed), .just(.put(0)))
        case .sync: .run { send in await send(.synced) }
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        if case .put(let amount) = mutation { state.sum += amount }
    }
}

extension ReplayTests {
    @Test func `saved states and mutations of an earlier version are migrated`() throws {
        let lines = [
            Self.header(keptVersion: 7), Self.received(8, 1, 2, Self.add(1)),
            Self.mutation(8, 2, Self.added(1)), Self.snapshot(8, 41, 8), Self.snapshot(7, 40, 7),
        ]
        let session = try ExportedSession(of: lines.joined(separator: "\n"))
        #expect(try session.replay(with: LaterTill()) == nil)
        let wrong = lines.map { $0.replacing(#""total":41"#, with: #""total":42"#) }
        let other = try ExportedSession(of: wrong.joined(separator: "\n"))
        #expect(try other.replay(with: LaterTill())?.version == 8)
    }
}
