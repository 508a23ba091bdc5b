import Testing

@testable import ClientMachine

/// Races that the simulation of clients has found, each as a table.
@Suite("Races of answers, streams, reads and ends of processes", .timeLimit(.minutes(60)))
struct RaceTests {
    private let live = Following(demand: .init(states: true), predicts: true)

    private func opened() throws -> (client: Client, stream: AttemptID) {
        var client = try Client()
        let stream = try client.open(
            room, following: Following(demand: .init(states: true), predicts: true, start: .now))
        _ = client.event(stream, "snapshot", "aaaaaaaa.0", "0")
        return (client, stream)
    }

    private func state(_ position: String, _ state: String) -> String {
        #"{"id":"room","reactor":"x","version":1,"position":"\#(position)","state":\#(state)}"#
            + "\n"
    }

    // MARK: Outgoing

    @Test func `O2: the request after one in doubt waits until it is durable, too`() throws {
        var client = try Client()
        let first = try #require(client.send("1").requests.first)
        _ = client.send("2")
        _ = client.receive(.requestFailed(first.id, "reset"))
        client.savesAtOnce = false
        client.now.uptime += .seconds(23 * 3600)
        #expect(!client.receive(.timer).changes.isEmpty)
        // Before the change is durable.
        #expect(client.receive(.timer).requests.isEmpty)
        #expect(client.receive(.wake).requests.isEmpty)
    }

