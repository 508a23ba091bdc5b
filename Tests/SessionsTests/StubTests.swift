import Feeds
import Reactors
import Sessions
import Storage
import Testing

@Suite("Cases 102 to 106 — a stub, and the history around it", .timeLimit(.minutes(60)))
struct StubTests {
    private func put(_ body: String, _ rig: Rig, _ session: Session) throws {
        try session.putStub(Array(body.utf8), for: rig.nextToken())
        rig.endRound()
    }

    private func stubbed(
        answers: Bool = false, retention: Retention = Retention()
    ) throws -> (Rig, Session) {
        let rig = Rig(answers: answers, retention: retention)
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        try put(#"{"enabled":true}"#, rig, session)
        for a in [10, 20] {
            try put(#"{"state":{"a":\#(a),"b":0,"touched":0,"filling":""}}"#, rig, session)
        }
        try rig.act(Post.set(2), on: session)
        try put(#"{"enabled":false}"#, rig, session)
        try rig.act(Post.touch, on: session)
        try rig.act(Post.set(3), on: session)
        return (rig, session)
    }

    @Test func `states of a stub do not count in the turn of the next request`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        rig.table.limits.turnBytes = 1_000
        try put(#"{"enabled":true}"#, rig, session)
        for number in 0..<3 {
            let name = String(repeating: "\(number)", count: number == 2 ? 2_000 : 600)
            let state = #"{"a":0,"b":0,"touched":0,"filling":"\#(name)"}"#
            try put(#"{"state":\#(state)}"#, rig, session)
        }
        try put(#"{"enabled":false}"#, rig, session)
        let token = try rig.act(Post.set(1), on: session)
        #expect(rig.line(token).hasPrefix("received"))
    }

    private let shown = [0, 1, 10, 20, 1, 1, 3]

    @Test func `case 106: every version is shown as it was, the stub's and the reactor's own`()
        throws
    {
        let (rig, session) = try stubbed()
        for (version, a) in shown.enumerated() {
            #expect(rig.state(session, version: UInt64(version)).hasPrefix(#"{"a":\#(a),"#))
        }
        let reader = rig.subscribe(session, .allStates, .start)
        #expect(
            rig.transcript(reader).events.map { String($0.data.prefix(6)) }
                == shown.dropFirst().map { String(#"{"a":\#($0),"#.prefix(6)) })
    }

    @Test func `case 104: an injected state assigns the pulses it names; switching assigns none`()
        throws
    {
        let (rig, session) = try stubbed()
        let heard = rig.lines(rig.subscribe(session, .allPulses, .start))
        #expect(
            heard.filter { $0.hasPrefix("a ") } == ["a 1 1", "a 2.1 10", "a 3.1 20", "a 6 3"])
    }

    @Test func `trimming removes the stub's versions like others`() throws {
        let (rig, session) = try stubbed(retention: Retention(records: 300))
        for number in 1...1_000 { try rig.act(Post.set(number), on: session) }
        #expect(rig.state(session, version: 1_006).hasPrefix(#"{"a":1000,"#))
        #expect(rig.state(session, version: 900).hasPrefix(#"{"a":894,"#))
        #expect(rig.state(session, version: 3).hasPrefix("versionUnknown"))
    }

    @Test func `after a restart the reactor's own state is there, and old versions are its own`()
        throws
    {
        let (rig, session) = try stubbed(answers: true)
        #expect(
            rig.page(session).entries.filter { $0.hasPrefix("state.") }
                == ["state.replaced 2", "state.replaced 3", "state.replaced 4"])
        rig.table.stop()
        let later = Rig(journal: rig.journal, registrations: [try .ledger()])
        guard case .session(let woken) = try later.wake("s") else { throw Rig.NoSession(id: "s") }
        #expect(woken.version == 6)
        #expect(later.state(woken).hasPrefix(#"{"a":3,"#))
        #expect(
            later.page(woken).entries.filter { $0.hasPrefix("state.") }
                == ["state.replaced 2", "state.replaced 3", "state.replaced 4"])
    }

    private struct Cake: Reactor {
        /// The JSON of zero pieces would have an infinite number.
        struct Slicing: Codable, Sendable {
            var pieces = 1
            private enum CodingKeys: CodingKey { case pieces, size }

            init() {}

            init(from decoder: any Decoder) throws {
                pieces = try decoder.container(keyedBy: CodingKeys.self)
                    .decode(Int.self, forKey: .pieces)
            }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(pieces, forKey: .pieces)
                try container.encode(1 / Double(pieces), forKey: .size)
            }
        }

        enum Action: TaggedCodable, Sendable { case eat }
        struct State: Codable, Sendable {
            @Pulse var slicing = Slicing()
            var eaten = 0
        }
        let initialState = State()
        func reduce(state: inout State, mutation: Action) { state.eaten += 1 }
    }

    @Test(arguments: [true, false])
    func `a state that is read and has no JSON is refused, and the next request is not`(
        keepsRecords: Bool
    ) throws {
        let rig = Rig(keepsRecords: keepsRecords)
        let session = try rig.create("s", try .of("cake") { Cake() })
        let reader = rig.subscribe(session, .everything, .now)
        try put(#"{"enabled":true}"#, rig, session)
        #expect {
            try put(#"{"state":{"slicing":{"pieces":0},"eaten":1}}"#, rig, session)
        } throws: {
            if case StubRefusal.notEncodable? = $0 as? StubRefusal { true } else { false }
        }
        #expect(rig.line(try rig.act(#"{"type":"eat"}"#, on: session)) == "received v0 n0")
        #expect(rig.lines(reader).isEmpty)
        try put(#"{"state":{"slicing":{"pieces":4},"eaten":1}}"#, rig, session)
        #expect(rig.state(session) == #"{"slicing":{"pieces":4,"size":0.25},"eaten":1}"#)
    }

    @Test func `a failed commit rolls the stub's versions back`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        try rig.act(Post.set(1), on: session)
        rig.settleAll()
        try put(#"{"enabled":true,"state":{"a":10,"b":0,"touched":0,"filling":""}}"#, rig, session)
        try put(#"{"enabled":false}"#, rig, session)
        rig.settle(.full)
        rig.settleAll()
        #expect(rig.state(session).hasPrefix(#"{"a":1,"#))
        try rig.act(Post.set(2), on: session)
        #expect(rig.state(session).hasPrefix(#"{"a":2,"#))
        #expect(session.version == 2)
    }
}
