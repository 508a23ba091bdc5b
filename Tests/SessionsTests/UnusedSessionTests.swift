import Reactors
import Storage
import Testing

@testable import Feeds
@testable import Sessions

/// Ends after 3 200 seconds without a use.
private struct Guest: Reactor {
    enum Action: TaggedCodable, Sendable { case add }
    typealias Mutation = Int
    static let expiresAfter: Duration? = .seconds(3_200)
    let initialState = 0

    func mutate(state: Int, action: Action) -> Effect<Int> { .just(1) }

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

@Suite("An unused session does not end early, nor at the cost of others", .timeLimit(.minutes(60)))
struct UnusedSessionTests {
    private static let life: Int64 = 3_200_000

    private func registration() throws -> Registration { try .of("guest") { Guest() } }

    private func look(_ rig: Rig, after milliseconds: Int64 = 0) {
        rig.clock.milliseconds += milliseconds
        rig.findExpiring()
        rig.drainInbox()
        rig.settleAll()
    }

    private func pass(_ milliseconds: Int64, _ rig: Rig) {
        for _ in 0..<milliseconds / 30_000 { look(rig, after: 30_000) }
        look(rig, after: milliseconds % 30_000)
    }

    private func isOver(_ rig: Rig) -> Bool { rig.journal.all.last?.kind == .deleted }

    @Test func `a reader that came before the row was added, when expiry is switched on`() throws {
        let resident = try Registration.of("guest") { Resident() }
        let first = Rig(answers: true, registrations: [resident])
        try first.create("s", resident)
        first.clock.milliseconds += 1_000_000
        first.table.stop()
        let rig = Rig(journal: first.journal, registrations: [try registration()])
        rig.clock.milliseconds = first.clock.milliseconds
        guard case .session(let session) = try rig.wake("s") else { return }
        let reader = rig.subscribe(session)
        rig.journal.writeExpiries(at: rig.clock.milliseconds)
        // A million sessions: the row is added a little later.
        rig.clock.milliseconds += 20_000
        rig.journal.backlog.addMissing(["guest": Self.life])
        pass(160_000, rig)
        rig.output.disconnect(reader)
        let left = rig.clock.milliseconds
        while !isOver(rig), rig.clock.milliseconds < left + Self.life { look(rig, after: 30_000) }
        #expect(
            rig.clock.milliseconds - left >= Self.life,
            "ended \((rig.clock.milliseconds - left) / 1_000) s after its reader has left")
    }

    @Test func `reading before the last search counts, if the process is killed`() throws {
        let first = Rig(answers: true, registrations: [try registration()])
        let session = try first.create("s", registration())
        _ = first.subscribe(session)
        pass(3_000_000, first)
        let killed = first.clock.milliseconds
        let rig = Rig(journal: first.journal, registrations: [try registration()])
        rig.clock.milliseconds = killed
        while !isOver(rig), rig.clock.milliseconds < killed + Self.life - 30_000 {
            look(rig, after: 30_000)
        }
        #expect(
            rig.clock.milliseconds - killed >= Self.life - 60_000,
            "ended \((rig.clock.milliseconds - killed) / 1_000) s after it was read")
    }

    @Test func `while the journal is slow, not all sessions are loaded and ended`() throws {
        let rig = Rig(
            slow: true, answers: true, registrations: [try registration()], sessions: 10_000,
            uncommittedBytes: 4_096)
        for index in 0..<60 { try rig.create("s\(index)", registration()) }
        rig.settleAll()
        rig.clock.milliseconds += 2 * Self.life
        rig.findExpiring()
        rig.drainInbox()
        rig.endRound()
        let ending = rig.table.all.count { !$0.uncommitted.isEmpty }
        #expect(ending < 60, "\(ending) ends wait for the journal")
        #expect(rig.table.commits.hasRoom, "requests are refused meanwhile")
    }
}