    @Test(arguments: [403, 410])
    func `a refusal after a lost attempt is a doubt, since that one may be applied`(
        status: Int
    ) throws {
        var client = try Client()
        let first = try #require(client.send("1").requests.first)
        _ = client.send("2")
        _ = client.receive(.requestFailed(first.id, "reset"))
        let second = client.wait(.seconds(30)).requests.first
        let outputs = try client.problem(second?.id, status, "session_ended")
        #expect(outputs.ends.first == "1:inDoubt")
        // A send that has never left is refused.
        if status == 410 { #expect(outputs.ends.last == "2:refused session_ended") }
    }

    @Test func `a refusal that follows from the key or the body is none`() throws {
        for (status, code) in [(412, "position_changed"), (422, "not_an_action")] {
            var client = try Client()
            let first = try #require(client.send("1").requests.first)
            _ = client.receive(.requestFailed(first.id, "reset"))
            let second = client.wait(.seconds(30)).requests.first
            #expect(try client.problem(second?.id, status, code).ends == ["1:refused \(code)"])
        }
    }

    @Test func `an end other than applied is reported when it is durable`() throws {
        var client = try Client()
        let request = client.send("1").requests.first
        _ = client.send("2")
        client.savesAtOnce = false
        let refused = try client.problem(request?.id, 403, "forbidden")
        #expect(refused.ends.isEmpty)
        guard case .persist(let number, _)? = refused.first else {
            Issue.record("nothing is made durable")
            return
        }
        #expect(client.receive(.persisted(number)).ends == ["1:refused forbidden"])
    }

    @Test func `a send that is taken back is so when that is durable`() throws {
        var client = try Client()
        _ = client.send("1")
        _ = client.send("2")
        client.savesAtOnce = false
        let outputs = client.receive(.discard(Ticket(2), room))
        #expect(outputs.changes == [.discarded(Ticket(2), room)])
        #expect(outputs.ends.isEmpty)
        let failed = client.receive(.persistFailed("full"))
        #expect(failed.ends == ["2:outboxUnavailable"])
    }

    @Test func `nothing is taken back from an outbox that cannot be written`() throws {
        var client = try Client()
        _ = client.send("1")
        _ = client.send("2")
        _ = client.receive(.persistFailed("full"))
        #expect(client.receive(.discard(Ticket(2), room)).ends.isEmpty)
        #expect(client.machine.outbox[room].queued.map(\.ticket) == [Ticket(2)])
    }

    @Test func `a send that is not durable has one end, whatever follows`() throws {
        var client = try Client()
        let following = Following(demand: .init(states: true), makes: "chat")
        let creation = client.receive(.follow(room, following)).requests.first
        client.savesAtOnce = false
        _ = client.send("1")
        #expect(client.receive(.persistFailed("full")).ends == ["1:outboxUnavailable"])
        #expect(try client.problem(creation?.id, 410, "session_ended").ends.isEmpty)
    }

    @Test func `a session that is left while it is made lets its sends go`() throws {
        var client = try Client()
        let following = Following(demand: .init(states: true), makes: "chat")
        _ = client.send("1")
        let creation = client.receive(.follow(other, following)).requests.first
        _ = client.send("2", to: other)
        _ = client.receive(.leave(other))
        _ = client.receive(.requestFailed(try #require(creation?.id), "reset"))
        // The send has the reactor of the time at which it was made.
        #expect(client.wait(.seconds(30)).requests.contains { $0.request.method == "PUT" })

        var joined = try Client()
        _ = joined.send("1")
        let put = joined.receive(.follow(room, following)).requests.first
        _ = joined.receive(.leave(room))
        _ = joined.receive(.requestFailed(try #require(put?.id), "reset"))
        _ = joined.wait(.seconds(30))
        #expect(joined.machine.links[room]?.creation == .settled)
    }

    @Test func `a session that is joined while it waits to be made gets its stream`() throws {
        var client = try Client()
        // Without it the session would be forgotten when it is left.
        _ = client.send("1")
        let making = Following(demand: .init(states: true), makes: "chat")
        let creation = client.receive(.follow(room, making)).requests.first
        _ = client.receive(.requestFailed(try #require(creation?.id), "reset"))
        _ = client.receive(.leave(room))
        _ = client.receive(.follow(room, Following(demand: .init(states: true))))
        // The plan is made before the wait is over.
        #expect(client.wait(.milliseconds(50)).streams.isEmpty)
        #expect(client.machine.links[room]?.creation == .due)
        var streams: [AttemptID] = []
        while streams.isEmpty, client.now.uptime < .seconds(60) {
            streams = client.wait(.seconds(1)).streams.map(\.id)
        }
        #expect(streams.count == 1)
        #expect(client.machine.links[room]?.creation == .settled)
    }

    // MARK: Incoming

    @Test func `R10: a state that was read may contain what is not answered`() throws {
        var client = try Client()
        _ = client.receive(.follow(room, live))
        let first = client.send("1").requests.first
        _ = client.send("2")
        _ = try client.answer(first?.id, 200, receipt(1))
        let read = try #require(
            client.wait(.seconds(1)).requests.first { $0.request.method == "GET" })
        // The state has both. The second one is not answered.
        let outputs = try client.answer(read.id, 200, state("aaaaaaaa.2", "2"))
        #expect(outputs.shown.allSatisfy { !$0.advancesBase })
    }

    @Test func `R10: a state that the stream does not continue may contain what is not answered`()
        throws
    {
        var client = try Client()
        let stream = try client.open(
            room, following: Following(demand: .init(states: true), predicts: true, start: .now))
        let first = client.send("1").requests.first
        _ = try client.answer(first?.id, 200, receipt(1))
        let read = try #require(
            client.wait(.seconds(1)).requests.first { $0.request.method == "GET" })
        _ = try client.answer(read.id, 200, state("aaaaaaaa.1", "1"))
        _ = client.send("2")
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        let again = try #require(client.wait(.milliseconds(500)).streams.first?.id)
        _ = client.head(again)
        // It begins after the events of the second send.
        _ = client.receive(.streamBytes(again, Array("id: aaaaaaaa.2\n\n".utf8)))
        let outputs = client.event(again, "state", "aaaaaaaa.3", "3", cause: "another's")
        #expect(outputs.shown.allSatisfy { !$0.advancesBase })
        #expect(client.machine.links[room]?.reader.confirmed?.number == 3)
    }

    @Test func `R10: the first state after a gap may contain what is not answered`() throws {
        var client = try Client()
        func following(_ activities: Bool) -> Following {
            Following(
                demand: .init(states: true, activities: activities), predicts: true, start: .start)
        }
        let first = try client.open(room, following: following(false))
        // Another demand: another stream is opened before the first one has brought anything.
        _ = client.receive(.follow(room, following(true)))
        let second = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        _ = client.event(first, "state", "aaaaaaaa.3", "3")
        _ = client.send("1")
        _ = client.head(second)
        // The server has trimmed what was before: the effect of the send may be in it.
        let outputs = client.event(second, "state", "aaaaaaaa.9", "9", cause: "another's")
        #expect(outputs.news == ["reset trimmed", "state@9=9"])
        #expect(outputs.shown.allSatisfy { !$0.advancesBase })
    }

    @Test func `R10: an answered batch of which a replay has brought a part is held`() throws {
        var (client, stream) = try opened()
        let request = client.send("1").requests.first
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        let answered = try client.answer(request?.id, 200, receipt(2))
        let again = try #require(answered.streams.first?.id)
        _ = client.head(again)
        // A replay from the journal has no causes.
        #expect(client.event(again, "state", "aaaaaaaa.1", "1").shown.isEmpty)
        let rest = client.event(again, "state", "aaaaaaaa.2", "2")
        #expect(rest.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
    }

    @Test func `R10: on a later connection an event without a cause may be of the same request`()
        throws
    {
        var (client, stream) = try opened()
        let request = try #require(client.send("1").requests.first)
        _ = client.event(stream, "state", "aaaaaaaa.1", "1", cause: request.request.key)
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        let again = try #require(client.wait(.milliseconds(500)).streams.first?.id)
        _ = client.head(again)
        #expect(client.event(again, "state", "aaaaaaaa.2", "2").shown.isEmpty)
    }

    @Test func `R8: a life that begins without a snapshot ends what another one had`() throws {
        var client = try Client()
        let following = Following(demand: .init(states: true), predicts: true, start: .start)
        let stream = try client.open(room, following: following)
        _ = client.event(stream, "state", "aaaaaaaa.1", "1")
        let request = client.send("1").requests.first
        _ = try client.answer(request?.id, 200, receipt(9))
        _ = client.event(stream, "reset", "bbbbbbbb.0", #"{"reason":"generation"}"#)
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        let again = try #require(client.wait(.milliseconds(500)).streams.first)
        #expect(again.request.target.hasSuffix("from=start"))
        _ = client.head(again.id)
        let outputs = client.event(again.id, "state", "bbbbbbbb.1", "7")
        #expect(outputs.news == ["state@1=7"])
        #expect(outputs.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
    }

    @Test func `a stream that begins later does not continue a state that was read`() throws {
        var client = try Client()
        let following = Following(demand: .init(states: true), predicts: true, start: .now)
        let request = client.send("1").requests.first
        let stream = try client.open(room, following: following)
        _ = try client.answer(request?.id, 200, receipt(1))
        let read = client.wait(.seconds(1)).requests.first { $0.request.method == "GET" }
        _ = try client.answer(read?.id, 200, state("aaaaaaaa.1", "1"))
        // Position 5 is the stream's beginning: the states up to it are not on the stream.
        let again = client.bytes(stream, "id: aaaaaaaa.5\n\n").requests.first
        #expect(again?.request.method == "GET")
        #expect(try client.answer(again?.id, 200, state("aaaaaaaa.4", "4")).news.isEmpty)
        let newest = client.wait(.seconds(30)).requests.first { $0.request.method == "GET" }
        #expect(
            try client.answer(newest?.id, 200, state("aaaaaaaa.6", "6")).news == ["snapshot@6=6"])
    }

    @Test func `a stream that ends a session while it is made has nothing more of it`() throws {
        var client = try Client()
        let following = Following(demand: .init(states: true), makes: "chat")
        for session in [room, other] {
            let creation = client.receive(.follow(session, following)).requests.first
            _ = try client.answer(creation?.id, 201)
        }
        let stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        _ = client.head(stream)
        let post = client.send("1").requests.first
        let put = try client.problem(post?.id, 404, "unknown_session").requests.first
        #expect(put?.request.method == "PUT")
        _ = client.bytes(stream, "event: room/end\ndata: {\"reason\":\"unknown\"}\n\n")
        _ = try client.answer(put?.id, 200)
        #expect(client.wait(.milliseconds(50)).streams.count == 1)
    }

    @Test func `a second beginning of a session is a reset, not a gap`() throws {
        var client = try Client()
        let pulses = Following(demand: .init(pulses: .all))
        let first = try client.open(room, following: pulses)
        // Another demand: another stream is opened before the first one has brought anything.
        let more = Following(demand: .init(pulses: .all, activities: true))
        _ = client.receive(.follow(room, more))
        let second = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        #expect(client.event(first, "snapshot", "aaaaaaaa.3", "{}").news == ["snapshot@3={}"])
        _ = client.head(second)
        #expect(
            client.event(second, "snapshot", "aaaaaaaa.5", "{}").news
                == ["reset trimmed", "snapshot@5={}"])
    }

    @Test func `a second beginning without a snapshot is a reset, too`() throws {
        var client = try Client()
        let now = Following(demand: .init(pulses: .all), start: .now)
        let first = try client.open(room, following: now)
        let more = Following(demand: .init(pulses: .all, activities: true), start: .now)
        _ = client.receive(.follow(room, more))
        let second = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        _ = client.bytes(first, "id: aaaaaaaa.3\n\n")
        _ = client.head(second)
        #expect(client.bytes(second, "id: aaaaaaaa.5\n\n").news == ["reset trimmed"])
        #expect(client.event(second, "last", "aaaaaaaa.6", "6").news == ["last@6=6"])
    }
}
