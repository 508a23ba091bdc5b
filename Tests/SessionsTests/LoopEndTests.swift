import Cyclers
import Feeds
import Reactors
import Sessions
import Storage
import Synchronization
import TestStreams
import Testing

@Suite(
    "A stopping loop leaves no task waiting and runs nothing outside its queue",
    .timeLimit(.minutes(60)))
struct LoopEndTests {
    private let ends = Ends()

    private final class Ends: Sendable {
        private let list = Mutex<[String]>([])
        var all: [String] { list.withLock { $0 } }
        func add(_ text: String) { list.withLock { $0.append(text) } }
    }

    /// Releases the table like a loop that stops.
    private func stop(_ rig: Rig) {
        rig.table.stop()
        rig.drainInbox()
        rig.inbox.close()
    }

    @Test(.timeLimit(.minutes(60)))
    func `an effect that sends after its loop has stopped gets a reply`() async throws {
        let (gate, ended, ends) = (Gate(), Gate(), ends)
        let rig = Rig()
        let session = try rig.create(
            "s",
            .of {
                Sender(gate: gate) {
                    ends.add("sent \($0)"); await ended.pass()
                }
            })
        try rig.act(#"{"_0":1}"#, on: session)
        await gate.hasArrivals(1)
        stop(rig)
        gate.open()
        await ended.hasArrivals(1)
        #expect(ends.all == ["sent false"])
        ended.open()
    }

    @Test(.timeLimit(.minutes(60)), arguments: [false, true])
    func `a Cycler's action that waits when its loop stops ends`(
        isUncommitted: Bool
    ) async throws {
        let (gate, ends) = (Gate(), ends)
        let rig = Rig(slow: true)
        let session = try rig.create(
            "s",
            Registration(
                name: "waiter", activities: [], examples: [],
                makeCycler: { Waiting(gate: gate) { ends.add("ended") } }))
        rig.settleAll()
        try rig.act(#""go""#, on: session)
        await gate.hasArrivals(1)
        if isUncommitted {
            // The action has resumed and waits for its commit.
            gate.open()
            await rig.inbox.hasJob()
            stop(rig)
        } else {
            stop(rig)
            gate.open()
        }
        while ends.all.isEmpty, !Task.isCancelled {
            await rig.inbox.hasJob()
            for job in rig.inbox.drainLate() { job() }
        }
        #expect(ends.all == ["ended"])
    }

    @Test(.timeLimit(.minutes(60)))
    func `an effect whose step was rolled back before its loop stopped gets one reply`()
        async throws
    {
        let (gate, ended, ends) = (Gate(), Gate(), ends)
        let rig = Rig(slow: true)
        let session = try rig.create(
            "s",
            .of {
                Sender(gate: gate) {
                    ends.add("sent \($0)"); await ended.pass()
                }
            })
        rig.settleAll()
        try rig.act(#"{"_0":1}"#, on: session)
        rig.settleAll()
        await gate.hasArrivals(1)
        try rig.act(#"{"_0":2}"#, on: session)
        gate.open()
        await rig.inbox.hasJob()
        rig.drainInbox()
        rig.endRound()
        #expect(rig.journal.pendingCount == 2)
        // The second is rolled back with the first; the journal has not completed it.
        rig.settle(.full)
        stop(rig)
        await ended.hasArrivals(1)
        #expect(ends.all == ["sent false"])
        ended.open()
    }

    @Test func `a reader that is lost while its loop stops gets no empty state`() throws {
        let rig = Rig(
            answers: true, registrations: [try .ledger()], retention: Retention(records: 2),
            snapshotEvery: 3)
        let session = try rig.create("s", .ledger())
        for value in 1...8 { try rig.act(Post.set(value), on: session) }
        rig.journal.setLate(true)
        let reader = rig.subscribe(
            session, .allStates, .after("\(session.position.generation.text).0"))
        let snapshot = try #require(rig.journal.keptBatch.snapshots.last)
        rig.journal.trim(to: snapshot)
        rig.table.stop()
        while rig.journal.askedCount > 0 {
            rig.journal.answer(at: 0)
            rig.drainInbox()
        }
        #expect(rig.output.bytes(of: reader) == [])
        #expect(rig.output.finished.contains(reader))
    }

    @Test func `the loop is checked before a Cycler's action begins`() throws {
        let rig = Rig()
        let session = try rig.create(
            "s",
            Registration(
                name: "waiter", activities: [], examples: [],
                makeCycler: { Waiting(gate: Gate()) {} }))
        let before = rig.isolation.checks
        try rig.act(#""go""#, on: session)
        #expect(rig.isolation.checks > before)
    }

    @Test(.timeLimit(.minutes(60)))
    func `a commit made on resuming after a commit is written in the same round`() async throws {
        let rig = Rig()
        let session = try rig.create(
            "s",
            Registration(name: "twice", activities: [], examples: [], makeCycler: { Twice() }))
        try rig.post(#""go""#, to: session)
        await rig.inbox.hasJob()
        rig.drainInbox()
        #expect(session.version == 0)
        rig.endRound()
        #expect(session.version == 2)
    }
}

@Suite("A session's sources have ended or pause", .timeLimit(.minutes(60)))
struct SourceLifeTests {
    private func sleep(_ rig: Rig) {
        for _ in 0..<6 {
            rig.table.tick()
            rig.endRound()
        }
    }

    @Test(.timeLimit(.minutes(60)))
    func `a session whose sources have ended leaves memory`() async throws {
        let registration = try Registration.of {
            Worker(gate: Gate(), source: AsyncStream { $0.finish() })
        }
        let rig = Rig(answers: true, registrations: [registration])
        let session = try rig.create("s", registration)
        sleep(rig)
        #expect(rig.table.awakeCount == 1, "it has not ended yet: it listens")
        await rig.inbox.hasJob()
        rig.drainInbox()
        rig.endRound()
        sleep(rig)
        #expect(rig.table.count == 0)
        guard case .session(let again) = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
        #expect(again.position == session.position)
    }

    @Test(.timeLimit(.minutes(60)))
    func `sources restart after a failed commit as soon as the journal can be read`() async throws {
        let (stream, news) = AsyncStream<Worker.Mutation>.makeStream()
        let (second, later) = AsyncStream<Worker.Mutation>.makeStream()
        let streams = Mutex<[AsyncStream<Worker.Mutation>]>([])
        let registration = try Registration.of {
            Worker(gate: Gate(), source: streams.withLock { $0.popLast() })
        }
        // Registration makes one reactor to read its initial state.
        streams.withLock { $0 = [second, stream] }
        let rig = Rig(slow: true, answers: true, registrations: [registration])
        let session = try rig.create("s", registration)
        rig.settleAll()
        try rig.act(Post.count, on: session)
        rig.journal.setUnreadable(.unavailable)
        rig.settle(.unavailable)
        #expect(rig.table.awakeCount == 0)
        rig.table.tick()
        rig.drainInbox()
        #expect(rig.table.awakeCount == 0)
        rig.journal.setUnreadable(nil)
        rig.table.tick()
        rig.drainInbox()
        #expect(rig.table.awakeCount == 1)
        later.yield(.worked(value: 7))
        let again = try rig.session("s")
        await rig.work { rig.state(again).contains("7") }
        #expect(rig.state(again).contains("7"))
        news.finish()
    }
}

extension SourceLifeTests {
    @Test func `after a commit that failed, at most 16 sessions are loaded at a time`() throws {
        let news = Mutex<[AsyncStream<Worker.Mutation>.Continuation]>([])
        let registration = try Registration.of { () -> Worker in
            let (stream, some) = AsyncStream<Worker.Mutation>.makeStream()
            news.withLock { $0.append(some) }
            return Worker(gate: Gate(), source: stream)
        }
        let rig = Rig(slow: true, answers: true, registrations: [registration])
        let sessions = try (0..<40).map { try rig.create("s\($0)", registration) }
        rig.settleAll()
        for session in sessions { _ = try rig.post(Post.count, to: session) }
        rig.endRound()
        rig.journal.setLate(true)
        rig.settle(.unavailable)
        var most = 0
        while rig.journal.askedCount > 0 {
            most = max(most, rig.journal.askedCount)
            rig.journal.answer(at: 0)
            rig.drainInbox()
        }
        #expect(most == 16)
        #expect(rig.table.awakeCount == 40)
        for some in news.withLock({ $0 }) { some.finish() }
    }

    @Test func `a session that a request has loaded is not loaded again`() throws {
        let (stream, news) = AsyncStream<Worker.Mutation>.makeStream()
        let registration = try Registration.of { Worker(gate: Gate(), source: stream) }
        let rig = Rig(slow: true, answers: true, registrations: [registration])
        let session = try rig.create("s", registration)
        rig.settleAll()
        try rig.act(Post.count, on: session)
        rig.journal.setUnreadable(.unavailable)
        rig.settle(.unavailable)
        rig.journal.setUnreadable(nil)
        _ = try rig.wake("s")
        rig.settleAll()
        rig.table.tick()
        #expect(rig.inbox.isEmpty)
        news.finish()
    }
}

/// Its step reports what happened to its mutation.
private struct Sender: Reactor {
    struct Action: Codable, Sendable {
        var _0: Int
    }
    struct State: Codable, Sendable { var sum = 0 }
    let initialState = State()
    let gate: Gate
    let sent: @Sendable (Bool) async -> Void

    func mutate(action: Action) -> Effect<Action> {
        .run { [gate, sent] send in
            await gate.pass()
            await sent(send(action))
        }
    }

    func reduce(state: inout State, mutation: Action) { state.sum += mutation._0 }
}

/// Commits, then waits at a gate.
private final class Waiting: ActionCycler {
    enum Action: String, Codable, Sendable { case go }
    struct State: Codable, Sendable { var count = 0 }
    let state: Storage<State> = .init(.init())
    private let gate: Gate
    private let ended: @Sendable () -> Void

    init(gate: Gate, ended: @escaping @Sendable () -> Void) {
        (self.gate, self.ended) = (gate, ended)
    }

    func receive(_ action: Action) async throws {
        commit { $0.update(1, \.count) }
        await gate.pass()
        ended()
    }
}

/// Commits, yields to other tasks, commits again.
private final class Twice: ActionCycler {
    enum Action: String, Codable, Sendable { case go }
    struct State: Codable, Sendable { var count = 0 }
    let state: Storage<State> = .init(.init())

    func receive(_ action: Action) async throws {
        commit { $0.update($0.value.count + 1, \.count) }
        await Task.yield()
        commit { $0.update($0.value.count + 1, \.count) }
    }
}
