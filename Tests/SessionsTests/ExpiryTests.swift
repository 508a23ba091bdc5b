import Cluster
import Reactors
import Storage
import TestStreams
import Testing

@testable import Feeds
@testable import Sessions

/// Ends after a minute without a use.
private struct Guest: Reactor {
    enum Action: TaggedCodable, Sendable { case add, nothing, wait, remind }
    typealias Mutation = Int

    static let expiresAfter: Duration? = .seconds(60)
    let initialState = 0
    var gate = Gate()

    func recovery(of action: Action) -> Recovery { .runAgain }

    func mutate(state: Int, action: Action) -> Effect<Int> {
        let gate = gate
        return switch action {
        case .add: .just(1)
        case .nothing: .none
        case .wait: .run { _ in await gate.pass() }
        case .remind: .schedule("a", after: .seconds(1_000), .nothing)
        }
    }

    func reduce(state: inout Int, mutation: Int) { state += mutation }
}

/// The same without a time.
private struct Resident: Reactor {
    typealias Action = Guest.Action
    typealias Mutation = Int
    let initialState = 0

    func mutate(state: Int, action: Action) -> Effect<Int> { .just(1) }

    func reduce(state: inout Int, mutation: Int) { state += mutation }
}

@Suite("A session ends that nobody uses", .timeLimit(.minutes(60)))
struct ExpiryTests {
    private static let life: Int64 = 60_000
    /// From a use until its session is examined: a sixteenth ahead, and half a minute of grace.
    private static let examined = life + life / 16 + 30_000

    private func registration(_ gate: Gate = Gate()) throws -> Registration {
        try .of("guest") { Guest(gate: gate) }
    }

    private func rig(_ hasArchive: Bool = true, slow: Bool = false) throws -> Rig {
        Rig(
            slow: slow, keepsRecords: hasArchive, answers: hasArchive,
            registrations: [try registration()])
    }

    private func next(
        _ rig: Rig, _ registration: Registration? = nil
    ) throws -> Rig {
        rig.table.stop()
        let next = Rig(
            journal: rig.journal, registrations: [try registration ?? self.registration()])
        next.clock.milliseconds = rig.clock.milliseconds
        return next
    }

    private func look(_ rig: Rig, after milliseconds: Int64 = 0) {
        rig.clock.milliseconds += milliseconds
        rig.findExpiring()
        rig.drainInbox()
        rig.settleAll()
    }

    /// Searches twice a minute, as a server does.
    private func pass(_ milliseconds: Int64, _ rig: Rig) {
        for _ in 0..<milliseconds / 30_000 { look(rig, after: 30_000) }
        look(rig, after: milliseconds % 30_000)
    }

    private func sleep(_ rig: Rig) throws {
        for _ in 0..<8 {
            rig.table.tick()
            rig.settleAll()
        }
        try #require(rig.table.awakeCount == 0)
    }

    private func isOver(_ rig: Rig) -> Bool { rig.journal.all.last?.kind == .deleted }

