import ReactorTesting
import Reactors
import TestStreams
import Testing

@Suite(
    "The action log has every event, in one order, with its position",
    .timeLimit(.minutes(60)))
struct ActionLogTests {
    private let clock = ManualClock()

    private func makeHost() -> ReactorHost<ScriptReactor> {
        ReactorHost(ScriptReactor(), clock: clock, now: { .seconds(1000) })
    }

    @Test func `records keep their numbers; other entries precede the next record`() async throws {
        let host = makeHost()
        await host.perform(.just("unread"))
        var log = Reading(await host.log())
        await host.perform(.concat(.of("a", "b"), .emit("c")))
        await host.perform(.empty())
        await host.perform(.just("d"))
        let entries = try await log.next(7)
        #expect(entries.map(\.position.description) == ["2.1", "2", "3", "4", "5.1", "5.2", "5"])
        #expect(entries.map(\.action) == [2, 2, 2, 2, 3, 4, 4])
        #expect(
            entries.map(\.text) == [
                "received", "a 2", "b 3", "activity c", "received", "received", "d 4",
            ])
        #expect(entries.allSatisfy { $0.time == .seconds(1000) })
        let positions = entries.map(\.position)
        #expect(positions.sorted() == positions)
    }

    @Test func `positions are the same for all readers`() async throws {
        let host = makeHost()
        var early = Reading(await host.log())
        await host.perform(.empty())
        var late = Reading(await host.log())
        await host.perform(.just("a"))
        #expect(try await early.next(3).map(\.position.description) == ["1.1", "1.2", "1"])
        #expect(try await late.next(2).map(\.position.description) == ["1.2", "1"])
    }

    @Test func `the time is that of the session's clock by default`() async throws {
        let host = ReactorHost(ScriptReactor(), clock: clock)
        var log = Reading(await host.log())
        clock.advance(by: .seconds(3))
        await host.perform(.empty())
        #expect(try await log.next(1).map(\.time) == [.seconds(3)])
    }

    @Test func `a step is logged from start to end under its name`() async throws {
        let host = makeHost()
        var log = Reading(await host.log())
        await host.perform(.run(id: "step") { await $0("sent") })
        await host.settled()
        #expect(
            try await log.next(4).map(\.text) == [
                "received", "started 1 step", "sent 1", "ended 1 step",
            ])
    }

    @Test func `case 77: a step that fails after sending is one failure, with its name and action`()
        async throws
    {
        let host = makeHost()
        await host.perform(.just("first"))
        var log = Reading(await host.log())
        await host.perform(
            .concat(
                .run(id: "step") { sink in
                    await sink("sent")
                    throw Mishap()
                }, .just("never")))
        await host.settled()
        await host.perform(.just("next"))
        let entries = try await log.next(6)
        #expect(
            entries.map(\.text) == [
                "received", "started 1 step", "sent 2", "failed 1 step", "received", "next 3",
            ])
        #expect(entries[3].position.description == "3")
        #expect(entries.map(\.action) == [2, 2, 2, 2, 3, 3])
    }

    @Test func `case 78: an effect that ends early or empty is no failure`() async throws {
        let host = makeHost()
        var log = Reading(await host.log())
        await host.perform(.concat(.just("1"), .empty(), .just("2"), .from([]), .just("3")))
        await host.perform(.run { _ in })
        await host.settled()
        await host.perform(.of("4", "5"))
        #expect(
            try await log.next(10).map(\.text) == [
                "received", "1 1", "2 2", "3 3", "received", "started 1 -", "ended 1 -",
                "received", "4 4", "5 5",
            ])
        #expect(await host.currentState == ["1", "2", "3", "4", "5"])
    }

    @Test func `a failure without waiting has no step`() async throws {
        let host = makeHost()
        var log = Reading(await host.log())
        await host.perform(.error(Mishap()))
        #expect(try await log.next(2).map(\.text) == ["received", "failed"])
    }

    @Test func `cancelled, skipped and dropped steps are logged with their subjects`() async throws
    {
        let host = makeHost()
        var log = Reading(await host.log())
        let gate = Gate()
        await host.perform(
            .run(id: "step") { sink in
                await gate.pass()
                await sink("late")
                await sink.emit("late too")
            })
        await gate.hasArrivals(1)
        await host.perform(.run(id: "step", policy: .first) { _ in })
        await host.perform(.cancel("step"))
        gate.open()
        #expect(
            try await log.next(8).map(\.text) == [
                "received", "started 1 step", "received", "skipped step first", "received",
                "cancelled 1 step", "dropped late ended", "dropped activity late too",
            ])
    }

    @Test func `a slow reader gets its buffered entries, then ReaderTooSlow`() async throws {
        let host = makeHost()
        var log = Reading(await host.log(buffer: 2))
        await host.perform(.of("a", "b"))
        #expect(try await log.next(2).map(\.text) == ["received", "a 1"])
        await #expect(throws: ReaderTooSlow.self) { try await log.next(1) }
        #expect(await host.readerCount == 0)
    }

    @Test func `the log ends with the session, and an ended session has none`() async throws {
        let host = makeHost()
        var log = Reading(await host.log())
        await host.perform(.run(id: "step") { try await $0.clock.sleep(for: .seconds(1)) })
        await host.end()
        #expect(
            try await log.next(9).map(\.text) == ["received", "started 1 step", "cancelled 1 step"])
        var late = Reading(await host.log())
        #expect(try await late.next(1).isEmpty)
    }
}

