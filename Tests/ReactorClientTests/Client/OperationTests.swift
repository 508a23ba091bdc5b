import ClientMachine
import Dispatch
import Reactors
import Testing

@testable import ReactorClient

@Suite("what a thread that sends carries out", .timeLimit(.minutes(60)))
struct OperationTests {
    private func core() throws -> DriverCore {
        DriverCore(
            ClientMachine(
                server: ServerAddress(origin: "https://example.com"),
                using: SystemRandomNumberGenerator()))
    }

    @Test func `operations are one thread's at a time, in the order of the decisions`() throws {
        var core = try core()
        let room = try #require(SessionName("room"))
        let now = DriverClock().now
        func saved(_ operations: [DriverOperations.Operation]) -> [UInt64] {
            operations.compactMap { operation in
                guard case .output(.persist(let number, _)) = operation else { return nil }
                return number
            }
        }
        _ = core.decide(.send(room, [Array("1".utf8)]), at: now)
        _ = core.decide(.send(room, [Array("2".utf8)]), at: now)
        let first = core.operations.begin()
        _ = core.decide(.send(room, [Array("3".utf8)]), at: now)
        // Another thread has nothing to do: the first one gets the third.
        let other = core.operations.begin()
        #expect(!core.isIdle)
        #expect(!core.hasWork)
        let second = core.operations.next(isLast: false)
        _ = core.decide(.send(room, [Array("4".utf8)]), at: now)
        let left = core.operations.next(isLast: true)
        #expect(core.hasWork)
        let third = core.operations.begin()
        let end = core.operations.next(isLast: false)
        #expect([first, second, third].map(saved) == [[1, 2], [3], [4]])
        #expect([other, left, end].map(saved) == [[], [], []])
        #expect(core.isIdle)
    }

    @Test(arguments: [false, true])
    func `before its answer a send wakes the task for readers alone`(hasReaders: Bool) throws {
        var core = try core()
        let room = try #require(SessionName("room"))
        let now = DriverClock().now
        let sink = SilentSink(hasReaders: hasReaders)
        core.sessions[room] = FollowedSession(sink: sink)
        _ = core.decide(
            .follow(room, Following(demand: .init(states: true), predicts: true)), at: now)
        #expect(core.hasWork)
        _ = core.nextRound(at: now)
        _ = core.operations.begin()
        for number in [1, 2] as [UInt64] {
            _ = core.decide(.send(room, [Array("1".utf8)]), at: now)
            _ = core.decide(.persisted(number), at: now)
        }
        #expect(core.hasWork == hasReaders)
        let steps = core.nextRound(at: now)?.outputs.filter { decision in
            if case .deliver(_, .outcome(_, .queued)) = decision.output { true } else { false }
        }
        #expect(steps?.count == 2)
        #expect(!core.hasWork)
        _ = core.decide(.persistFailed("full"), at: now)
        #expect(core.hasWork)
    }

    @Test func `a reader that comes after a send begins with it, and has the steps`() async throws {
        let rig = try Rig()
        let (room, _) = try await rig.room()
        let ticket = try room.submit(.add(number: 5))
        var counts = Reading(await room.state(\.count))
        #expect(try await counts.next() == 5)
        try room.submit(.add(number: 1))
        #expect(try await counts.next() == 6)
        var progress = Reading(ticket.outcomes)
        #expect(try await progress.next() == .sent)
        await rig.client.close()
    }

    @Test func `a state is saved after the changes that were decided before it`() async throws {
        let outbox = GatedOutbox()
        let rig = try Rig(ClientConfiguration(outbox: ClientOutbox { outbox }))
        let (room, stream) = try await rig.room()
        #expect(await room.currentState.count == 0)
        var events = Reading(await room.events())
        outbox.hold()
        DispatchQueue.global().async { _ = try? room.submit(.add(number: 10)) }
        await outbox.waitForWriter()
        stream.event("state", at(3), tally(3))
        _ = try await events.next()
        // Everything that the event has led to is carried out, but for the outbox.
        #expect(await room.currentState.count == 13)
        #expect(outbox.log == [])
        outbox.release()
        let post = await rig.transport.request()
        #expect(post.body == #"{"type":"add","number":10}"#)
        await rig.client.close()
        #expect(outbox.log.prefix(2) == ["write", "state"])
        #expect(outbox.log.last == "close")
    }

    @Test func `a client that closes waits for the thread that writes`() async throws {
        let outbox = GatedOutbox()
        let rig = try Rig(ClientConfiguration(outbox: ClientOutbox { outbox }))
        let (room, _) = try await rig.room()
        outbox.hold()
        DispatchQueue.global().async { _ = try? room.submit(.add(number: 10)) }
        await outbox.waitForWriter()
        let closing = Task { await rig.client.close() }
        while (try? room.submit(.add(number: 1))) != nil { await Task.yield() }
        #expect(outbox.log == [])
        outbox.release()
        await closing.value
        #expect(outbox.log.last == "close")
        #expect(outbox.log.contains("write"))
    }
}

private final class SilentSink: SessionSink {
    let hasReaders: Bool

    init(hasReaders: Bool) { self.hasReaders = hasReaders }

    func receive(_ deliveries: [Delivery]) async {}
    func finish() async {}
}
