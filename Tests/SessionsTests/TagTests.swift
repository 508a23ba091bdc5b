import JSONCoding
import Reactors
import Storage
import Testing

@testable import Feeds
@testable import Sessions

/// Has tags that its actions name.
private struct Order: Reactor {
    enum Action: TaggedCodable, Sendable { case set(status: String), note, many(count: Int) }
    typealias Mutation = Action

    struct State: Codable, Sendable {
        var status = "open"
        var notes = 0
        var more = 0
    }

    let initialState = State()

    static func tags(of state: State) -> Tags {
        var tags: Tags = ["status": state.status, "none": nil]
        for number in 0..<state.more { tags["m\(number)"] = "x" }
        return tags
    }

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .set(let status): state.status = status
        case .note: state.notes += 1
        case .many(let count): state.more = count
        }
    }
}

@Suite("A session's tags are those of its committed state", .timeLimit(.minutes(60)))
struct TagTests {
    private func rig(slow: Bool = false, journal: ScriptedJournal? = nil) throws -> Rig {
        Rig(
            slow: slow, answers: true, journal: journal,
            registrations: [try .of("order") { Order() }])
    }

    private func tags(_ rig: Rig, _ id: String) -> [String]? {
        rig.journal.loaded(id)?.tags?.all.map { "\($0.name.text):\($0.value.text)" }
    }

    private static func set(_ status: String) -> String { #"{"type":"set","status":"\#(status)"}"# }
    private static let note = #"{"type":"note"}"#

    @Test func `they are written with the commit that changes them, and only then`() throws {
        let rig = try rig()
        let session = try rig.create("s", .of("order") { Order() })
        #expect(tags(rig, "s") == ["status:open"])
        #expect(rig.journal.keptBatch.tags.count == 1)
        rig.clock.milliseconds += 5
        try rig.act(Self.note, on: session)
        #expect(rig.journal.keptBatch.tags.count == 1)
        try rig.post(Self.set("paid"), to: session)
        #expect(tags(rig, "s") == ["status:open"], "not before the commit")
        try rig.post(Self.set("sent"), to: session)
        rig.endRound()
        #expect(tags(rig, "s") == ["status:sent"])
        #expect(rig.journal.keptBatch.tags.count == 2, "once for a commit")
        #expect(rig.journal.loaded("s")?.tags?.changed == rig.clock.milliseconds)
        try rig.act("[\(Self.set("a")),\(Self.set("sent"))]", on: session)
        #expect(rig.journal.keptBatch.tags.count == 2, "changed and changed back")
    }

    @Test func `a reactor that declares none has none`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        #expect(try !Registration.of("guest") { Silent() }.hasTags)
        #expect(try Registration.of("order") { Order() }.hasTags)
        _ = try rig.create("s", .of("guest") { Silent() })
        #expect(rig.journal.keptBatch.tags == [])
    }

    @Test func `a failed commit takes them back`() throws {
        let rig = try rig(slow: true)
        let session = try rig.create("s", .of("order") { Order() })
        rig.settleAll()
        try rig.act(Self.set("paid"), on: session)
        rig.settle(.full)
        rig.settleAll()
        #expect(tags(rig, "s") == ["status:open"])
        guard case .session(let again) = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
        // The same change again: the tags differ from those in the journal.
        try rig.act(Self.set("paid"), on: again)
        rig.settleAll()
        #expect(tags(rig, "s") == ["status:paid"])
    }

