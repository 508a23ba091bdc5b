import Reactors
import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite(
    "ADR-0047 — when history is lost, nothing that is in memory is believed",
    .timeLimit(.minutes(60)))
struct LostHistoryTests {
    /// A session with three mutations, of which the last two can be lost.
    private func rig(slow: Bool = false) throws -> (Rig, Session) {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        let session = try rig.create("s", .ledger())
        for number in 1...3 { try rig.act(Post.set(number), on: session) }
        rig.journal.setImmediate(!slow)
        return (rig, session)
    }

    private func lose(_ count: Int, _ rig: Rig) {
        rig.journal.loseHistory(count)
        rig.drainInbox()
    }

    private func failure(_ rig: Rig, _ token: UInt64) -> JournalFailure? {
        guard case .failed(let failure) = rig.answer(token)?.kind else { return nil }
        return failure
    }

    // MARK: Streams

    @Test func `each stream gets a reset and the state that is left, on its connection`() throws {
        let (rig, session) = try rig()
        let states = rig.subscribe(session, .allStates, .now)
        let pulses = rig.subscribe(session, .allPulses, .now)
        let log = rig.subscribe(session, .log, .now)
        lose(2, rig)
        let next = try rig.session("s")
        #expect(next.generation != session.generation)
        #expect(next.version == 1)
        let heard = rig.transcript(states).events
        #expect(heard.map(\.name) == ["reset", "snapshot"])
        #expect(heard.first?.data == #"{"reason":"generation"}"#)
        #expect(heard.last?.id == "\(next.generation.text).1")
        #expect(rig.transcript(pulses).events.map(\.name) == ["reset", "snapshot"])
        #expect(rig.transcript(log).events.map(\.id) == ["\(next.generation.text).1"])
        for token in [states, pulses, log] { #expect(rig.output.isStreaming(token)) }
        try rig.act(Post.set(9), on: next)
        #expect(rig.transcript(states).events.map(\.id).last == "\(next.generation.text).2")
        #expect(rig.transcript(log).events.map(\.id).last == "\(next.generation.text).2")
        #expect(next.streams.subscriberCount == 3)
    }

    @Test func `a session that is asleep and read gets its reset, too`() throws {
        let (rig, session) = try rig()
        let token = rig.subscribe(session, .allStates, .now)
        for _ in 0..<12 {
            rig.table.tick()
            rig.endRound()
        }
        #expect(rig.table.awakeCount == 0)
        // The newest batch has the snapshot with which the session fell asleep.
        lose(2, rig)
        #expect(rig.transcript(token).events.map(\.name) == ["reset", "snapshot"])
        #expect(try rig.session("s").version == 2)
    }

    /// The reader has a part of an event: it gets the rest, and whole blocks after it.
    @Test(arguments: 0...120)
    func `a stalled reader gets whole events, and one reset`(capacity: Int) throws {
        let (rig, session) = try rig()
        let token = rig.subscribe(session, .everything, .now, capacity: capacity)
        try rig.act(Post.both(4, 5), on: session)
        lose(2, rig)
        lose(1, rig)
        rig.output.setCapacity(nil, of: token)
        let events = rig.transcript(token).events
        #expect(events.suffix(2).map(\.name) == ["reset", "snapshot"])
        let next = try rig.session("s")
        #expect(events.last?.id == next.position.text)
        let others = events.filter { $0.name != "reset" && $0.name != "snapshot" }
        #expect(others.allSatisfy { $0.id.hasPrefix(session.generation.text) })
    }

    @Test func `a reader that catches up gets a reset`() throws {
        let (rig, session) = try rig()
        let start = "\(session.generation.text).1"
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [try .ledger()])
        guard case .session(let woken) = try next.wake("s") else { return }
        next.journal.setLate(true)
        let token = next.subscribe(woken, .allStates, .after(start))
        next.drainInbox()
        #expect(next.journal.askedCount == 1)
        next.journal.look(at: 0)
        next.journal.loseHistory(1)
        next.drainInbox()
        while next.journal.askedCount > 0 {
            next.journal.answer(at: next.journal.askedCount - 1)
            next.drainInbox()
        }
        #expect(next.transcript(token).events.map(\.name) == ["reset", "snapshot"])
    }

