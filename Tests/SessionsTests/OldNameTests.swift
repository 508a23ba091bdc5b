import Feeds
import Reactors
import Sessions
import Storage
import Testing

@Suite("Contract §5 — old events have today's names", .timeLimit(.minutes(60)))
struct OldNameTests {
    /// The next process on the same journal, whose records have been changed.
    private func next(
        _ rig: Rig, _ registration: Registration, _ edit: (inout HistoryEntry) -> Void
    ) throws -> (Rig, Session) {
        rig.table.stop()
        rig.journal.edit { batch in
            for index in batch.records.indices { edit(&batch.records[index]) }
        }
        let next = Rig(journal: rig.journal, registrations: [registration])
        guard case .session(let session) = try next.wake("s") else { throw Rig.NoSession(id: "s") }
        return (next, session)
    }

    private func heard(_ rig: Rig, _ session: Session, _ selection: Selection) -> [Heard] {
        let reader = rig.subscribe(session, selection, .start)
        while !rig.inbox.isEmpty { rig.drainInbox() }
        return rig.transcript(reader).events
    }

    @Test func `case 157: a pulse with a coding key has that name in replays too`() throws {
        let before = try Registration.of { Bare() }
        let rig = Rig(answers: true, registrations: [before])
        let session = try rig.create("s", before)
        try rig.act(#"{"set":{"_0":7}}"#, on: session)
        let today = try Registration.of { Keyed() }
        let (later, woken) = try next(rig, today) { record in
            #expect(record.events.allSatisfy { $0.name == "alertMessage" })
        }
        #expect(heard(later, woken, .allPulses).map(\.name) == ["alert_message"])
        #expect(heard(later, woken, .allPulses).map(\.data) == ["7"])
        let snapshot = later.transcript(later.subscribe(woken)).events.first
        #expect(snapshot?.data == #"{"alert_message":7}"#)
    }

    @Test func `case 157: a removed pulse is not mistaken for an activity`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        try rig.act(Post.both(1, 2), on: session)
        try rig.act(Post.say("hello"), on: session)
        let (later, woken) = try next(rig, .ledger()) { record in
            guard record.kind == .mutation else { return }
            record.events[1].name = "gone"
        }
        #expect(heard(later, woken, .allActivities).map(\.name) == ["said"])
        let all = heard(later, woken, .everything)
        #expect(all.map(\.name) == ["a", "state", "said"])
        #expect(all.map(\.id).map { $0.dropFirst(9) } == ["1.1", "1", "2"])
    }

    @Test func `activity names beyond a session's limit are left out of a replay`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        for number in 1...300 { try rig.act(Post.say("\(number)"), on: session) }
        // As if several processes had left some hundred names each.
        let (later, woken) = try next(rig, .ledger()) { record in
            guard record.kind == .activity else { return }
            record.events[0].name = "n\(record.number)"
        }
        let names = heard(later, woken, .allActivities).map(\.name)
        #expect(names == (1...256).map { "n\($0)" })
    }
}

private struct Bare: Reactor {
    enum Action: Codable, Sendable { case set(Int) }
    struct State: Codable, Sendable { @Pulse var alertMessage = 0 }
    let initialState = State()
    func reduce(state: inout State, mutation: Action) {
        if case .set(let number) = mutation { state.alertMessage = number }
    }
}

private struct Keyed: Reactor {
    typealias Action = Bare.Action
    struct State: Codable, Sendable {
        @Pulse var alertMessage = 0
        enum CodingKeys: String, CodingKey { case alertMessage = "alert_message" }
    }
    let initialState = State()
    func reduce(state: inout State, mutation: Action) {
        if case .set(let number) = mutation { state.alertMessage = number }
    }
}
