import Testing

@testable import ClientMachine

/// Shown states of which nothing can show for a while whether they contain an own action.
@Suite("R10: states that are held while no event can come", .timeLimit(.minutes(60)))
struct HoldTests {
    private let predicts = Following(demand: .init(states: true), predicts: true)

    /// A client that follows the room, and has received the first of three records of its request.
    private func begun() throws -> (
        client: Client, stream: AttemptID, request: AttemptID, key: String
    ) {
        var client = try Client()
        let stream = try client.open(room, following: predicts)
        _ = client.event(stream, "snapshot", "aaaaaaaa.0", "0")
        let request = try #require(client.send("1", "2", "3").requests.first)
        let key = try #require(request.request.key)
        #expect(client.event(stream, "state", "aaaaaaaa.1", "1", cause: key).shown.isEmpty)
        return (client, stream, request.id, key)
    }

    private func state(_ position: String, _ state: String) -> String {
        #"{"id":"room","reactor":"x","version":1,"position":"\#(position)","state":\#(state)}"#
            + "\n"
    }

    private func reads(_ outputs: [Output]) -> [AttemptID] {
        outputs.requests.filter { $0.request.method == "GET" }.map(\.id)
    }

    @Test func `a session that ends shows for ever what it has held`() throws {
        var (client, stream, request, _) = try begun()
        #expect(try client.answer(request, 200, receipt(3)).shown.isEmpty)
        let ended = client.event(stream, "end", "", #"{"reason":"deleted"}"#)
        #expect(ended.ends == ["1:applied 3"])
        #expect(ended.shown.isEmpty)
        // Nothing is due any more.
        #expect(ended.contains(.wakeMe(at: nil)))
        #expect(client.wait(.seconds(3600)).isEmpty)
    }

    @Test func `a session that ends rolls back what is refused`() throws {
        var (client, _, request, _) = try begun()
        _ = try client.answer(request, 200, receipt(3))
        let next = try #require(client.send("4").requests.first)
        let outputs = try client.problem(next.id, 410, "session_ended")
        #expect(outputs.news == ["ended deleted"])
        #expect(outputs.ends == ["1:applied 3", "2:refused session_ended"])
        #expect(outputs.shown == [ShownChange(left: [Ticket(2)])])
    }

    @Test func `a session that is made again lets go of what it has held`() throws {
        var (client, stream, request, _) = try begun()
        _ = try client.answer(request, 200, receipt(3))
        _ = client.event(stream, "end", "", #"{"reason":"deleted"}"#)
        let again = try client.open(room, following: predicts)
        _ = client.event(again, "reset", "", #"{"reason":"generation"}"#)
        let present = client.event(again, "snapshot", "bbbbbbbb.0", "0")
        #expect(present.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
    }

    @Test func `a state is held while its stream is away, and for 1 s after that`() throws {
        var (client, stream, _, key) = try begun()
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        let next = try #require(client.wait(.seconds(1)).streams.first?.id)
        #expect(client.wait(.seconds(5)).shown.isEmpty)
        var silent = client
        #expect(silent.head(next).shown.isEmpty)
        #expect(silent.wait(.milliseconds(999)).shown.isEmpty)
        #expect(
            silent.wait(.milliseconds(1)).shown == [
                ShownChange(advancesBase: true, left: [Ticket(1)])
            ])
        _ = client.head(next)
        _ = client.event(next, "state", "aaaaaaaa.2", "2", cause: key)
        _ = client.event(next, "state", "aaaaaaaa.3", "3", cause: key)
        let rest = client.event(next, "state", "aaaaaaaa.4", "4", cause: "another's")
        #expect(rest.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
    }

    @Test func `a state is held while a snapshot is awaited`() throws {
        var (client, stream, _, _) = try begun()
        _ = client.event(stream, "reset", "aaaaaaaa.9", #"{"reason":"trimmed"}"#)
        #expect(client.wait(.seconds(5)).shown.isEmpty)
        let present = client.event(stream, "snapshot", "aaaaaaaa.9", "9")
        #expect(present.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
    }

    @Test func `a state that was read is held for 1 s, though its stream is away`() throws {
        var client = try Client()
        _ = client.receive(.follow(room, predicts))
        let first = client.send("1").requests.first
        _ = client.send("2")
        _ = try client.answer(first?.id, 200, receipt(1))
        let read = reads(client.wait(.seconds(1))).first
        // It has all of the second send or nothing: no event would show it.
        #expect(try client.answer(read, 200, state("aaaaaaaa.2", "2")).shown.isEmpty)
        #expect(client.wait(.milliseconds(999)).shown.isEmpty)
        #expect(client.wait(.milliseconds(1)).shown.map(\.advancesBase) == [true])
    }

    @Test func `O4: a send that an event has shown is reported, and is held all the same`() throws {
        var (client, stream, request, _) = try begun()
        _ = client.receive(.requestFailed(request, "reset"))
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        let outputs = client.wait(.seconds(23 * 3600))
        #expect(outputs.ends == ["1:applied 1"])
        #expect(outputs.shown.isEmpty)
        // The read state has all of it.
        let read = reads(client.wait(.seconds(1))).first
        #expect(
            try client.answer(read, 200, state("aaaaaaaa.3", "3")).shown == [
                ShownChange(advancesBase: true, left: [Ticket(1)])
            ])
    }

    // The server's `Retry-After` of a 409 is as long as the hold: the prediction was shown twice
    // after it.
    @Test
    func `R10: a post that waits after 409 is sent when a state is held that may contain it`()
        throws
    {
        var client = try Client()
        let stream = try client.open(room, following: predicts)
        _ = client.event(stream, "snapshot", "aaaaaaaa.0", "0")
        let request = try #require(client.send("1").requests.first)
        _ = client.receive(.requestFailed(request.id, "reset"))
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        let waited = client.wait(.seconds(1))
        let next = try #require(waited.streams.first?.id)
        let again = try #require(waited.requests.first)
        let running = try client.answer(
            again.id, 409, #"{"code":"request_running"}"#, [.init("Retry-After", "1")])
        #expect(running.requests.isEmpty)
        _ = client.head(next)
        var outputs = client.event(next, "reset", "aaaaaaaa.9", #"{"reason":"trimmed"}"#)
        outputs += client.event(next, "snapshot", "aaaaaaaa.9", "9")
        #expect(outputs.shown.isEmpty)
        let last = try #require(outputs.requests.first)
        #expect(last.request == again.request)
        #expect(
            try client.answer(last.id, 200, receipt(9)).shown == [
                ShownChange(advancesBase: true, left: [Ticket(1)])
            ])
        #expect(client.wait(.seconds(1)).shown.isEmpty)
    }

    @Test func `R10: a held state ends no wait that the service has asked for`() throws {
        var client = try Client()
        let stream = try client.open(room, following: predicts)
        _ = client.event(stream, "snapshot", "aaaaaaaa.0", "0")
        let request = try #require(client.send("1").requests.first)
        let busy = try client.answer(
            request.id, 503, #"{"code":"draining"}"#, [.init("Retry-After", "5")])
        #expect(busy.requests.isEmpty)
        #expect(client.event(stream, "state", "aaaaaaaa.1", "1").requests.isEmpty)
        #expect(client.wait(.milliseconds(4_999)).requests.isEmpty)
        #expect(client.wait(.milliseconds(1)).requests.map(\.request) == [request.request])
    }

    // The state was read again and again: it did not contain the send, and no newer one came.
    @Test func `O4: a send whose hold was over before its event came is in the state`() throws {
        var client = try Client()
        let stream = try client.open(room, following: predicts)
        _ = client.event(stream, "snapshot", "aaaaaaaa.0", "0")
        let request = try #require(client.send("7").requests.first)
        _ = client.receive(.requestFailed(request.id, "reset"))
        // It may be the send's own, and is held for a second.
        let held = client.event(stream, "state", "aaaaaaaa.1", "1")
        #expect(held.shown.isEmpty)
        for again in held.requests { _ = client.receive(.requestFailed(again.id, "reset")) }
        let later = client.wait(.seconds(1))
        #expect(later.shown.map(\.advancesBase) == [true])
        for again in later.requests { _ = client.receive(.requestFailed(again.id, "reset")) }
        _ = client.event(stream, "state", "aaaaaaaa.2", "2", cause: request.request.key)
        client.now.uptime += .seconds(23 * 3600)
        let outputs = client.receive(.timer)
        #expect(outputs.ends == ["1:applied 2"])
        #expect(outputs.shown.flatMap(\.left) == [Ticket(1)])
        for _ in 0..<10 { #expect(reads(client.wait(.seconds(60))).isEmpty) }
    }

    // They are shown over the state as long as it is; without a bound each send would stay.
    @Test func `O7: answered sends that no state will contain are bounded`() throws {
        var limits = ClientLimits()
        limits.actionsInOutbox = 3
        var client = try Client(limits: limits)
        let stream = try client.open(room, following: predicts)
        _ = client.event(stream, "snapshot", "aaaaaaaa.0", "0")
        _ = client.event(stream, "end", "", #"{"reason":"forbidden"}"#)
        for number in UInt64(1)...3 {
            let outputs = client.send("\(number)")
            #expect(outputs.deliveries.first == .accepted(Ticket(number)))
            _ = try client.answer(outputs.requests.first?.id, 200, receipt(number))
        }
        #expect(client.send("4").deliveries.first == .notAccepted(.outboxFull))
    }

    @Test func `O6: what is taken back vanishes while a state is held`() throws {
        var (client, _, _, _) = try begun()
        #expect(client.send("4").shown.flatMap(\.joined).map(\.ticket) == [Ticket(2)])
        let outputs = client.receive(.discard(Ticket(2), room))
        #expect(outputs.shown == [ShownChange(left: [Ticket(2)])])
    }

    @Test func `a session that is joined again has nothing to hold yet`() throws {
        var (client, stream, _, _) = try begun()
        _ = client.receive(.leave(room))
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        var following = predicts
        following.saved = SavedState(position: at(0), state: [0x30])
        let begun = client.receive(.follow(room, following))
        #expect(begun.shown.map(\.advancesBase) == [true])
        #expect(begun.shown.flatMap(\.joined).map(\.ticket) == [Ticket(1)])
    }

    @Test func `R2: a state that events do not continue contains nothing of what they are about`()
        throws
    {
        var client = try Client()
        let following = Following(
            demand: .init(states: true, activities: true), predicts: true, start: .start)
        let stream = try client.open(room, following: following)
        _ = try client.answer(client.send("1").requests.first?.id, 200, receipt(1))
        let read = reads(client.wait(.seconds(1))).first
        _ = try client.answer(read, 200, state("aaaaaaaa.1", "1"))
        let request = try #require(client.send("2", "3").requests.first)
        // Its state was before the gap.
        var outputs = client.event(stream, "said", "aaaaaaaa.9", "9", cause: request.request.key)
        outputs += client.event(stream, "said", "aaaaaaaa.10", "10", cause: "another's")
        #expect(outputs.shown.isEmpty)
        let present = try client.answer(reads(outputs).first, 200, state("aaaaaaaa.10", "10"))
        #expect(present.shown == [ShownChange(advancesBase: true, left: [Ticket(2)])])
    }
}