    @Test func `at most 16 sessions are loaded at a time, and all of them`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        let tokens = try (0..<40).map { number in
            rig.subscribe(try rig.create("s\(number)", .ledger()), .allStates, .now)
        }
        rig.journal.setLate(true)
        lose(1, rig)
        var most = 0
        while rig.journal.askedCount > 0 {
            most = max(most, rig.journal.askedCount)
            rig.journal.answer(at: 0)
            rig.drainInbox()
        }
        #expect(most == 16)
        for token in tokens.dropLast() {
            #expect(rig.transcript(token).events.map(\.name) == ["reset", "snapshot"])
        }
    }

    @Test func `readers of a session that is lost altogether are disconnected`() throws {
        let (rig, session) = try rig()
        let token = rig.subscribe(session, .allStates, .now)
        lose(4, rig)
        #expect(!rig.output.isStreaming(token))
        #expect(rig.table.count == 0)
        guard case .nothing = try rig.wake("s") else {
            Issue.record("it was never created")
            return
        }
    }

    @Test func `readers are disconnected if the session cannot be read`() throws {
        let (rig, session) = try rig()
        let token = rig.subscribe(session, .allStates, .now)
        rig.journal.setUnreadable(.unavailable)
        lose(1, rig)
        #expect(!rig.output.isStreaming(token))
        rig.journal.setUnreadable(nil)
        let again = try #require(try woken(rig))
        let resumed = rig.subscribe(again, .allStates, .after(session.position.text))
        #expect(rig.transcript(resumed).events.map(\.name) == ["reset", "snapshot"])
    }

    private func woken(_ rig: Rig) throws -> Session? {
        guard case .session(let session) = try rig.wake("s") else { return nil }
        return session
    }

    @Test func `a stream of several sessions gets a reset of each`() throws {
        let (rig, _) = try rig()
        try rig.create("t", .ledger())
        let reader = JointReader(["s", "t"], .allStates)
        let connection = try #require(reader.connect(rig, from: .now))
        rig.drainInbox()
        rig.endRound()
        rig.drainInbox()
        let seen = connection.blocks.count
        lose(1, rig)
        rig.endRound()
        rig.drainInbox()
        // The creation of "t" is what is lost.
        let names = connection.blocks.dropFirst(seen).compactMap(\.name)
        #expect(names.contains("s/reset"))
        #expect(names.contains("s/snapshot"))
        #expect(connection.howItEnded == nil)
    }

    // MARK: Requests

    @Test func `requests that wait get an unknown outcome, and the step is in no memory`() throws {
        let (rig, session) = try rig(slow: true)
        let post = try rig.act(Post.set(4), on: session)
        let read = rig.read(session)
        let stream = rig.subscribe(session, .allStates)
        let later = try rig.post(Post.set(5), to: session)
        lose(1, rig)
        for token in [post, read, stream, later] {
            #expect(failure(rig, token)?.reason == .outcomeUnknown)
        }
        rig.settleAll()
        guard case .session(let next) = try rig.wake("s") else { return }
        #expect(next.version == 2)
    }

    @Test func `a creation and an end under way are unknown`() throws {
        let (rig, session) = try rig(slow: true)
        let end = rig.end(session)
        let creation = rig.nextToken()
        try rig.table.create(#require(SessionID("n")), .ledger(), for: creation)
        rig.endRound()
        lose(1, rig)
        for token in [end, creation] {
            #expect(failure(rig, token)?.reason == .outcomeUnknown)
        }
        rig.settleAll()
        // The part that ends it is of a generation that is no more.
        guard case .session = try rig.wake("s") else {
            Issue.record("it lives")
            return
        }
    }

    @Test func `a deletion without the session is unknown, and a late verdict changes nothing`()
        throws
    {
        let (rig, session) = try rig()
        rig.journal.spoil(
            SessionKey(session: "s", generation: session.generation.text), .short)
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [try .ledger()])
        next.journal.setImmediate(false)
        let id = try #require(SessionID("s"))
        _ = try next.wake("s")
        var outcome: DeletionOutcome?
        next.table.delete(id) { outcome = $0 }
        next.drainInbox()
        #expect(next.journal.pendingCount == 1)
        let end = next.journal.writeNext()
        lose(1, next)
        guard case .failed(let failure) = outcome else {
            Issue.record("nobody can know")
            return
        }
        #expect(failure.reason == .outcomeUnknown)
        end()
        next.drainInbox()
        guard case .session(let again) = try next.wake("s") else {
            Issue.record("its end is lost")
            return
        }
        #expect(again.version == 3)
    }

    @Test func `an If-Match of before does not hold`() throws {
        let (rig, session) = try rig()
        let before = session.position.text
        lose(0, rig)
        let next = try #require(try woken(rig))
        let token = try rig.post(Post.set(7), to: next, condition: .oneOf([before]))
        rig.endRound()
        guard case .conditionFailed = rig.answer(token)?.kind else {
            Issue.record("412")
            return
        }
    }

    @Test func `an end that is lost is not remembered`() throws {
        let (rig, session) = try rig()
        _ = rig.end(session)
        rig.endRound()
        lose(1, rig)
        #expect(try woken(rig)?.version == 3)
    }

    // MARK: Loads

    @Test(arguments: [true, false])
    func `a load that is answered from before is asked again`(isLookedAt: Bool) throws {
        let (rig, _) = try rig()
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [try .ledger()])
        next.journal.setLate(true)
        var versions: [UInt64] = []
        try next.table.wake(#require(SessionID("s"))) { found in
            if case .session(let session) = found { versions.append(session.version) }
        }
        if isLookedAt { next.journal.look(at: 0) }
        next.journal.loseHistory(2)
        next.drainInbox()
        while next.journal.askedCount > 0 {
            next.journal.answer(at: 0)
            next.drainInbox()
        }
        #expect(versions == [1])
    }

    // MARK: Work

    /// Its effect never ends by itself.
    private struct Endless: Reactor {
        enum Action: TaggedCodable, Sendable { case go }
        typealias Mutation = Action
        struct State: Codable, Sendable { var begun = 0 }
        let initialState = State()

        func mutate(action: Action) -> Effect<Action> {
            .concat(
                .just(.go),
                .run { _ in
                    let never = AsyncStream<Void> { _ in }
                    for await _ in never {}
                })
        }

        func reduce(state: inout State, mutation: Mutation) { state.begun += 1 }

        func recovery(of action: Action) -> Recovery { .runAgain }
    }

    @Test func `effects are cancelled, and their actions are recovered at once`() throws {
        let registration = try Registration.of { Endless() }
        let rig = Rig(answers: true, registrations: [registration])
        let session = try rig.create("s", registration)
        let token = try rig.post(#"{"type":"go"}"#, to: session, waits: true)
        rig.endRound()
        #expect(rig.answer(token) == nil)
        lose(0, rig)
        rig.settleAll()
        #expect(failure(rig, token)?.reason == .outcomeUnknown)
        #expect(session.tasks.isIdle)
        #expect(rig.journal.keptBatch.started.map(\.begun) == [1, 2])
        let next = try rig.session("s")
        #expect(next.generation != session.generation)
        #expect(next.version == 2)
        rig.table.stop()
    }
}
