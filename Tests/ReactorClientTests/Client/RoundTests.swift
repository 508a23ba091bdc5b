import Dispatch
import Foundation
import Reactors
import Testing

@testable import ReactorClient

/// Its states cannot be decoded while the gate is closed.
private struct Gated: Reactor {
    typealias Action = Tally.Action
    typealias Mutation = Tally.Action
    typealias Activity = Tally.Activity

    struct State: Codable, Sendable {
        var count = 0

        enum CodingKeys: CodingKey { case count }

        init() {}

        init(from decoder: any Decoder) throws {
            Gate.current?.pass()
            count = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .count)
        }
    }

    let initialState = State()

    func reduce(state: inout State, mutation: Tally.Action) {
        if case .add(let number) = mutation { state.count += number }
    }
}

/// Holds up the client's task, which runs the program's code. The client is made with it
/// in its context.
///
/// It blocks one of the few threads that all tests share: a test waits for nothing while
/// it is closed.
private final class Gate: Sendable {
    @TaskLocal static var current: Gate?

    private let semaphore = DispatchSemaphore(value: 1)

    func close() { semaphore.wait() }
    func open() { semaphore.signal() }

    func pass() {
        semaphore.wait()
        semaphore.signal()
    }
}

/// A session that is followed, through a transport with rounds.
private struct GatedRoom {
    let gate: Gate
    let rounds: ScriptedRounds
    let client: ReactorClient
    let room: RemoteReactor<Gated>
    let stream: ScriptedExchange

    init(_ configuration: ClientConfiguration = .init()) async throws {
        let (gate, rounds) = (Gate(), ScriptedRounds())
        (self.gate, self.rounds) = (gate, rounds)
        let rig = try Gate.$current.withValue(gate) { try Rig(configuration, in: rounds) }
        client = rig.client
        async let room: RemoteReactor<Gated> = rig.client.session(
            "room", of: "gated", predicting: Gated())
        await rounds.scripted.request().answer(201)
        rounds.endRound()
        stream = await rounds.scripted.stream()
        stream.head()
        stream.event("snapshot", at(0), #"{"pulses":{},"state":{"count":0}}"#)
        rounds.endRound()
        self.room = try await room
    }

    /// Closes the gate, and lets the answer and the event of a send come in one round.
    func confirm(_ post: ScriptedExchange) {
        gate.close()
        post.answer(200, receipt(1))
        stream.event("state", at(1), #"{"count":5}"#, cause: post.field("Idempotency-Key"))
        rounds.endRound()
    }
}

@Suite("the end of a transport's round", .timeLimit(.minutes(60)))
struct RoundTests {
    @Test func `resumes a sender before the program's code runs for its news`() async throws {
        let gated = try await GatedRoom()
        let room = gated.room
        let ticket = try room.submit(.add(number: 5))
        gated.confirm(await gated.rounds.scripted.request())
        var outcomes = Reading(ticket.outcomes)
        let state = Task { await room.confirmedState.count }
        let version = Task { await room.version }
        gated.gate.open()
        guard case .applied(let receipt)? = try await outcomes.next() else {
            throw SendFailure.cancelled
        }
        #expect(receipt.version == 1)
        // A caller that asks waits for the news.
        #expect(await state.value == 5)
        #expect(await version.value == 1)
        #expect(await room.currentState.count == 5)
        #expect(await room.position == Position(at(1)))
        #expect(try await outcomes.next() == nil)
        await gated.client.close()
    }

    @Test func `shows a state that is asked for when the news before it are shown`() async throws {
        let gated = try await GatedRoom()
        let (rounds, client) = (gated.rounds, gated.client)
        async let joining: RemoteReactor<Gated> = client.session("other", of: "gated")
        await rounds.scripted.request().answer(201)
        rounds.endRound()
        let stream = await rounds.scripted.stream()
        stream.head()
        stream.event("other/snapshot", "other/" + at(0), #"{"pulses":{},"state":{"count":0}}"#)
        rounds.endRound()
        let other = try await joining
        let ticket = try other.submit(.add(number: 5))
        let post = await rounds.scripted.request()
        gated.gate.close()
        post.answer(200, receipt(1))
        stream.event("room/state", "room/" + at(1), #"{"count":1}"#)
        stream.event(
            "other/state", "other/" + at(1), #"{"count":5}"#, cause: post.field("Idempotency-Key"))
        rounds.endRound()
        let count = Task { await other.confirmedState.count }
        let position = Task { await other.position }
        gated.gate.open()
        #expect(try await ticket.receipt().version == 1)
        #expect(await count.value == 5)
        #expect(await position.value == Position(at(1)))
        await client.close()
    }

    @Test func `resumes no sender before a reader has the state with its action`() async throws {
        let gated = try await GatedRoom()
        var counts = Reading(await gated.room.state(\.count))
        let ticket = try gated.room.submit(.add(number: 5))
        gated.confirm(await gated.rounds.scripted.request())
        try await expectSteps(of: ticket, in: gated)
        #expect(try await counts.next(2) == [0, 5])
        await gated.client.close()
    }

    @Test func `resumes no sender before the states that are saved contain its action`()
        async throws
    {
        let path = NSTemporaryDirectory() + "reactor-client-" + UUID().uuidString
        defer {
            for end in ["", ".lock", ".new"] {
                try? FileManager.default.removeItem(atPath: path + end)
            }
        }
        let gated = try await GatedRoom(ClientConfiguration(outbox: .file(path)))
        let ticket = try gated.room.submit(.add(number: 5))
        gated.confirm(await gated.rounds.scripted.request())
        try await expectSteps(of: ticket, in: gated)
        await gated.client.close()
    }

    /// The news are held up, and with them the end.
    private func expectSteps(of ticket: Ticket, in gated: GatedRoom) async throws {
        var outcomes = Reading(ticket.outcomes)
        gated.gate.open()
        let first = try await outcomes.next()
        #expect(first == .queued || first == .sent)
        while let outcome = try await outcomes.next() {
            if case .applied = outcome { return }
        }
        Issue.record("the send has no end")
    }

    @Test func `reports each step of a send, in order, to a reader of the steps`() async throws {
        let gated = try await GatedRoom()
        let ticket = try gated.room.submit(.add(number: 5))
        var outcomes = Reading(ticket.outcomes)
        gated.confirm(await gated.rounds.scripted.request())
        gated.gate.open()
        #expect(try await outcomes.next(2) == [.queued, .sent])
        guard case .applied? = try await outcomes.next() else { throw SendFailure.cancelled }
        await gated.client.close()
    }
}
