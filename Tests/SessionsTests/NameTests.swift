import Reactors
import Sessions
import Storage
import TestRandomness
import Testing

@testable import Feeds

@Suite("Contract §1, §3 — names: session ids, generations, positions", .timeLimit(.minutes(60)))
struct NameTests {
    @Test func `a session id is 1 to 128 of A-Z a-z 0-9 _ -, and nothing else`() {
        for text in ["a", "A", "0", "_", "-", "a-b_C9", String(repeating: "x", count: 128)] {
            #expect(SessionID(text)?.text == text)
            let bytes = Array("/\(text)/".utf8)
            #expect(SessionID(bytes, 1..<(bytes.count - 1))?.text == text)
        }
        let bad = [
            "", " ", "a b", "a.b", "a/b", "a%20", "ä", "a\n", "a\0", "é", "a+b", "a=b", "@", "[",
            "`", "{", ":", String(repeating: "x", count: 129),
        ]
        for text in bad {
            #expect(SessionID(text) == nil, "\(text)")
            let bytes = Array(text.utf8)
            #expect(SessionID(bytes, 0..<bytes.count) == nil, "\(text)")
        }
    }

    @Test func `a generated id is 22 allowed characters, different each time`() {
        var generator = SeededGenerator(seed: 1)
        let ids = (0..<1_000).map { _ in SessionID.random(using: &generator) }
        #expect(Set(ids).count == 1_000)
        for id in ids {
            #expect(id.text.utf8.count == 22)
            #expect(SessionID(id.text) == id)
        }
        // All 128 bits are used: each of the first 21 characters takes every value of the alphabet.
        for place in 0..<21 {
            #expect(Set(ids.map { Array($0.text.utf8)[place] }).count == 64)
        }
    }

    @Test func `an id always belongs to the same loop, and loops share ids evenly`() throws {
        var counts = [0, 0, 0]
        for number in 0..<3_000 {
            let id = try #require(SessionID("session-\(number)"))
            let owner = id.owner(of: 3)
            #expect(owner == id.owner(of: 3))
            #expect(id.owner(of: 1) == 0)
            counts[owner] += 1
        }
        #expect(counts.allSatisfy { $0 > 800 }, "\(counts)")
    }

    // The second one's events had the name of the first one.
    @Test func `names of events that are only canonically equal are two names`() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let names = [composed, decomposed]
        let bytes = names.map { Array($0.utf8) }
        #expect(composed == decomposed)
        #expect(EventName.faults(in: names) == [])
        #expect(EventName.faults(in: [composed, composed]).count == 1)
        for announced in [names, []] {
            let catalog = EventCatalog(
                of: "r", pulses: [], properties: [], activities: announced
            ) { _, _, _ in preconditionFailure("nothing is rebuilt") }
            var activities = ActivityNames()
            let indices = names.map { activities.index(named: $0, in: catalog) }
            try #require(indices == [0, 1])
            for index in 0..<2 {
                #expect(Array(activities.name(at: index, in: catalog).utf8) == bytes[index])
                let prefix = activities.prefix(at: index, in: catalog)
                #expect(prefix == Array("event: ".utf8) + bytes[index] + Array("\nid: ".utf8))
            }
        }
    }

    @Test func `a position survives writing and reading`() throws {
        let generation = try #require(Generation(Array("ab3d9fg0".utf8)))
        let positions: [(Position, String)] = [
            (Position(generation, 0), "ab3d9fg0.0"),
            (Position(generation, 17), "ab3d9fg0.17"),
            (Position(generation, .max), "ab3d9fg0.18446744073709551615"),
            (Position(generation, 5, part: 2), "ab3d9fg0.5.2"),
            (Position(generation, 5, part: .max), "ab3d9fg0.5.4294967295"),
        ]
        for (position, text) in positions {
            #expect(position.text == text)
            #expect(Position(text) == position)
        }
    }

    @Test(arguments: [
        "", ".", "..", "ab3d9fg0", "ab3d9fg0.", "ab3d9fg0..1", "ab3d9fg0.1.", "ab3d9fg0.-1",
        "ab3d9fg0.+1", "ab3d9fg0.01", "ab3d9fg0.00", "ab3d9fg0.1.0", "ab3d9fg0.1.01",
        "ab3d9fg0.1.4294967296", "ab3d9fg0.18446744073709551616", "ab3d9fg0.99999999999999999999",
        "ab3d9fg0.1.2.3", "ab3d9fg.1", "ab3d9fg00.1", "AB3D9FG0.1", "ab3d9fg_.1", "ab3d9fg0.1 ",
        " ab3d9fg0.1", "ab3d9fg0.0x1", "ab3d9fg0.١", "ab3d9fgé.1", "ab3d9fg0.0.1", "\"ab3d9fg0.1\"",
    ])
    func `a text that this service never writes is no position`(text: String) {
        #expect(Position(text) == nil)
    }

    @Test func `a generation is eight of a-z 0-9, different each time`() {
        var generator = SeededGenerator(seed: 2)
        let drawn = (0..<1_000).map { _ in Generation(using: &generator) }
        #expect(Set(drawn).count == 1_000)
        for generation in drawn {
            #expect(generation.text.utf8.count == 8)
            #expect(Generation(Array(generation.text.utf8)) == generation)
        }
    }
}

