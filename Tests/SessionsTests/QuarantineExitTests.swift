import Feeds
import Reactors
import Sessions
import Storage
import Testing

@Suite("Case 149 — a quarantined session can be deleted or restored", .timeLimit(.minutes(60)))
struct QuarantineExitTests {
    /// A session that can't be rebuilt, in a process that has not looked for it yet.
    private func spoiled(_ damage: Damage = .undecodable) throws -> Rig {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        for number in 1...3 { try rig.act(Post.set(number), on: session) }
        rig.journal.spoil(
            SessionKey(session: "s", generation: session.generation.text), damage)
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [try .ledger()])
        next.journal.setImmediate(false)
        return next
    }

    private func name() throws -> SessionID { try #require(SessionID("s")) }

    private func word(_ found: SessionLookup) -> String {
        switch found {
        case .session(let session): "session \(session.version)"
        case .copy: "copy"
        case .ended: "ended"
        case .nothing: "nothing"
        case .notInMemory: "notInMemory"
        case .quarantined: "quarantined"
        case .unreadable: "unreadable"
        case .noRoom: "noRoom"
        case .overBudget: "overBudget"
        case .elsewhere: "elsewhere"
        case .noNode: "noNode"
        }
    }

    private func word(_ deletion: DeletionOutcome) -> String {
        switch deletion {
        case .deleted: "deleted"
        case .overtaken(let found): word(found)
        case .unreadable: "unreadable"
        case .failed: "failed"
        }
    }

    /// Replies to deletions and other requests, in order.
    private final class Replies { var words: [String] = [] }

    private func delete(_ rig: Rig, _ replies: Replies) throws {
        rig.table.delete(try name()) { replies.words.append("delete \(word($0))") }
    }

    private func look(_ rig: Rig, _ replies: Replies) throws {
        rig.table.wake(try name()) { replies.words.append("look \(word($0))") }
    }

    @Test(arguments: Damage.allCases)
    func `case 149: a quarantined session is deleted durably, and gone for every client`(
        damage: Damage
    ) throws {
        let rig = try spoiled(damage)
        #expect(try word(rig.wake("s")) == "quarantined")
        let replies = Replies()
        try delete(rig, replies)
        rig.drainInbox()
        #expect(replies.words == [], "nothing is said before it is committed")
        rig.settle()
        #expect(replies.words == ["delete deleted"])
        #expect(word(rig.table.find(try name())) == "ended")
        let end = try #require(rig.journal.kept.last)
        #expect(end.kind == .deleted)
        #expect(end.number == 4)
        #expect(end.version == 3)
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [try .ledger()])
        #expect(try word(next.wake("s")) == "ended")
    }

    @Test func `case 149: a deployment that can rebuild the session restores it`() throws {
        let rig = try spoiled()
        #expect(try word(rig.wake("s")) == "quarantined")
        rig.journal.heal()
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [try .ledger()])
        #expect(try word(next.wake("s")) == "session 3")
    }

    @Test func `case 149: of concurrent deletions one succeeds`() throws {
        let rig = try spoiled()
        _ = try rig.wake("s")
        let replies = Replies()
        for _ in 1...3 { try delete(rig, replies) }
        rig.drainInbox()
        try delete(rig, replies)
        rig.settle()
        #expect(
            replies.words == ["delete deleted", "delete ended", "delete ended", "delete ended"])
        #expect(rig.journal.kept.count { $0.kind == .deleted } == 1)
    }

    @Test func `case 149: a request during the deletion waits for its outcome`() throws {
        let rig = try spoiled()
        _ = try rig.wake("s")
        let replies = Replies()
        try delete(rig, replies)
        #expect(word(rig.table.find(try name())) == "notInMemory")
        try look(rig, replies)
        rig.drainInbox()
        try look(rig, replies)
        #expect(replies.words == [])
        rig.settle()
        #expect(replies.words == ["delete deleted", "look ended", "look ended"])
    }

    @Test func `case 149: after a failed commit the session is there and can be deleted again`()
        throws
    {
        let rig = try spoiled()
        _ = try rig.wake("s")
        let replies = Replies()
        try delete(rig, replies)
        try look(rig, replies)
        rig.drainInbox()
        rig.settle(.full)
        #expect(replies.words == ["delete failed", "look quarantined"])
        try delete(rig, replies)
        rig.drainInbox()
        rig.settle()
        #expect(replies.words.last == "delete deleted")
    }

    @Test func `case 149: a deletion that was written but reported as failed is detected`() throws {
        let rig = try spoiled()
        _ = try rig.wake("s")
        let replies = Replies()
        try delete(rig, replies)
        rig.drainInbox()
        rig.journal.endNext(.unavailable, isWritten: true)
        rig.drainInbox()
        #expect(replies.words == ["delete failed"])
        #expect(try word(rig.wake("s")) == "ended")
        try delete(rig, replies)
        rig.drainInbox()
        #expect(replies.words.last == "delete ended")
    }

    @Test func `case 149: a journal that can't find the session's head is an error reply`() throws {
        let rig = try spoiled()
        _ = try rig.wake("s")
        rig.journal.setUnreadable(.unavailable)
        let replies = Replies()
        try delete(rig, replies)
        rig.drainInbox()
        #expect(replies.words == ["delete unreadable"])
        rig.journal.setUnreadable(nil)
        #expect(word(rig.table.find(try name())) == "quarantined")
    }

    @Test func `case 149: a deletion waits for a read of the session that is under way`() throws {
        let rig = try spoiled()
        rig.journal.setLate(true)
        let replies = Replies()
        try look(rig, replies)
        // Read before the deletion, answered later on demand.
        rig.journal.look(at: 0)
        try delete(rig, replies)
        #expect(rig.journal.askedCount == 1)
        rig.journal.answer(at: 0)
        rig.drainInbox()
        #expect(replies.words == ["look quarantined"])
        rig.journal.answer(at: 0)
        rig.drainInbox()
        rig.settle()
        #expect(replies.words == ["look quarantined", "delete deleted"])
    }

    @Test func `case 149: its sleeping readers are released and find that it has ended`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        let reader = rig.subscribe(session)
        for _ in 1...10 {
            rig.table.tick()
            rig.settleAll()
        }
        #expect(word(rig.table.find(try name())) == "notInMemory")
        let replies = Replies()
        try delete(rig, replies)
        rig.drainInbox()
        #expect(replies.words == ["delete deleted"])
        #expect(rig.output.finished.contains(reader))
        #expect(word(rig.table.find(try name())) == "ended")
        #expect(rig.table.count == 0)
    }

    @Test func `case 149: a deletion that the process did not survive has no reply`() throws {
        let rig = try spoiled()
        _ = try rig.wake("s")
        let replies = Replies()
        try delete(rig, replies)
        rig.drainInbox()
        rig.journal.crash(writing: 0)
        rig.table.stop()
        rig.drainInbox()
        #expect(replies.words == [])
        let next = Rig(journal: rig.journal, registrations: [try .ledger()])
        #expect(try word(next.wake("s")) == "quarantined")
    }

    @Test func `case 149: a page of sessions can mark those that can't be rebuilt`() throws {
        let rig = try spoiled()
        rig.journal.setImmediate(true)
        let other = Rig(journal: rig.journal, registrations: [])
        let head = SavedHead(key: rig.journal.kept[0].key, reactor: "ledger")
        #expect(rig.table.fault(of: head) == nil, "nobody has tried")
        #expect(other.table.fault(of: head)?.place == "the reactor")
        _ = try rig.wake("s")
        #expect(rig.table.fault(of: head)?.place == "the mutation of version 1")
    }
}
