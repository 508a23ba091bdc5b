import Cyclers
import Feeds
import Reactors
import Sessions
import Synchronization
import Testing

/// Number of live mutations. Global because the coder creates them and has no reference to a test.
private let alive = Atomic<Int>(0)

/// A reactor with large mutations that assign no pulse and are counted while they live.
private struct Hoarder: Reactor {
    final class Load: Codable, Sendable {
        let text: String

        init(_ text: String) {
            self.text = text
            alive.add(1, ordering: .relaxed)
        }

        init(from decoder: any Decoder) throws {
            text = try decoder.singleValueContainer().decode(String.self)
            alive.add(1, ordering: .relaxed)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }

        deinit { alive.subtract(1, ordering: .relaxed) }
    }

    enum Action: TaggedCodable, Sendable {
        case carry(load: Load)
        /// A small body that causes a large mutation.
        case make(bytes: Int)
    }

    enum Mutation: TaggedCodable, Sendable {
        case carried(load: Load)
    }

    struct State: Codable, Sendable {
        var bytes = 0
    }

    let initialState = State()

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .carry(let load): .just(.carried(load: load))
        case .make(let bytes): .just(.carried(load: Load(String(repeating: "x", count: bytes))))
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .carried(let load): state.bytes += load.text.utf8.count
        }
    }
}

@Suite(
    "Case 153 — --keep-bytes bounds all that a session keeps", .serialized, .timeLimit(.minutes(60))
)
struct KeptBytesTests {
    private let load = String(repeating: "x", count: 10_000)
    private var carry: String { #"{"type":"carry","load":"\#(load)"}"# }
    private let make = #"{"type":"make","bytes":10000}"#

    private func kept(_ rig: Rig, _ session: Session) -> ClosedRange<UInt64>? {
        let token = rig.read(session, version: .max)
        rig.endRound()
        guard case .versionUnknown(let kept)? = rig.answer(token)?.kind else { return nil }
        return kept
    }

    @Test(arguments: [true, false]) func `mutations without events count`(
        keepsRecords: Bool
    ) throws {
        let rig = Rig(
            keepsRecords: keepsRecords, retention: Retention(records: 1_000, bytes: 100_000))
        let session = try rig.create("s", .of { Hoarder() })
        let before = alive.load(ordering: .relaxed)
        for _ in 1...300 {
            try rig.act(carry, on: session)
            // A quarter more than the limit, but at least 64 KiB, and the mutation being applied.
            #expect(alive.load(ordering: .relaxed) - before <= 9 + 7 + 2)
        }
        #expect(kept(rig, session) == 291...300)
        #expect(rig.state(session, version: 295).hasPrefix(#"{"bytes":2950000}"#))
        #expect(rig.state(session).hasPrefix(#"{"bytes":3000000}"#))
    }

    @Test(arguments: [true, false]) func `mutations that are larger than their action count`(
        keepsRecords: Bool
    ) throws {
        let rig = Rig(
            keepsRecords: keepsRecords, retention: Retention(records: 1_000, bytes: 100_000))
        let session = try rig.create("s", .of { Hoarder() })
        let before = alive.load(ordering: .relaxed)
        for _ in 1...300 {
            try rig.act(make, on: session)
            // Without records the first eight are measured by their bodies.
            #expect(alive.load(ordering: .relaxed) - before <= 9 + 7 + 2 + 8)
        }
        #expect(kept(rig, session) == 291...300)
    }

    @Test func `many small mutations are kept as before`() throws {
        let rig = Rig(retention: Retention(records: 1_000))
        let session = try rig.create("s", .of { Hoarder() })
        for _ in 1...1_000 { try rig.act(#"{"type":"make","bytes":10}"#, on: session) }
        #expect(kept(rig, session) == 0...1_000)
    }

    @Test func `rolled back mutations do not count`() throws {
        let rig = Rig(slow: true, retention: Retention(records: 1_000, bytes: 100_000))
        let session = try rig.create("s", .of { Hoarder() })
        rig.settleAll()
        for _ in 1...5 {
            try rig.act(carry, on: session)
            rig.settleAll()
        }
        for _ in 1...20 {
            try rig.act(carry, on: session)
            rig.settle(.full)
            rig.settleAll()
        }
        try rig.act(carry, on: session)
        rig.settleAll()
        #expect(kept(rig, session) == 0...6)
    }

    @Test(arguments: [true, false]) func `a Cycler's states count`(keepsRecords: Bool) throws {
        let rig = Rig(
            keepsRecords: keepsRecords, retention: Retention(records: 1_000, bytes: 100_000))
        let session = try rig.create(
            "s",
            try Registration(
                name: "cashier", activities: ["said"], examples: [], makeCycler: { Cashier() }))
        for _ in 1...40 { try rig.act(#"{"type":"shout","text":"\#(load)"}"#, on: session) }
        // The pulse's event is as large as the state.
        let kept = try #require(self.kept(rig, session))
        #expect(kept.upperBound == 40)
        #expect((4...6).contains(kept.count))
    }
}
