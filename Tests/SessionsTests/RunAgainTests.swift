import Feeds
import ReactorTesting
import Reactors
import Sessions
import Storage
import Synchronization
import Testing

/// Calls a service that fails as often as the action says.
private struct Caller: Reactor {
    enum Action: TaggedCodable, Sendable { case call(failures: Int), hang }
    enum Mutation: TaggedCodable, Sendable { case begun, done }
    struct State: Codable, Sendable {
        var begun = 0
        var done = 0
    }

    final class Service: Sendable {
        private let calls = Mutex<[String]>([])

        /// - Returns: the number of calls with this key.
        func call(_ key: String) -> Int {
            calls.withLock { calls in
                calls.append(key)
                return calls.count { $0 == key }
            }
        }

        var keys: [String] { calls.withLock { $0 } }
    }

    struct Fault: Error {}

    let service: Service
    let initialState = State()

    func recovery(of action: Action, after interruption: Interruption) -> Recovery {
        interruption.attempts < 5 ? .runAgain(after: .seconds(10)) : .abandon
    }

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        let service = service
        return .concat(
            .just(.begun),
            .run { send in
                switch action {
                case .call(let failures):
                    guard service.call(send.key) > failures else { throw Fault() }
                case .hang:
                    _ = service.call(send.key)
                    try await send.clock.sleep(for: .seconds(1_000_000))
                }
            }, .just(.done))
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .begun: state.begun += 1
        case .done: state.done += 1
        }
    }
}

@Suite("Effects that have failed run again, in another process too", .timeLimit(.minutes(60)))
struct RunAgainTests {
    private static func call(_ failures: Int) -> String {
        #"{"type":"call","failures":\#(failures)}"#
    }

    private struct World {
        let service = Caller.Service()
        let clock = ManualClock()
        let registration: Registration

        init() throws {
            let (service, clock) = (service, clock)
            registration = try .of("caller", clock: clock) { Caller(service: service) }
        }

        /// Returns when these attempts have failed, and the last one is followed by a pause.
        func pauses(in rig: Rig, after failures: Int) async {
            await rig.work { rig.output.failures.count == failures }
            await clock.waitForSleepers(1)
        }

        func next(_ rig: Rig) throws -> (Rig, Session) {
            rig.table.stop()
            let next = Rig(journal: rig.journal, registrations: [registration])
            guard case .session(let session) = try next.wake("s") else {
                throw Rig.NoSession(id: "s")
            }
            next.settleAll()
            return (next, session)
        }
    }

    private func running(_ rig: Rig) -> [RunningAction] {
        let batch = rig.journal.keptBatch
        let settled = Set(batch.settled.map(\.action))
        var running: [UInt64: RunningAction] = [:]
        for one in batch.started where !settled.contains(one.action) { running[one.action] = one }
        return running.values.sorted { $0.action < $1.action }
    }

    @Test(arguments: [true, false])
    func `until they succeed, with one key and one number`(keepsRecords: Bool) async throws {
        let world = try World()
        let rig = Rig(keepsRecords: keepsRecords, answers: keepsRecords)
        let session = try rig.create("s", world.registration)
        let token = try rig.post(Self.call(2), to: session, waits: true)
        rig.endRound()
        for attempt in 2...3 {
            await world.pauses(in: rig, after: attempt - 1)
            if keepsRecords { #expect(running(rig).map(\.attempt) == [attempt]) }
            #expect(rig.line(token) == "-", "the request waits for all attempts")
            world.clock.advance(by: .seconds(10))
        }
        await rig.work { rig.line(token) != "-" }
        #expect(rig.line(token).hasPrefix("received"))
        #expect(rig.state(session) == #"{"begun":3,"done":1}"#)
        #expect(Set(world.service.keys) == ["s.\(session.generation.text).1.1"])
        #expect(running(rig).isEmpty)
    }

    @Test func `a pause continues in the next process, with what is left of it`() async throws {
        let world = try World()
        let rig = Rig(answers: true)
        try rig.act(Self.call(1), on: rig.create("s", world.registration))
        await world.pauses(in: rig, after: 1)
        #expect(running(rig).map(\.wait) == [10_000])
        #expect(running(rig).map(\.begun) == [0])
        let (next, session) = try world.next(rig)
        await world.clock.waitForSleepers(1)
        // A stop during a pause is no attempt.
        #expect(running(next).map(\.attempt) == [2])
        #expect(world.service.keys.count == 1)
        world.clock.advance(by: .seconds(10))
        await next.work { session.version == 3 }
        #expect(Set(world.service.keys).count == 1)
        #expect(running(next).isEmpty)
    }

    @Test func `effects that the process has interrupted wait too, and count`() async throws {
        let world = try World()
        var rig = Rig(answers: true)
        try rig.act(Post.plain("hang"), on: rig.create("s", world.registration))
        await world.clock.waitForSleepers(1)
        for attempt in 2...3 {
            let (next, session) = try world.next(rig)
            await world.clock.waitForSleepers(1)
            #expect(running(next).map(\.attempt) == [attempt])
            #expect(running(next).map(\.begun) == [attempt - 1])
            let version = session.version
            world.clock.advance(by: .seconds(10))
            await next.work { session.version == version + 1 }
            await world.clock.waitForSleepers(1)
            #expect(world.service.keys.count == attempt)
            rig = next
        }
        // Three processes in succession have ended while it ran.
        let (last, _) = try world.next(rig)
        last.settleAll()
        #expect(running(last).isEmpty)
        let failures = last.journal.kept.filter { $0.kind == .failure }
        #expect(failures.count == 1)
        let failure = String(decoding: failures.last?.content ?? [], as: UTF8.self)
        #expect(failure.contains("abandoned: it was begun 3 times"), "\(failure)")
        #expect(Set(world.service.keys).count == 1)
    }

    @Test func `a failed commit of the pause leaves the attempt to the next load`() async throws {
        let world = try World()
        let rig = Rig(slow: true, answers: true, registrations: [world.registration])
        let session = try rig.create("s", world.registration)
        rig.settleAll()
        try rig.act(Self.call(1), on: session)
        rig.settle()
        while rig.journal.pendingCount == 0 {
            await rig.inbox.hasJob()
            rig.drainInbox()
            rig.endRound()
        }
        rig.settle(JournalFailure(reason: .unavailable, detail: "no"))
        #expect(running(rig).map(\.attempt) == [1])
        guard case .session(let again) = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
        rig.settleAll()
        await world.clock.waitForSleepers(1)
        world.clock.advance(by: .seconds(10))
        await rig.work { again.version == 3 }
        #expect(world.service.keys.count == 2)
    }

    @Test func `a session that pauses stays awake, and does not hold up the end of the process`()
        async throws
    {
        let world = try World()
        let rig = Rig(answers: true)
        let session = try rig.create("s", world.registration)
        try rig.act(Self.call(1), on: session)
        await world.pauses(in: rig, after: 1)
        for _ in 1...10 { while rig.table.tick() {} }
        #expect(session.isAwake)
        #expect(!rig.table.hasRunningEffects)
        try rig.act(Post.plain("hang"), on: session)
        #expect(rig.table.hasRunningEffects)
    }
}