@Suite(
    "Contract §3.2 — a reactor that can't be hosted is refused at registration",
    .timeLimit(.minutes(60))
)
struct RegistrationTests {
    @Test func `pulses are found in the order of their declaration`() throws {
        let registration = try Registration.ledger()
        #expect(registration.pulses == ["a", "b", "filling"])
        #expect(registration.activities == ["said"])
    }

    @Test(arguments: [
        "snapshot", "reset", "state", "end", "ping", "problem", "message", "open", "error", "patch",
        "receipt", "mutation", "cause", "log",
    ])
    func `reserved names of the service and of EventSource are refused`(name: String) {
        let failure = #expect(throws: RegistrationFailure.self) {
            try Registration.of("x", activities: [name]) { Ledger() }
        }
        #expect(
            failure?.faults == ["\(name) is reserved; a pulse or activity needs another name"])
    }

    @Test(arguments: ["", "a b", "a/b", "ä", "a.b", String(repeating: "x", count: 65)])
    func `a reactor's name that is not plain is refused`(name: String) {
        #expect(throws: RegistrationFailure.self) { try Registration.of(name) { Ledger() } }
    }

    @Test func `all faults are reported together`() {
        let failure = #expect(throws: RegistrationFailure.self) {
            try Registration.of("no good", activities: ["a", "ping", "x\ny", ""]) { Ledger() }
        }
        #expect(failure?.faults.count == 5)
    }

    @Test func `examples are encoded in the form for posting`() throws {
        let registration = try Registration(
            name: "x", activities: [], examples: [.set(a: 1), .touch], clock: ContinuousClock()
        ) { Ledger() }
        #expect(
            registration.examples.map { String(decoding: $0, as: UTF8.self) }
                == [Post.set(1), Post.touch])
    }
}

@Suite("Contract §3 — pages of many sessions in memory", .timeLimit(.minutes(60)))
struct MemoryPageTests {
    @Test func `a page has the first sessions of its range, in order`() throws {
        let rig = Rig(sessions: 3_000)
        let ids = (0..<2_500).map { "s\($0)" }
        for id in ids.shuffled() { try rig.create(id, .ledger()) }
        let sorted = ids.sorted()
        let cases: [(String?, Int)] = [(nil, 1), ("s1", 700), ("s24", 1_000), ("s998", 3)]
        for (after, limit) in cases {
            let page = rig.table.page(SessionRange(after: after, limit: limit)).map(\.id.text)
            #expect(page == Array(sorted.filter { $0 > after ?? "" }.prefix(limit)))
        }
        let narrow = rig.table.page(SessionRange(prefix: "s99", limit: 20)).map(\.id.text)
        #expect(narrow == sorted.filter { $0.hasPrefix("s99") })
    }
}
