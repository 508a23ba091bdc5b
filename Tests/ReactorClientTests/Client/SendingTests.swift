import ClientMachine
import Foundation
import Reactors
import Synchronization
import Testing

@testable import ReactorClient

@Suite("sending to a remote session", .timeLimit(.minutes(60)))
struct SendingTests {
    @Test func `a send shows at once and returns when the shown state contains it`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room()
        var counts = Reading(await room.state(\.count))
        #expect(try await counts.next() == 0)
        let result = Task { try await room.send(.add(number: 5)) }
        let post = await rig.transport.request()
        #expect(post.target == "/v1/sessions/room/actions")
        #expect(post.body == #"{"type":"add","number":5}"#)
        #expect(try await counts.next() == 5)
        #expect(await room.currentState.count == 5)
        #expect(await room.confirmedState.count == 0)
        #expect(room.pending == 1)
        post.answer(200, receipt(1))
        stream.event("state", at(1), tally(5), cause: post.field("Idempotency-Key"))
        let answer = try await result.value
        #expect(answer == SendResult(accepted: true, version: 1))
        #expect(await room.confirmedState.count == 5)
        #expect(await room.currentState.count == 5)
        #expect(room.pending == 0)
        await rig.client.close()
        #expect(try await counts.next() == nil)
    }

    @Test func `the state contains an action as soon as it is submitted`() async throws {
        let rig = try Rig()
        let (room, _) = try await rig.room()
        for number in 1...200 {
            try room.submit(.add(number: 1))
            #expect(await room.currentState.count == number)
        }
        await rig.client.close()
        #expect(await room.currentState.count == 200)
    }

    @Test func `without an instance only the confirmed state is shown`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room(predicts: false)
        var counts = Reading(await room.state(\.count))
        let ticket = try room.submit(.add(number: 5))
        let post = await rig.transport.request()
        #expect(await room.currentState.count == 0)
        post.answer(200, receipt(1, #","accepted":false"#))
        stream.event("state", at(1), tally(7))
        #expect(try await ticket.receipt().rejected == [0])
        #expect(try await counts.next(2) == [0, 7])
        await rig.client.close()
    }

    @Test func `a request leaves when its change is durable, and not before`() async throws {
        let outbox = HeldOutbox()
        let rig = try Rig(ClientConfiguration(outbox: ClientOutbox { outbox }))
        let (room, _) = try await rig.room()
        var progress = Reading(try room.submit(.add(number: 1)).outcomes)
        await outbox.whenWritten()
        // The change of another input, which is performed after a request that were under way.
        rig.client.wake()
        #expect(rig.transport.lines.filter { $0.hasPrefix("POST") } == [])
        outbox.makeDurable()
        #expect(try await progress.next() == .queued)
        let post = await rig.transport.request()
        #expect(try await progress.next() == .sent)
        post.answer(200, receipt(1))
        await rig.client.close()
    }

    @Test func `a request leaves before the call that sends returns`() async throws {
        let rig = try Rig()
        let (room, _) = try await rig.room()
        let (thread, lines) = try Self.submit(to: room, on: rig.transport)
        #expect(lines.last == "POST /v1/sessions/room/actions")
        let post = await rig.transport.request()
        #expect(pthread_equal(post.thread, thread) != 0)
        await rig.client.close()
    }

    /// - Returns: the thread that has sent, and the requests that had started when the
    ///   call returned.
    private static func submit(
        to room: RemoteReactor<Tally>, on transport: ScriptedTransport
    ) throws -> (pthread_t, [String]) {
        try room.submit(.add(number: 1))
        return (pthread_self(), transport.lines)
    }

    @Test func `a refusal rolls back and fails the send`() async throws {
        let rig = try Rig()
        let (room, _) = try await rig.room()
        var refusals = Reading(await rig.client.refusals)
        let result = Task { try await room.send(.add(number: 5)) }
        await rig.transport.request().problem(422, "not_an_action")
        let details = problem(422, "not_an_action")
        await #expect(throws: SendFailure.refused(details)) { try await result.value }
        #expect(await room.currentState.count == 0)
        // The first sender has seen its refusal. Nobody awaits this send.
        let ticket = try room.submit(.add(number: 1))
        await rig.transport.request().problem(403, "forbidden")
        let refusal = try #require(try await refusals.next())
        #expect(refusal.session == "room")
        #expect(refusal.failure == .refused(problem(403, "forbidden")))
        let kept = try await Reading(await rig.client.refusals).first(1)
        #expect(kept == [refusal])
        rig.client.dismiss(kept[0])
        withExtendedLifetime(ticket) {}
        await rig.client.close()
    }

    @Test func `the reactor's refusal is a result, and for a ticket a failure`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room()
        let body =
            #"{"status":422,"code":"action_refused","detail":"No.","refusal":{"code":"no"}}"#
        let refusal = Refusal("no", "No.")
        let result = Task { try await room.send(.add(number: 5)) }
        await rig.transport.request().answer(422, body)
        #expect(
            try await result.value == SendResult(accepted: false, version: 0, refusal: refusal))
        #expect(await room.currentState.count == 0)
        let ticket = try room.submit(.add(number: 1))
        await rig.transport.request().answer(422, body)
        let details = problem(422, "action_refused", refusal)
        await #expect(throws: SendFailure.refused(details)) { try await ticket.receipt() }
        #expect(details.description == "422 action_refused: no: No.")
        let failing = Task { try await room.send(.add(number: 2)) }
        let post = await rig.transport.request()
        post.answer(200, receipt(1, #","failed":"Fault()""#))
        stream.event("state", at(1), tally(2), cause: post.field("Idempotency-Key"))
        #expect(
            try await failing.value == SendResult(accepted: true, version: 1, failure: "Fault()"))
        // A Cycler's answer to actions that travel together.
        _ = try room.submit(.add(number: 1))
        let first = await rig.transport.request()
        _ = try room.submit(.add(number: 1))
        let rejected = Task { try await room.send(.add(number: 3)) }
        while room.pending < 3 { await Task.yield() }
        first.answer(200, receipt(2))
        stream.event("state", at(2), tally(3), cause: first.field("Idempotency-Key"))
        let batch = await rig.transport.request()
        let refusals = #"{"1":{"code":"no","detail":"No."}}"#
        batch.answer(200, receipt(3, #","rejected":[1],"refusals":\#(refusals)"#))
        stream.event("state", at(3), tally(4), cause: batch.field("Idempotency-Key"))
        #expect(
            try await rejected.value == SendResult(accepted: false, version: 3, refusal: refusal))
        await rig.client.close()
    }

    @Test func `a refusal has its actions, and can be sent again once`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room()
        var refusals = Reading(await rig.client.refusals)
        let sender = Task { try await room.send([.add(number: 1), .add(number: 2)]) }
        let first = await rig.transport.request()
        // A task that has stopped waiting does not see it.
        sender.cancel()
        await #expect(throws: SendFailure.cancelled) { try await sender.value }
        first.problem(403, "forbidden")
        let refusal = try #require(try await refusals.next())
        #expect(refusal.actions == [#"{"type":"add","number":1}"#, #"{"type":"add","number":2}"#])
        let decoded = try refusal.actions(as: Tally.Action.self)
        #expect(decoded.count == 2)
        let ticket = try rig.client.retry(refusal)
        #expect(throws: SendFailure.dismissed) { try rig.client.retry(refusal) }
        let again = await rig.transport.request()
        #expect(again.body == first.body)
        #expect(again.field("Idempotency-Key") != first.field("Idempotency-Key"))
        again.answer(200, receipt(2))
        stream.event("state", at(2), tally(3), cause: again.field("Idempotency-Key"))
        #expect(try await ticket.receipt().version == 2)
        #expect(await room.currentState.count == 3)
        await rig.client.close()
    }

    @Test func `the sends of an earlier program are listed, and end`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let configuration = ClientConfiguration(
            outbox: .file(folder.appending(path: "outbox").path, keepsStates: false))
        let first = try Rig(configuration)
        let (room, _) = try await first.room()
        try room.submit(.add(number: 1))
        _ = await first.transport.request()
        var later = Reading(try room.submit(.add(number: 2)).outcomes)
        #expect(try await later.next() == .queued)
        #expect(first.client.pendingSends.map(\.isSent) == [true, false])
        await first.client.close()

        let second = try Rig(configuration)
        let pending = second.client.pendingSends
        #expect(pending.map(\.session) == ["room", "room"])
        #expect(
            pending.map(\.actions)
                == [[#"{"type":"add","number":1}"#], [#"{"type":"add","number":2}"#]])
        await second.transport.request().answer(200, receipt(1))
        #expect(try await pending[0].ticket.receipt().version == 1)
        #expect(second.client.pendingSends.count == 1)
        await second.transport.request().problem(422, "not_an_action")
        await #expect(throws: SendFailure.refused(problem(422, "not_an_action"))) {
            try await pending[1].ticket.receipt()
        }
        #expect(second.client.pendingSends.isEmpty)
        await second.client.close()
    }

    @Test func `a position that changed, and a key that was used, have failures of their own`()
        async throws
    {
        let rig = try Rig()
        let (room, _) = try await rig.room()
        let position = try #require(Position(at(3)))
        let conditional = Task { try await room.send([.add(number: 1)], if: .position(position)) }
        let post = await rig.transport.request()
        #expect(post.field("If-Match") == "\"\(at(3))\"")
        post.problem(412, "position_changed", [TransportField("ETag", "\"\(at(4))\"")])
        let now = try #require(Position(at(4)))
        await #expect(throws: SendFailure.positionChanged(now)) { try await conditional.value }
        let doubtful = Task { try await room.send([.add(number: 1)], settled: .seconds(2)) }
        let second = await rig.transport.request()
        #expect(second.target.hasSuffix("?wait=settled&timeout=2000ms"))
        second.problem(422, "key_reused")
        await #expect(throws: SendFailure.inDoubt) { try await doubtful.value }
        await rig.client.close()
    }

    @Test func `what cannot be sent is refused at once`() async throws {
        var configuration = ClientConfiguration()
        configuration.limits.actionsInOutbox = 2
        let rig = try Rig(configuration)
        let (room, _) = try await rig.room()
        let failure = #expect(throws: SendFailure.self) { try room.submit(.divide(by: .infinity)) }
        guard case .notEncodable(let reason) = failure else { throw failure ?? SendFailure.empty }
        #expect(reason.contains("/by"))
        await #expect(throws: SendFailure.empty) { try await room.send([]) }
        let first = try room.submit(.add(number: 1))
        let second = try room.submit(.add(number: 1))
        #expect(throws: SendFailure.outboxFull(limit: 2)) { try room.submit(.add(number: 1)) }
        _ = await rig.transport.request()
        #expect(!first.discard())
        #expect(second.discard())
        await #expect(throws: SendFailure.discarded) { try await second.receipt() }
        #expect(room.pending == 1)
        await rig.client.close()
        await #expect(throws: SendFailure.closed) { try await first.receipt() }
        #expect(throws: SendFailure.closed) { try room.submit(.add(number: 1)) }
    }

    @Test func `an outbox that cannot be written fails its sends and all later ones`() async throws
    {
        let outbox = HeldOutbox()
        let rig = try Rig(ClientConfiguration(outbox: ClientOutbox { outbox }))
        let (room, _) = try await rig.room()
        let ticket = try room.submit(.add(number: 1))
        await outbox.whenWritten()
        outbox.fail("the disk is full")
        let failure = SendFailure.outboxUnavailable("the disk is full")
        await #expect(throws: failure) { try await ticket.receipt() }
        #expect(throws: failure) { try room.submit(.add(number: 1)) }
        #expect(await room.currentState.count == 0)
        await rig.client.close()
    }

    @Test func `a task that stops waiting does not take its action back`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room()
        let task = Task { try await room.send(.add(number: 5)) }
        let post = await rig.transport.request()
        task.cancel()
        await #expect(throws: SendFailure.cancelled) { try await task.value }
        #expect(await room.currentState.count == 5)
        var counts = Reading(await room.state(\.count))
        post.answer(200, receipt(1))
        stream.event("state", at(1), tally(6))
        #expect(try await counts.next(2) == [5, 6])
        await rig.client.close()
    }

    @Test func `a refusal is kept if the task that waited has stopped waiting`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room()
        let task = Task { try await room.send(.add(number: 5)) }
        let post = await rig.transport.request()
        task.cancel()
        await #expect(throws: SendFailure.cancelled) { try await task.value }
        post.problem(422, "not_an_action")
        // Its end follows that of the first one.
        let next = try room.submit(.add(number: 1))
        await rig.transport.request().answer(200, receipt(1))
        stream.event("state", at(1), tally(1))
        _ = try await next.receipt()
        var refusals = Reading(await rig.client.refusals)
        await rig.client.close()
        #expect(try await refusals.next()?.failure == .refused(problem(422, "not_an_action")))
    }

    @Test func `a wait for effects has the server's limit, however long it is`() async throws {
        let rig = try Rig()
        let (room, _) = try await rig.room()
        for (limit, timeout) in [
            (Duration.seconds(Int64.max), "600s"), (.milliseconds(2), "2ms"), (.seconds(-1), "0ms"),
        ] {
            let task = Task { try await room.send([.add(number: 1)], settled: limit) }
            let post = await rig.transport.request()
            #expect(post.target.hasSuffix("?wait=settled&timeout=\(timeout)"))
            post.problem(403, "forbidden")
            await #expect(throws: SendFailure.self) { try await task.value }
        }
        await rig.client.close()
    }

    @Test func `a session that is deleted refuses sends`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room()
        var events = Reading(await room.events())
        stream.event("end", at(0), #"{"reason":"deleted"}"#)
        guard case .ended(.deleted)? = try await events.next() else { throw SendFailure.empty }
        #expect(try await events.next() == nil)
        #expect(throws: SendFailure.ended(.deleted)) { try room.submit(.add(number: 1)) }
        #expect(room.status == .ended(.deleted))
        await rig.client.close()
    }

    @Test func `a file continues the sends of a client that is gone`() async throws {
        let path = NSTemporaryDirectory() + "reactor-client-" + UUID().uuidString
        defer {
            for end in ["", ".lock", ".new"] {
                try? FileManager.default.removeItem(atPath: path + end)
            }
        }
        let first = try Rig(ClientConfiguration(outbox: .file(path)))
        let (room, _) = try await first.room()
        try room.submit(.add(number: 1))
        let post = await first.transport.request()
        try room.submit(.add(number: 2))
        #expect(throws: ClientFailure.self) {
            try ReactorClient("https://example.com", ClientConfiguration(outbox: .file(path)))
        }
        await first.client.close()
        let second = try Rig(ClientConfiguration(outbox: .file(path)))
        let again = await second.transport.request()
        #expect(again.body == post.body)
        #expect(again.field("Idempotency-Key") == post.field("Idempotency-Key"))
        again.answer(200, receipt(1))
        let next = await second.transport.request()
        #expect(next.body == #"{"type":"add","number":2}"#)
        await second.client.close()
    }

    @Test func `sends of an earlier life of the program continue`() async throws {
        let name = try #require(SessionName("room"))
        var generator = SystemRandomNumberGenerator()
        let key = RequestKey(using: &generator)
        let changes: [OutboxChange] = [
            .queued(
                OutboxEntry(
                    ticket: TicketNumber(1), session: name, actions: [Array("{}".utf8)])),
            .sent(name, key, body: Array("{}".utf8), count: 1, date: Int64.max),
        ]
        let saved = try #require(Outbox(replaying: changes))
        let outbox = HeldOutbox(SavedOutbox(saved))
        let rig = try Rig(ClientConfiguration(outbox: ClientOutbox { outbox }))
        outbox.makeDurable()
        // A date in the future: nobody knows how old the request is.
        let refusal = try await Reading(await rig.client.refusals).first(1)
        #expect(refusal.map(\.failure) == [.inDoubt])
        await rig.client.close()
    }
}

extension Reading {
    func first(_ count: Int) async throws -> [Element] {
        var copy = self
        return try await copy.next(count)
    }
}
