import Feeds
import JSONCoding
import Reactors
import Sessions
import Testing

@Suite("ADR-0087 — states as patches", .timeLimit(.minutes(60)))
struct PatchStreamTests {
    /// A session whose state is long enough for patches.
    private func filled(_ rig: Rig, _ bytes: Int = 5_000) throws -> Session {
        let session = try rig.create("s", .ledger())
        try rig.act(Post.fill(bytes), on: session)
        return session
    }

    private func lines(_ rig: Rig, _ reader: UInt64) -> [String] {
        rig.lines(reader).map { line in
            line.count < 1_000 ? line : String(line.prefix { $0 != "{" }) + "(whole)"
        }
    }

    @Test func `after the first state, each state is a patch of the previous one`() throws {
        let rig = Rig()
        let session = try filled(rig)
        let reader = rig.subscribe(session, .patches)
        try rig.act(Post.touch, on: session)
        try rig.act(Post.touch, on: session)
        for name in ["n", "n", nil, "m"] { try rig.act(Post.name(name), on: session) }
        #expect(
            lines(rig, reader) == [
                "snapshot 1 (whole)", "state 2 (whole)",
                #"patch 3 [{"op":"replace","path":"/touched","value":2}]"#,
                #"patch 4 [{"op":"replace","path":"/name","value":"n"}]"#, "patch 5 []",
                #"patch 6 [{"op":"remove","path":"/name"}]"#,
                #"patch 7 [{"op":"add","path":"/name","value":"m"}]"#,
            ])
        let late = rig.subscribe(session, .patches)
        try rig.act(Post.touch, on: session)
        #expect(
            lines(rig, late) == [
                "snapshot 7 (whole)", #"patch 8 [{"op":"replace","path":"/touched","value":3}]"#,
            ])
    }

    @Test func `a short state, a long one and a large change are shown whole`() throws {
        let rig = Rig()
        let session = try filled(rig, 100)
        let reader = rig.subscribe(session, .patches)
        try rig.act(Post.touch, on: session)
        try rig.act(Post.touch, on: session)
        #expect(rig.lines(reader).suffix(2).allSatisfy { $0.hasPrefix("state ") })
        try rig.act(Post.fill(6_000), on: session)
        try rig.act(Post.fill(6_001), on: session)
        try rig.act(Post.touch, on: session)
        #expect(
            lines(rig, reader).suffix(3) == [
                "state 4 (whole)", "state 5 (whole)",
                #"patch 6 [{"op":"replace","path":"/touched","value":3}]"#,
            ])
        rig.table.pass.patchedBytes = 4_096...6_000
        for _ in 0..<2 { try rig.act(Post.touch, on: session) }
        #expect(lines(rig, reader).suffix(2) == ["state 7 (whole)", "state 8 (whole)"])
    }

    @Test func `a stream of a part has patches of the part`() throws {
        let rig = Rig()
        let session = try filled(rig)
        let whole = rig.subscribe(session, try .part("").patched())
        let part = rig.subscribe(session, try .part("/touched").patched())
        for _ in 0..<3 { try rig.act(Post.touch, on: session) }
        try rig.act(Post.nothing, on: session)
        #expect(
            lines(rig, whole).suffix(2) == [
                #"patch 3 [{"op":"replace","path":"/touched","value":2}]"#,
                #"patch 4 [{"op":"replace","path":"/touched","value":3}]"#,
            ])
        #expect(rig.lines(part) == ["snapshot 1 0", "state 2 1", "state 3 2", "state 4 3"])
    }

    @Test(arguments: [true, false])
    func `a stream cut at any byte resumes with the missing events`(isChunked: Bool) throws {
        let rig = Rig()
        rig.table.pass.patchedBytes = 1...4_096
        let session = try filled(rig, 300)
        var selection = Selection.everythingAsPatches
        selection.isChunked = isChunked
        let uncut = rig.subscribe(session, selection)
        for number in 1...6 {
            try rig.act(Post.both(number, -number), on: session)
            try rig.act(Post.name(number % 2 == 0 ? nil : "n"), on: session)
        }
        let all = rig.output.bytes(of: uncut)
        let states = try self.states(Transcript(all).events)
        #expect(states.last == rig.state(session))
        #expect(Transcript(all).events.contains { $0.name == "patch" })
        let first = (0..<all.count).first { !Transcript(all[..<$0]).lastEventID.isEmpty } ?? 0
        // At each byte after the first id.
        for hasReaders in [true, false] {
            if !hasReaders { rig.output.disconnect(uncut) }
            for cut in first...all.count {
                let seen = Transcript(all[..<cut])
                let reader = rig.subscribe(session, selection, .after(seen.lastEventID))
                let events = seen.events + rig.transcript(reader).events
                #expect(try self.states(events) == states, "cut at \(cut)")
                rig.output.disconnect(reader)
            }
        }
    }

    /// The states that a reader holds, in order.
    private func states(_ events: [Heard]) throws -> [String] {
        var states: [String] = []
        var state: JSONValue = .null
        for event in events {
            let data = try JSON.decode(JSONValue.self, from: Array(event.data.utf8))
            switch event.name {
            case "snapshot": state = data["state"] ?? data
            case "state": state = data
            case "patch": try JSONPatch(data).apply(to: &state)
            default: continue
            }
            states.append(try Self.text(state))
        }
        return states
    }

    /// In the order of the ledger's members.
    private static func text(_ value: JSONValue) throws -> String {
        let state = try JSON.decode(Ledger.State.self, from: bytes(value))
        return String(decoding: try bytes(state), as: UTF8.self)
    }

    private static func bytes(_ value: some Encodable) throws -> [UInt8] {
        var text: [UInt8] = []
        try JSON.encode(value, into: &text)
        return text
    }

    @Test func `a state with two members of one name is always shown whole`() throws {
        let rig = Rig()
        let session = try rig.create("s", .of { Stammerer() })
        let reader = rig.subscribe(session, .patches)
        for _ in 0..<3 { try rig.act("1", on: session) }
        #expect(
            lines(rig, reader) == [
                "snapshot 0 (whole)", "state 1 (whole)", "state 2 (whole)", "state 3 (whole)",
            ])
    }

    @Test func `a state that was shown before a gap is never the base of a patch`() throws {
        let rig = Rig()
        let session = try filled(rig)
        let reader = rig.subscribe(session, .patches)
        for _ in 0..<2 { try rig.act(Post.touch, on: session) }
        rig.output.disconnect(reader)
        try rig.act(Post.touch, on: session)
        // The reader may hold the state in the form of another program.
        let resumed = rig.subscribe(
            session, .patches, .after("\(session.generation.text).3"))
        try rig.act(Post.touch, on: session)
        #expect(
            lines(rig, resumed) == [
                "state 4 (whole)", #"patch 5 [{"op":"replace","path":"/touched","value":4}]"#,
            ])
    }

    @Test func `the kept state counts in the budget, and is dropped without room`() throws {
        let rig = Rig()
        let session = try filled(rig, 100_000)
        let before = rig.table.feeds.subscribers.work.used
        let reader = rig.subscribe(session, .patches)
        try rig.act(Post.touch, on: session)
        #expect(rig.table.feeds.subscribers.work.used - before >= 100_000)
        try rig.act(Post.touch, on: session)
        #expect(lines(rig, reader).last?.hasPrefix("patch 3 ") == true)
        rig.table.feeds.subscribers.work.adopt(limit: 1_000, clientLimit: 1_000)
        try rig.act(Post.touch, on: session)
        try rig.act(Post.touch, on: session)
        #expect(lines(rig, reader).last == "state 5 (whole)")
    }
}

/// A state that encodes one key twice.
private struct Stammerer: Reactor {
    typealias Action = Int

    struct State: Codable, Sendable {
        var count = 0

        private enum Key: String, CodingKey { case count, text }

        init() {}

        init(from decoder: any Decoder) throws {
            count = try decoder.container(keyedBy: Key.self).decode(Int.self, forKey: .count)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(count, forKey: .count)
            // Registration would refuse an initial state that it cannot read back.
            if count > 0 { try container.encode(0, forKey: .count) }
            try container.encode(String(repeating: "x", count: 5_000), forKey: .text)
        }
    }

    let initialState = State()

    func reduce(state: inout State, mutation: Int) { state.count += mutation }
}