    private func ends(_ rig: Rig) throws -> Bool {
        guard case .ended = rig.table.find(try #require(SessionID("s"))) else { return false }
        return true
    }

    // MARK: Its time

    @Test(arguments: [true, false])
    func `after its time, not before, and each action begins the time again`(
        hasArchive: Bool
    ) throws {
        let rig = try rig(hasArchive)
        let session = try rig.create("s", registration())
        for action in ["add", "nothing", "add"] {
            pass(Self.life - 1, rig)
            #expect(session.isRunning)
            try rig.act(Post.plain(action), on: session)
        }
        pass(Self.life - 1, rig)
        #expect(session.isRunning)
        pass(2 * Self.life, rig)
        #expect(try ends(rig))
        let late = try rig.post(Post.plain("add"), to: session)
        rig.endRound()
        #expect(rig.line(late).hasPrefix("gone"))
        #expect(rig.table.timerWait == nil)
    }

    @Test func `a row that is due waits until every node has looked`() throws {
        let rig = try rig()
        try rig.create("s", registration())
        look(rig, after: Self.examined - 1)
        #expect(!isOver(rig))
        look(rig, after: 1)
        #expect(isOver(rig))
        #expect(rig.journal.all.count { $0.kind == .deleted } == 1)
        look(rig, after: 10 * Self.life)
        #expect(rig.journal.all.count { $0.kind == .deleted } == 1)
    }

    @Test func `a session that sleeps is loaded when its row is due; its records decide`() throws {
        let rig = try rig()
        let session = try rig.create("s", registration())
        rig.clock.milliseconds += 50_000
        // No mutation: a note alone.
        try rig.act(Post.plain("nothing"), on: session)
        try sleep(rig)
        look(rig, after: 40_000)
        #expect(rig.table.awakeCount == 0)
        look(rig, after: Self.examined - 90_000)
        #expect(rig.table.awakeCount == 1)
        #expect(!isOver(rig))
        let key = session.key
        let due = try #require(rig.journal.expiry(of: key))
        #expect(due >= rig.clock.milliseconds, "it is not examined again at once")
        try sleep(rig)
        pass(2 * Self.life, rig)
        #expect(isOver(rig))
        #expect(rig.journal.expiry(of: key) == nil)
    }

    @Test func `an action writes no row`() throws {
        let rig = try rig()
        let session = try rig.create("s", registration())
        let before = rig.journal.keptBatch.timers.count
        #expect(before == 1)
        rig.clock.milliseconds += 50_000
        try rig.act(Post.plain("add"), on: session)
        #expect(rig.journal.keptBatch.timers.count == before)
    }

    // MARK: Readers

    @Test(arguments: [true, false])
    func `a reader keeps it, and its leaving begins the time again`(hasArchive: Bool) throws {
        let rig = try rig(hasArchive)
        let session = try rig.create("s", registration())
        let reader = rig.subscribe(session)
        pass(10 * Self.life, rig)
        #expect(session.isRunning)
        rig.output.disconnect(reader)
        rig.journal.writeExpiries(at: rig.clock.milliseconds)
        pass(Self.life - 1, rig)
        #expect(session.isRunning)
        pass(2 * Self.life, rig)
        #expect(try ends(rig))
    }

    @Test func `a reader of a session that sleeps counts, and its end too`() throws {
        let rig = try rig()
        let session = try rig.create("s", registration())
        let reader = rig.subscribe(session)
        try sleep(rig)
        pass(10 * Self.life, rig)
        #expect(rig.table.awakeCount == 0, "nobody loads it for that")
        rig.output.disconnect(reader)
        rig.table.tick()
        rig.journal.writeExpiries(at: rig.clock.milliseconds)
        let next = try next(rig)
        pass(Self.life - 1, next)
        #expect(!isOver(next))
        pass(3 * Self.life, next)
        #expect(isOver(next))
        #expect(session.hasEnded == false)
    }

    @Test func `readers that come and go often are written once in a while`() throws {
        let rig = try rig()
        let session = try rig.create("s", registration())
        for _ in 0..<100 {
            rig.output.disconnect(rig.subscribe(session))
            rig.journal.writeExpiries(at: rig.clock.milliseconds)
            rig.clock.milliseconds += 100
        }
        #expect(rig.journal.keptBatch.timers.count <= 4)
        // The row that was written covers the others.
        let due = try #require(rig.journal.expiry(of: session.key))
        #expect(due >= rig.clock.milliseconds - 100 + Self.life)
    }

    // MARK: At work

    @Test func `while an effect runs it is in use, in the next process too`() async throws {
        let gate = Gate()
        let rig = try rig()
        let session = try rig.create("s", registration(gate))
        try rig.act(Post.plain("wait"), on: session)
        pass(5 * Self.life, rig)
        #expect(session.isRunning)
        let next = try next(rig, registration(gate))
        pass(5 * Self.life, next)
        #expect(!isOver(next))
        gate.open()
        let again = try next.session("s")
        await next.work { !again.isWorking }
        pass(4 * Self.life, next)
        #expect(isOver(next))
    }

    @Test func `while it has a timer it is in use; the end removes both`() throws {
        let rig = try rig()
        let session = try rig.create("s", registration())
        let key = session.key
        try rig.act(Post.plain("remind"), on: session)
        try sleep(rig)
        pass(900_000, rig)
        #expect(!isOver(rig))
        rig.clock.milliseconds += 100_000
        rig.table.expectTimers([DueTimer(id: try #require(SessionID("s")), due: 0)]) {}
        rig.drainInbox()
        rig.table.fireTimers()
        rig.settleAll()
        pass(4 * Self.life, rig)
        #expect(isOver(rig))
        #expect(rig.journal.expiry(of: key) == nil)
    }

    @Test func `the row is no timer of the session`() throws {
        let rig = try rig()
        let session = try rig.create("s", registration())
        #expect(session.timers.all.isEmpty)
        #expect(rig.journal.loaded("s")?.timers == [])
        #expect(rig.table.timerWait == nil)
        try sleep(rig)
        #expect(rig.table.timers.count == 0)
    }

    // MARK: Failures

    @Test func `an action that comes while it ends gets 410, or is decided before`() throws {
        for failure in [nil, JournalFailure.full] {
            let rig = try rig(slow: true)
            let session = try rig.create("s", registration())
            rig.settleAll()
            rig.clock.milliseconds += Self.examined
            rig.findExpiring()
            let during = try rig.post(Post.plain("add"), to: session)
            rig.endRound()
            rig.settle(failure)
            #expect(rig.line(during).hasPrefix(failure == nil ? "gone" : "failed"))
            #expect(isOver(rig) == (failure == nil))
            guard failure != nil else { continue }
            rig.drainInbox()
            pass(0, rig)
            #expect(isOver(rig), "the next search finds it again")
        }
    }

    @Test func `a commit that was decided before a reader came does not take its time`() throws {
        let rig = try rig(slow: true)
        let session = try rig.create("s", registration())
        rig.settleAll()
        try rig.act(Post.plain("add"), on: session)
        rig.settleAll()
        let key = session.key
        rig.clock.milliseconds += 55_000
        try rig.act(Post.plain("add"), on: session)
        rig.settleAll()
        rig.clock.milliseconds += Self.examined - 55_000
        rig.findExpiring()
        rig.endRound()
        // Another node postpones it meanwhile.
        let later = rig.clock.milliseconds + 1_000_000
        rig.journal.backlog.postpone(key, until: later)
        rig.journal.writeExpiries(at: rig.clock.milliseconds)
        rig.settleAll()
        #expect(rig.journal.expiry(of: key) == later)
    }

    @Test func `a session of a reactor that is not hosted rests`() throws {
        let rig = try rig()
        try rig.create("s", registration())
        let other = try next(rig, Registration.of("other") { Guest() })
        pass(5 * Self.life, other)
        #expect(!isOver(other))
    }

    // MARK: Settings

    @Test func `when a reactor's sessions no longer expire, its rows go`() throws {
        let rig = try rig()
        let key = try rig.create("s", registration()).key
        let next = try next(rig, Registration.of("guest") { Resident() })
        pass(3 * Self.life, next)
        #expect(!isOver(next))
        #expect(next.journal.expiry(of: key) == nil)
    }

    @Test func `sessions of before get a row when it is switched on, and their time`() throws {
        let resident = try Registration.of("guest") { Resident() }
        let rig = Rig(answers: true, registrations: [resident])
        let key = try rig.create("s", resident).key
        rig.clock.milliseconds += 1_000_000
        let next = try next(rig)
        let life = try #require(try registration().life(nil))
        next.journal.backlog.addMissing(["guest": life])
        look(next)
        let due = next.clock.milliseconds + Self.life + Self.life / 16
        #expect(next.journal.expiry(of: key) == due)
        pass(Self.life - 1, next)
        #expect(!isOver(next))
        pass(Self.life, next)
        #expect(isOver(next))
    }

    @Test func `a setting is for reactors that say nothing, and topics never end`() throws {
        let ledger = try Registration.ledger()
        #expect(ledger.life(nil) == nil)
        #expect(ledger.life(.seconds(100)) == 100_000)
        #expect(ledger.life(.seconds(1)) == 60_000)
        #expect(Registration.topic.life(.seconds(100)) == nil)
        #expect(try registration().life(.seconds(864_000)) == Self.life)
        let rig = Rig(answers: true, registrations: [ledger])
        rig.table.limits.sessionExpiry = .seconds(60)
        try rig.create("s", ledger)
        pass(2 * Self.life, rig)
        #expect(isOver(rig))
    }

    @Test func `a fork has a row of its own, and its whole time`() throws {
        let rig = try rig()
        try rig.create("s", registration())
        rig.clock.milliseconds += 40_000
        let saved = try #require(rig.journal.loaded("s"))
        let id = try #require(SessionID("t"))
        try rig.table.create(id, registration(), for: rig.nextToken(), from: saved)
        rig.settleAll()
        let key = try rig.session("t").key
        let due = rig.clock.milliseconds + Self.life + Self.life / 16
        #expect(rig.journal.expiry(of: key) == due)
    }
}