@Suite("The action log shows the effects of hooks and sources", .timeLimit(.minutes(60)))
struct HookLogTests {
    /// Refuses 0, fails at 1, doubles the rest; of mutations it drops 4 and fails at 6.
    private struct Picky: Reactor {
        typealias Action = Int
        typealias Mutation = Int
        let initialState: [Int] = []
        let feed: AsyncThrowingStream<Int, any Error>
        let other: AsyncThrowingStream<Int, any Error>

        var sources: [Source] {
            [.mutations(feed, name: "feed"), .mutations(other, name: "other")]
        }
        func transform(action: Int) throws -> Int? {
            if action == 1 { throw Mishap() }
            return action == 0 ? nil : action * 2
        }
        func transform(mutation: Int) throws -> Int? {
            if mutation == 6 { throw Mishap() }
            return mutation == 4 ? nil : mutation + 1
        }
        func reduce(state: inout [Int], mutation: Int) { state.append(mutation) }
    }

    private let feed = AsyncThrowingStream<Int, any Error>.makeStream()
    private let other = AsyncThrowingStream<Int, any Error>.makeStream()

    private func makeHost() -> ReactorHost<Picky> {
        ReactorHost(Picky(feed: feed.stream, other: other.stream))
    }

    @Test func `case 93: a rewritten action is logged as received and as rewritten`() async throws {
        let host = makeHost()
        var log = Reading(await host.log())
        await host.send(5)
        let entries = try await log.next(2)
        guard case .received(5, transformed: 10) = entries[0].event else {
            Issue.record("\(entries[0].event)")
            return
        }
        #expect(entries[1].text == "11 1")
        #expect(await host.currentState == [11])
    }

    @Test func `case 92: a rejected action is logged as such and is no record`() async throws {
        let host = makeHost()
        var log = Reading(await host.log())
        #expect(await host.send(0) == SendResult(accepted: false, version: 0))
        await host.send(5)
        #expect(try await log.next(3).map(\.text) == ["rejected 0", "received", "11 1"])
    }

    @Test func `case 94: a dropped mutation is logged, a rewritten one as reduce got it`()
        async throws
    {
        let host = makeHost()
        var log = Reading(await host.log())
        await host.send(2)
        await host.send(5)
        #expect(
            try await log.next(4).map(\.text) == [
                "received", "dropped 4 transform", "received", "11 1",
            ])
    }

    @Test func `case 89: a hook that fails is a record, and the next action works`() async throws {
        let host = makeHost()
        var log = Reading(await host.log())
        await host.send(1)
        await host.send(3)
        await host.send(5)
        let entries = try await log.next(6)
        #expect(
            entries.map(\.text) == [
                "hook transformAction", "rejected 1", "received", "hook transformMutation",
                "received", "11 1",
            ])
        #expect(entries.map(\.position.description) == ["1", "2.1", "2.2", "2", "3.1", "3"])
        var states = Reading(await host.state())
        #expect(try await states.next(1) == [[11]])
    }

    @Test func `case 97: a source's end is logged by name, its failure is a record`() async throws {
        let host = makeHost()
        var log = Reading(await host.log())
        feed.continuation.finish()
        #expect(try await log.next(1).map(\.text) == ["source feed ended"])
        other.continuation.yield(1)
        other.continuation.finish(throwing: Mishap())
        let entries = try await log.next(2)
        #expect(entries.map(\.text) == ["2 1", "source other failed"])
        #expect(entries.map(\.position.description) == ["1", "2"])
        #expect(entries.map(\.action) == [0, 0])
        #expect(await host.send(5).version == 2)
        #expect(try await log.next(1).map(\.text) == ["received"])
    }
}

extension ActionLogEntry {
    /// The entry in a short form, for comparing a whole log.
    var text: String {
        switch event {
        case .received: "received"
        case .rejected(let action): "rejected \(action)"
        case .recorded(let action): "recorded \(action)"
        case .mutation(let mutation, let version): "\(mutation) \(version)"
        case .activity(let activity): "activity \(activity)"
        case .effectStarted(let step): "started \(step.text)"
        case .effectEnded(let step): "ended \(step.text)"
        case .effectCancelled(let step): "cancelled \(step.text)"
        case .effectFailed(let step, _): step.map { "failed \($0.text)" } ?? "failed"
        case .effectSkipped(let id, let reason): "skipped \(id) \(reason)"
        case .timerSet(let name): "timer \(name) set"
        case .timerFired(let name): "timer \(name) fired"
        case .timerCancelled(let name): "timer \(name) cancelled"
        case .sourceEnded(let name): "source \(name) ended"
        case .sourceFailed(let name, _): "source \(name) failed"
        case .hookFailed(let place, _): "hook \(place)"
        case .droppedMutation(let mutation, let reason): "dropped \(mutation) \(reason)"
        case .droppedActivity(let activity): "dropped activity \(activity)"
        case .replaced(let version): "replaced \(version)"
        }
    }
}

extension ActionLogEntry.Step {
    fileprivate var text: String { "\(number) \(id?.name ?? "-")" }
}
