import Feeds
import Reactors
import Sessions
import Storage
import Synchronization
import TestStreams
import Testing

@Suite(
    "Contract §2 — steps and sources of one life in memory do not affect the next",
    .timeLimit(.minutes(60)))
struct IncarnationTests {
    private func sleep(_ rig: Rig) {
        for _ in 0..<6 {
            rig.table.tick()
            rig.endRound()
        }
    }

    private func woken(_ rig: Rig) throws -> Session {
        guard case .session(let session) = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
        return session
    }

    /// Waits for this many jobs and runs them.
    private func drainInbox(_ count: Int, to rig: Rig) async {
        var done = 0
        while done < count, !Task.isCancelled {
            await rig.inbox.hasJob()
            let jobs = rig.inbox.drain()
            for job in jobs { job(rig.table) }
            rig.settleAll()
            done += jobs.count
        }
    }

    /// One gate for each machine that is made.
    private final class Gates: Sendable {
        private let made = Mutex<[Gate]>([])

        func make() -> Gate {
            let gate = Gate()
            made.withLock { $0.append(gate) }
            return gate
        }

        /// Forgets the gates made so far: registration makes one reactor to read its initial state.
        func begin() { made.withLock { $0 = [] } }

        subscript(index: Int) -> Gate { made.withLock { $0[index] } }
    }

    @Test(.timeLimit(.minutes(60)), arguments: [false, true])
    func `a cancelled step that outlives its session's sleep does not affect the next life`(
        isDoubted: Bool
    ) async throws {
        let gates = Gates()
        let registration = try Registration.of { Worker(gate: gates.make()) }
        gates.begin()
        let rig = Rig(slow: true, answers: true, registrations: [registration])
        let session = try rig.create("s", registration)
        rig.settleAll()
        try rig.act(Post.latest(1), on: session)
        rig.settleAll()
        await gates[0].hasArrivals(1)
        if isDoubted {
            try rig.act(Post.count, on: session)
            rig.settle(.unavailable)
        } else {
            try rig.act(Post.cancel("search"), on: session)
            rig.settleAll()
            rig.journal.setImmediate(true)
            sleep(rig)
        }
        let again = try woken(rig)
        try rig.act(Post.latest(2), on: again)
        rig.settleAll()
        await gates[1].hasArrivals(1)

        // Its mutation, and its end.
        gates[0].open()
        await drainInbox(2, to: rig)
        gates[1].open()
        await rig.work { rig.state(again).contains("2]") }
        #expect(rig.state(again).contains(#""worked":[2]"#))
        #expect(!rig.notes.contains("dropped a mutation"))
    }

    @Test(.timeLimit(.minutes(60)))
    func `a source that ignores its cancellation delivers nothing to the next life`() async throws {
        let gates = Gates()
        let registration = try Registration.of { Deaf(gate: gates.make()) }
        gates.begin()
        let rig = Rig(slow: true, answers: true, registrations: [registration])
        let session = try rig.create("s", registration)
        rig.settleAll()
        await gates[0].hasArrivals(1)
        try rig.act(#"{"_0":1}"#, on: session)
        rig.settle(.unavailable)
        let again = try woken(rig)
        await gates[1].hasArrivals(1)
        gates[0].open()
        // It checks whether its session exists, and ends.
        await drainInbox(3, to: rig)
        #expect(rig.state(again) == #"{"heard":0}"#)
        gates[1].open()
        await rig.work { rig.state(again) == #"{"heard":7}"# }
    }

    @Test func `case 138: waking records nothing even if transform(state) fails`() throws {
        let registration = try Registration.of { Decorated() }
        let rig = Rig(answers: true, registrations: [registration])
        let session = try rig.create("s", registration)
        try rig.act(Post.add(-1), on: session)
        let position = session.position
        let kept = rig.journal.kept.count
        for _ in 1...3 {
            sleep(rig)
            let again = try woken(rig)
            #expect(rig.state(again).contains(#""sum":-1"#))
            #expect(again.position == position)
        }
        #expect(rig.journal.kept.count == kept)
        #expect(rig.journal.keptBatch.snapshots.count == 2, "at the creation, and before it slept")
    }

    @Test(arguments: [Selection.allPulses, .allStates])
    func `a session survives a commit that fails together with transform(state)`(
        selection: Selection
    ) throws {
        let registration = try Registration.of { Decorated() }
        let rig = Rig(slow: true, answers: true, registrations: [registration])
        let session = try rig.create("s", registration)
        rig.settleAll()
        try rig.act(Post.add(-1), on: session)
        rig.settleAll()
        let position = session.position
        let kept = rig.journal.kept.count
        let reader = rig.subscribe(session, selection, .now)
        try rig.act(Post.add(-1), on: session)
        let read = rig.read(session)
        rig.settle(.unavailable)
        rig.settleAll()
        #expect(rig.journal.kept.count == kept)
        #expect(rig.line(read).hasPrefix("state"))
        let again = try woken(rig)
        #expect(again.position == position)
        try rig.act(Post.add(5), on: again)
        rig.settleAll()
        #expect(rig.transcript(reader).events.count == 1)
    }

    @Test(arguments: [false, true])
    func `a keyed request whose connection is reset before its commit is applied once`(
        isKept: Bool
    ) throws {
        let gate = Gate()
        let rig = Rig(slow: true, answers: isKept)
        let session = try rig.create("s", .of { Worker(gate: gate) })
        rig.settleAll()
        let first = try rig.post(Post.start("x"), to: session, waits: true, key: "k")
        rig.endRound()
        session.forget(first)
        rig.settleAll()
        let retry = try rig.post(Post.start("x"), to: session, waits: true, key: "k")
        rig.settleAll()
        #expect(rig.line(retry) == "-", "it waits for the same effects")
        session.stopWaiting(retry)
        #expect(rig.line(retry).hasPrefix("replayed"))
        #expect(session.version == 1)
    }

    @Test func `a keyed request whose connection is reset before a failing commit frees its key`()
        throws
    {
        let gate = Gate()
        let rig = Rig(slow: true)
        let session = try rig.create("s", .of { Worker(gate: gate) })
        rig.settleAll()
        let first = try rig.post(Post.start("x"), to: session, waits: true, key: "k")
        rig.endRound()
        session.forget(first)
        rig.settle(.unavailable)
        try rig.post(Post.start("x"), to: session, waits: true, key: "k")
        rig.settleAll()
        #expect(session.version == 1)
    }
}

/// Its source waits at a gate, ignores cancellation, and delivers one element.
private struct Deaf: Reactor {
    struct Action: Codable, Sendable {
        var _0: Int
    }
    struct State: Codable, Sendable { var heard = 0 }
    let initialState = State()
    let gate: Gate

    var sources: [Source] { [.mutations(Elements(gate: gate), name: "deaf")] }

    func reduce(state: inout State, mutation: Action) { state.heard += mutation._0 }

    struct Elements: AsyncSequence, AsyncIteratorProtocol, Sendable {
        typealias Element = Action
        let gate: Gate
        var isOver = false

        func makeAsyncIterator() -> Elements { self }

        mutating func next() async -> Action? {
            guard !isOver else { return nil }
            isOver = true
            await gate.pass()
            return Action(_0: 7)
        }
    }
}
