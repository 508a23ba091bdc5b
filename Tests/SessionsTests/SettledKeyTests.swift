import Reactors
import Sessions
import Storage
import TestStreams
import Testing

@Suite(
    "Contract §8 — the answer of a keyed wait=settled is 202 until the effects have ended",
    .timeLimit(.minutes(60)))
struct SettledKeyTests {
    private let gate = Gate()
    private let body = #"{"type":"start","id":"a"}"#

    private func worker() throws -> Registration { try .of { [gate] in Worker(gate: gate) } }

    private func send(_ rig: Rig, _ session: Session, waits: Bool = true) throws -> UInt64 {
        let token = try rig.post(body, to: session, waits: waits, key: "k")
        rig.drainInbox()
        rig.endRound()
        return token
    }

    private func status(_ rig: Rig, _ token: UInt64) -> Int? {
        guard case .replayed(let stored)? = rig.answer(token)?.kind else { return nil }
        return stored.status
    }

    @Test(arguments: [false, true])
    func `a request that is sent again waits as the first one does`(isKept: Bool) async throws {
        let rig = Rig(answers: isKept)
        let session = try rig.create("s", worker())
        let first = try send(rig, session)
        let again = try send(rig, session)
        #expect(rig.line(first) == "-")
        #expect(rig.line(again) == "-")
        let other = try rig.post(
            #"{"type":"start","id":"b"}"#, to: session, waits: true, key: "k")
        #expect(rig.line(other).hasPrefix("keyReused"))
        gate.open()
        await rig.work { rig.line(again) != "-" }
        #expect(rig.line(first) == "received v2 n2")
        #expect(status(rig, again) == 200)
        #expect(rig.line(again).contains(#"{"version":2,"#))
        #expect(status(rig, try send(rig, session)) == 200)
        #expect(session.version == 2)
        if isKept { #expect(rig.journal.keptBatch.answers.last?.status == 200) }
    }

    @Test(arguments: [false, true], [false, true])
    func
        `it is 202 for a client whose time is over, or that was cut off, until the effects have ended`(
            isKept: Bool, isCutOff: Bool
        ) async throws
    {
        let rig = Rig(answers: isKept)
        let session = try rig.create("s", worker())
        let first = try send(rig, session)
        if isCutOff { session.forget(first) } else { session.stopWaiting(first) }
        rig.endRound()
        #expect(rig.line(first) == (isCutOff ? "-" : "unsettled v1 n1"))
        let again = try send(rig, session)
        #expect(rig.line(again) == "-")
        session.stopWaiting(again)
        #expect(status(rig, again) == 202)
        // Without `wait` the request is answered at once.
        #expect(status(rig, try send(rig, session, waits: false)) == 202)
        let last = try send(rig, session)
        gate.open()
        await rig.work { rig.line(last) != "-" }
        #expect(status(rig, last) == 200)
        #expect(status(rig, try send(rig, session)) == 200)
        #expect(session.version == 2)
    }

    @Test func `effects that a killed process has abandoned stay unsettled`() async throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", worker())
        _ = try send(rig, session)
        #expect(rig.journal.keptBatch.answers.map(\.status) == [202])
        rig.table.stop()
        let later = Rig(journal: rig.journal, registrations: [try worker()])
        guard case .session(let woken) = try later.wake("s") else { throw Rig.NoSession(id: "s") }
        later.settleAll()
        let again = try send(later, woken)
        #expect(status(later, again) == 202)
        gate.open()
        await gate.hasArrivals(0)
        #expect(woken.version == 1)
    }

    // The action that runs again is a new action, and belongs to no request.
    @Test func `effects that run again after a restart stay unsettled for the request`()
        async throws
    {
        let registration = try Registration.of { [gate] in Persistent(gate: gate) }
        let rig = Rig(answers: true)
        let body = #"{"type":"begin"}"#
        let session = try rig.create("s", registration)
        try rig.post(body, to: session, waits: true, key: "k")
        rig.endRound()
        rig.table.stop()
        let later = Rig(journal: rig.journal, registrations: [registration])
        guard case .session(let woken) = try later.wake("s") else { throw Rig.NoSession(id: "s") }
        later.settleAll()
        let again = try later.post(body, to: woken, waits: true, key: "k")
        // The effect waits at the gate.
        await later.work { later.line(again) != "-" }
        #expect(status(later, again) == 202)
        gate.open()
        await later.work { woken.version == 1 }
        let last = try later.post(body, to: woken, waits: true, key: "k")
        later.settleAll()
        #expect(status(later, last) == 202)
        #expect(woken.version == 1, "it is carried out once")
    }

    @Test func `effects that end before the commit of their action settle it`() throws {
        let rig = Rig(slow: true, answers: true)
        let session = try rig.create("s", worker())
        rig.settleAll()
        let first = try rig.post(body, to: session, waits: true, key: "k")
        // In the same step.
        try rig.post(#"{"type":"cancel","id":"a"}"#, to: session)
        rig.settleAll()
        #expect(rig.line(first) == "received v1 n1")
        let again = try rig.post(body, to: session, waits: true, key: "k")
        rig.settleAll()
        #expect(status(rig, again) == 200)
    }

    @Test func `a failed commit of the action leaves the key free`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", worker())
        rig.settleAll()
        let first = try rig.post(body, to: session, waits: true, key: "k")
        rig.endRound()
        rig.settle(.unavailable)
        #expect(rig.line(first).hasPrefix("failed"))
        let again = try rig.post(body, to: session, waits: true, key: "k")
        rig.settleAll()
        session.stopWaiting(again)
        rig.settleAll()
        #expect(rig.line(again) == "unsettled v1 n1")
    }

    // The effects are cancelled, and the session never sees their end.
    @Test func `a neighbour's failed commit leaves the committed answer, 202`() async throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", worker())
        rig.settleAll()
        let first = try rig.post(body, to: session, waits: true, key: "k")
        rig.endRound()
        rig.settle()
        await gate.hasArrivals(1)
        try rig.post(#"{"type":"count"}"#, to: session)
        rig.endRound()
        rig.settle(.full)
        #expect(rig.line(first) == "unsettled v1 n1")
        let again = try rig.post(body, to: session, waits: true, key: "k")
        rig.settleAll()
        #expect(status(rig, again) == 202)
        gate.open()
        await rig.work { rig.notes.contains("dropped a mutation") }
        #expect(session.version == 1)
    }

    @Test func `the 202 of a batch names the rejected actions, and so does the stored one`() throws
    {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .of { [gate] in Picky(gate: gate) })
        let batch = #"[{"type":"refused"},{"type":"begun"}]"#
        let first = try rig.post(batch, to: session, waits: true, key: "k")
        rig.endRound()
        session.stopWaiting(first)
        #expect(rig.line(first) == "unsettled [0] v0 n0")
        var receipt: [UInt8] = []
        rig.answer(first)?.appendReceipt(to: &receipt)
        let text = String(decoding: receipt, as: UTF8.self)
        #expect(text.hasSuffix(#","accepted":false,"rejected":[0]}"# + "\n"))
        #expect(rig.journal.keptBatch.answers.map(\.body) == [receipt])
        gate.open()
    }
}

/// Rejects one action, and holds the effect of another.
private struct Picky: Reactor {
    enum Action: TaggedCodable, Sendable { case refused, begun }
    enum Mutation: TaggedCodable, Sendable { case ended }
    struct State: Codable, Sendable { var count = 0 }

    let gate: Gate
    let initialState = State()

    func transform(action: Action) -> Action? {
        if case .refused = action { nil } else { action }
    }

    func mutate(action: Action) -> Effect<Mutation> {
        let gate = gate
        return .run { send in
            await gate.pass()
            await send(.ended)
        }
    }

    func reduce(state: inout State, mutation: Mutation) { state.count += 1 }
}

/// Its action runs again after a restart.
private struct Persistent: Reactor {
    enum Action: TaggedCodable, Sendable { case begin }
    enum Mutation: TaggedCodable, Sendable { case ended }
    struct State: Codable, Sendable { var count = 0 }

    let gate: Gate
    let initialState = State()

    func mutate(action: Action) -> Effect<Mutation> {
        let gate = gate
        return .run { send in
            await gate.pass()
            await send(.ended)
        }
    }

    func reduce(state: inout State, mutation: Mutation) { state.count += 1 }

    func recovery(of action: Action) -> Recovery { .runAgain }
}