    @Test func `without an archive a failed commit takes them back, too`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .of("order") { Order() })
        rig.settleAll()
        try rig.act(Self.set("paid"), on: session)
        #expect(session.tags?.all == [SessionTag("status", "paid")])
        rig.settle(.full)
        rig.settleAll()
        #expect(session.tags?.all == [SessionTag("status", "open")])
        let before = rig.table.services.tagChanges.present
        try rig.act(Self.set("paid"), on: session)
        rig.settleAll()
        #expect(session.tags?.all == [SessionTag("status", "paid")])
        #expect(rig.table.services.tagChanges.present == before + 1)
    }

    @Test func `a session that wakes keeps them, and a fork has its own`() throws {
        let first = try rig()
        let session = try first.create("s", .of("order") { Order() })
        try first.act(Self.set("paid"), on: session)
        first.table.stop()
        let next = try rig(journal: first.journal)
        guard case .session(let woken) = try next.wake("s") else { throw Rig.NoSession(id: "s") }
        next.settleAll()
        try next.act(Self.note, on: woken)
        #expect(next.journal.keptBatch.tags.count == 2, "unchanged")
        let saved = try #require(next.journal.loaded("s"))
        try next.table.create(
            #require(SessionID("fork")), .of("order") { Order() }, for: next.nextToken(),
            from: saved)
        next.endRound()
        #expect(tags(next, "fork") == ["status:paid"])
    }

    @Test func `a session without them gets them with its next commit`() throws {
        let first = try rig()
        _ = try first.create("s", .of("order") { Order() })
        first.table.stop()
        // As an earlier version wrote it.
        first.journal.edit { $0.tags = [] }
        let next = try rig(journal: first.journal)
        #expect(tags(next, "s") == nil)
        guard case .session(let woken) = try next.wake("s") else { throw Rig.NoSession(id: "s") }
        try next.act(Self.note, on: woken)
        #expect(tags(next, "s") == ["status:open"])
    }

    @Test func `a change and a stub in one commit leave the tags of the change`() throws {
        let rig = try rig()
        let session = try rig.create("s", .of("order") { Order() })
        try rig.post(Self.set("paid"), to: session)
        try session.putStub(
            Array(#"{"enabled":true,"state":{"status":"fake","notes":0,"more":0}}"#.utf8),
            for: rig.nextToken())
        rig.endRound()
        #expect(tags(rig, "s") == ["status:paid"])
        try session.putStub(Array(#"{"enabled":false}"#.utf8), for: rig.nextToken())
        rig.endRound()
        #expect(tags(rig, "s") == ["status:paid"])
    }

    @Test func `tags beyond the limits are left out, and reported`() throws {
        let rig = try rig()
        let session = try rig.create("s", .of("order") { Order() })
        try rig.act(#"{"type":"many","count":9}"#, on: session)
        #expect(tags(rig, "s") == (0..<8).map { "m\($0):x" })
        try rig.act(#"{"type":"many","count":0}"#, on: session)
        let long = String(repeating: "é", count: 33)
        try rig.act(Self.set(long), on: session)
        #expect(tags(rig, "s") == [])
        try rig.act(Self.set(String(repeating: "é", count: 32)), on: session)
        #expect(tags(rig, "s")?.count == 1)
        let reports = rig.output.failures.map { "\($0)" }.filter { $0.contains("tags(of:)") }
        #expect(reports.count == 2, "\(reports)")
        #expect(reports.first?.contains("a session has at most 8") ?? false)
        #expect(reports.last?.contains("value has 1 to 64 bytes") ?? false)
    }

    @Test func `names that no tag can have are refused at registration`() {
        #expect(throws: RegistrationFailure.self) { try Registration.of("bad") { Misnamed() } }
    }

    @Test func `a page in memory has the newest change first, and each session once`() throws {
        let rig = Rig()
        for number in 0..<7 {
            _ = try rig.create("s\(number)", .of("order") { Order() })
            if number % 2 == 0 { rig.clock.milliseconds += 1 }
        }
        try rig.act(Self.set("paid"), on: rig.session("s3"))
        try rig.act(Self.set("open"), on: rig.session("s3"))
        var (seen, selection) = (
            [String](), TagSelection([SessionTag("status", "open")], limit: 2)
        )
        while true {
            let page = rig.table.taggedPage(selection, loop: 3)
            seen += page.prefix(2).map(\.session.id.text)
            guard page.count > 2 else { break }
            selection.after = page[1].place
        }
        #expect(seen == ["s3", "s6", "s5", "s4", "s2", "s1", "s0"])
        selection = TagSelection([], reactor: "order", prefix: "s3", limit: 2)
        #expect(rig.table.taggedPage(selection, loop: 0).map(\.session.id.text) == ["s3"])
    }
}

private struct Silent: Reactor {
    typealias Action = Int
    typealias Mutation = Int
    let initialState = 0
}

private struct Misnamed: Reactor {
    typealias Action = Int
    typealias Mutation = Int
    let initialState = 0

    static func tags(of state: Int) -> Tags { ["Status": "open"] }
}
