import EngineSuite
import Testing

@testable import Storage

@Suite("Contract §3 — a page is a range of the ids", .timeLimit(.minutes(60)))
struct PageTests {
    private static let ids = [
        "-", "K", "M", "Meet", "me", "mee", "meet", "meet-", "meet-1", "meet-10", "meet_1", "meetZ",
        "meetz", "meetzz", "meeu", "mf", "z", "zz",
    ]
    private static let reactors = ["alerts", "counter"]

    private func filled() async throws -> JournalRig {
        let rig = try JournalRig()
        for (index, id) in Self.ids.shuffled().enumerated() {
            var created = HistoryEntry.created(id)
            created.reactor = Self.reactors[index % 2]
            #expect(await rig.commit([created]) == nil)
        }
        return rig
    }

    @Test func `a prefix selects the ids that begin with it`() async throws {
        let rig = try await filled()
        func ids(_ prefix: String, after: String? = nil, limit: Int = 100) async throws -> [String]
        {
            try await rig.page(SessionRange(after: after, prefix: prefix, limit: limit)).map(
                \.key.session)
        }
        #expect(
            try await ids("meet") == [
                "meet", "meet-", "meet-1", "meet-10", "meetZ", "meet_1", "meetz", "meetzz",
            ])
        #expect(try await ids("meet-1") == ["meet-1", "meet-10"])
        #expect(try await ids("meetzz") == ["meetzz"])
        #expect(try await ids("meetzzz") == [])
        #expect(try await ids("z") == ["z", "zz"])
        #expect(try await ids("meet", after: "meet-1", limit: 2) == ["meet-10", "meetZ"])
        #expect(try await ids("meet", after: "M", limit: 2) == ["meet", "meet-"])
        #expect(try await ids("meet", after: "meetzz") == [])
        #expect(try await ids("meet", after: "zz") == [])
        #expect(try await ids("", after: "zz") == [])
        #expect(try await ids("") == Self.ids.sorted())
    }

    /// The file seeks in its index; memory looks at each session.
    @Test func `the file and the memory have the same pages`() async throws {
        let rig = try await filled()
        let all = try await rig.page()
        #expect(all.count == Self.ids.count)
        let afters: [String?] = [nil, "", "a", "zzz", "é", "\u{212A}", "\u{10FFFF}"] + Self.ids
        for prefix in ["", "n", "0", "_", "meet-100", "\u{212A}"] + Self.ids {
            for after in afters {
                for reactor in [nil, "none"] + Self.reactors {
                    let limit = Int.random(in: 1...8)
                    let range = SessionRange(
                        after: after, prefix: prefix, reactor: reactor, limit: limit)
                    let expected = all.filter { range.contains($0.key.session, of: $0.reactor) }
                    #expect(
                        try await rig.page(range) == Array(expected.prefix(limit)), "\(range)")
                }
            }
        }
    }
}
