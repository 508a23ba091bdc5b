import EngineSuite
import Testing

@testable import Storage

@Suite("A journal keeps the owners of sessions", .timeLimit(.minutes(60)))
struct OwnerTests {
    private func created(_ session: String, by owner: ExactText) -> HistoryEntry {
        var created = HistoryEntry.created(session)
        SessionCreation(owner: owner).append(to: &created.content)
        return created
    }

    private func rig() async throws -> JournalRig {
        let rig = try JournalRig()
        var batch = Batch(records: [
            created("a", by: "ada"), created("b", by: "e\"ve\n"), .created("c"),
            created("d", by: "ada"), created("e", by: "ada"),
        ])
        batch.started = [
            RunningAction(
                session: "a", generation: "g1", action: 1, content: Array("{}".utf8),
                subject: "e\"ve\n"),
            RunningAction(session: "a", generation: "g1", action: 2, content: Array("{}".utf8)),
        ]
        #expect(await rig.commit(batch) == nil)
        #expect(await rig.commit([.deleted("e", 1)]) == nil)
        return rig
    }

    private func expectOwners(_ rig: JournalRig) async throws {
        for (session, owner) in [("a", "ada"), ("b", "e\"ve\n"), ("c", nil)]
            as [(String, ExactText?)]
        {
            #expect(try await rig.load(session)?.owner == owner)
        }
        #expect(try await rig.load("a")?.running.map(\.subject) == ["e\"ve\n", nil])
        #expect(try rig.journal.ownedSessions() == ["ada": 2, "e\"ve\n": 1])
    }

    @Test func `after a restart`() async throws {
        let rig = try await rig()
        try await expectOwners(rig)
        try await rig.reopen()
        try await expectOwners(rig)
    }

    @Test func `as text and back`() async throws {
        let rig = try await rig()
        let text = try rig.export()
        let copy = try rig.imported(text)
        #expect(try copy.export() == text)
        try await expectOwners(copy)
    }

    @Test func `byte by byte, also with NUL, after a restart and as text`() async throws {
        // Swift's `String` compares the second pair as equal.
        let owners: [ExactText] = ["ada", "ada\0x", "\u{E9}", "e\u{301}", "\0"]
        let rig = try JournalRig()
        var batch = Batch()
        for (number, owner) in owners.enumerated() {
            batch.records.append(created("s\(number)", by: owner))
            var answer = StoredAnswer.of("s0", "k\n\(owner)")
            answer.body = Array("\(number)".utf8)
            batch.answers.append(answer)
            batch.started.append(
                RunningAction(
                    session: "s\(number)", generation: "g1", action: 1, content: Array("{}".utf8),
                    subject: owner.text))
        }
        #expect(await rig.commit(batch) == nil)
        try await rig.reopen()
        let text = try rig.export()
        let copy = try rig.imported(text)
        #expect(try copy.export() == text)
        for rig in [rig, copy] {
            #expect(
                try rig.journal.ownedSessions()
                    == Dictionary(uniqueKeysWithValues: owners.map { ($0, 1) }))
            for (number, owner) in owners.enumerated() {
                let saved = try #require(try await rig.load("s\(number)"))
                #expect(saved.owner == owner)
                #expect(saved.running.map { $0.subject.map { ExactText($0) } } == [owner])
                let answer = try await rig.answer("s0", key: "k\n\(owner)")
                #expect(answer?.body == Array("\(number)".utf8))
            }
        }
    }

    @Test func `inputs are kept too, after a restart, as text, and without the first record`()
        async throws
    {
        let input = Array(#"{"lot":"e\u0000 \"é","limit":1.50}"#.utf8)
        var (a, b) = (created("a", by: "ada"), HistoryEntry.created("b"))
        a.content = []
        SessionCreation(owner: "ada", input: input).append(to: &a.content)
        SessionCreation(input: Array("7".utf8)).append(to: &b.content)
        let rig = try JournalRig()
        #expect(await rig.commit([a, b, .created("c")]) == nil)
        #expect(await rig.commit((1...50).map { .mutation("a", $0) }) == nil)
        let copy = try rig.imported(try rig.export())
        #expect(try copy.export() == rig.export())
        try await rig.reopen()
        try rig.run("DELETE FROM records WHERE number = 0; DELETE FROM tail WHERE number = 0")
        for rig in [rig, copy] {
            #expect(
                try await rig.load("a")?.creation == SessionCreation(owner: "ada", input: input))
            #expect(try await rig.load("b")?.creation == SessionCreation(input: Array("7".utf8)))
            #expect(try await rig.load("c")?.creation == SessionCreation())
        }
    }

    @Test(arguments: [
        #""ada""#, #"{"owner":"ada","input":{"a":[1]}}"#, #"{"input":null}"#, "", "[1]", "7", "{",
    ])
    func `the content of a creation is read as it was written, or counts as empty`(text: String) {
        let content = Array(text.utf8)
        var again: [UInt8] = []
        SessionCreation(content: content).append(to: &again)
        #expect(again == content || again.isEmpty && ["[1]", "7", "{"].contains(text))
    }

    @Test func `also when the first record is trimmed`() async throws {
        let rig = try await rig()
        #expect(await rig.commit((1...50).map { .mutation("a", $0) }) == nil)
        try rig.run("DELETE FROM records WHERE number = 0; DELETE FROM tail WHERE number = 0")
        #expect(try await rig.load("a")?.owner == "ada")
    }
}
