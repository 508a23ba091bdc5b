import Testing

@testable import ClientMachine

@Suite("C5: refusals and ends of streams", .timeLimit(.minutes(60)))
struct StreamEndTests {
    private let states = Following(demand: .init(states: true))

    @Test func `C5: a 204 is believed when the session says the same`() throws {
        var client = try Client()
        _ = client.receive(.follow(room, states))
        let stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        _ = client.head(stream, 204)
        let asked = client.receive(.streamEnded(stream, failure: nil))
        #expect(asked.news.isEmpty)
        let outputs = try client.problem(asked.requests.first?.id, 410, "session_ended")
        #expect(outputs.news == ["ended deleted"])
        #expect(outputs.statuses == [.ended(.deleted)])
        #expect(client.wait(.seconds(100)).streams.isEmpty)
    }

    @Test(arguments: [408, 429, 500, 502, 503, 504, 200]) func `C5: overload is retried`(
        status: Int
    )
        throws
    {
        var client = try Client()
        _ = client.receive(.follow(room, states))
        let stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        // 200 without the type of a stream: a network that answers in the server's place.
        _ = client.receive(
            .streamOpened(
                stream, ClientResponse(status, fields: [.init("content-type", "text/html")])))
        _ = client.receive(.streamEnded(stream, failure: nil))
        #expect(client.wait(.milliseconds(250)).streams.count == 1)
    }

    @Test func `C6: a 401 brings one new credential at once, then one after each wait`() throws {
        var client = try Client(asksForCredentials: true)
        _ = client.receive(.follow(room, states))
        let asked = try #require(client.wait(.milliseconds(50)).asked.first)
        let stream = try #require(
            client.receive(.credential(asked.id, Credential(authorization: "a"))).streams.first)
        #expect(stream.request.value("Authorization") == "a")
        let outputs = client.head(stream.id, 401)
        #expect(outputs.closed == [stream.id])
        #expect(outputs.asked.map(\.refused) == ["a"])
        let second = try #require(
            client.receive(
                .credential(outputs.asked[0].id, Credential(authorization: "b"))
            ).streams.first)
        _ = client.head(second.id, 401)
        let refused = client.receive(.streamEnded(second.id, failure: nil))
        #expect(refused.asked.isEmpty)
        #expect(refused.statuses.last?.isWaiting == true)
        let again = client.wait(.seconds(1)).asked
        #expect(again.map(\.refused) == ["b"])
        let third = client.receive(
            .credential(try #require(again.first?.id), Credential(authorization: "c")))
        #expect(client.head(third.streams.first?.id).statuses == [.live])
    }

    @Test func `C5: a token that expires during a stream costs nothing`() throws {
        var client = try Client(asksForCredentials: true)
        _ = client.receive(.follow(room, states))
        let asked = try #require(client.wait(.milliseconds(50)).asked.first)
        let stream = try #require(
            client.receive(.credential(asked.id, Credential(authorization: "a"))).streams.first)
        _ = client.head(stream.id)
        _ = client.event(stream.id, "snapshot", "aaaaaaaa.4", "4")
        let outputs = client.bytes(
            stream.id, "event: problem\ndata: {\"status\":401,\"code\":\"token_invalid\"}\n\n")
        #expect(outputs.asked.map(\.refused) == ["a"])
        let next = client.receive(
            .credential(outputs.asked[0].id, Credential(authorization: "b")))
        #expect(
            next.streams.map(\.request.target) == [
                "/v1/sessions/room/events?only=states&form=patch&after=aaaaaaaa.4"
            ])
    }

    @Test func `C5: a redirect within the origin is followed three times`() throws {
        var client = try Client()
        _ = client.receive(.follow(room, states))
        var stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        for location in ["/base/v2/a", "https://example.com/base/v2/b", "/base/v2/c"] {
            _ = client.receive(
                .streamOpened(stream, ClientResponse(307, fields: [.init("Location", location)])))
            let next = try #require(
                client.receive(.streamEnded(stream, failure: nil)).streams.first)
            #expect(next.request.target == "/v2/" + String(location.suffix(1)))
            stream = next.id
        }
        _ = client.receive(
            .streamOpened(stream, ClientResponse(308, fields: [.init("Location", "/base/v2/d")])))
        let last = client.receive(.streamEnded(stream, failure: nil))
        #expect(last.streams.isEmpty)
        #expect(last.statuses.last?.isWaiting == true)
        // The next attempt uses the original address again.
        #expect(
            client.wait(.seconds(1)).streams.map(\.request.target) == [
                "/v1/sessions/room/events?only=states&form=patch"
            ])
    }

    // A maintenance page may stay at the target after the server is back.
    @Test(arguments: [nil, 200, 404, 503])
    func `C5: a redirect applies to one connection`(status: Int?) throws {
        var client = try Client()
        _ = client.receive(.follow(room, states))
        let stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        let redirect = ClientResponse(307, fields: [.init("Location", "/base/maintenance")])
        _ = client.receive(.streamOpened(stream, redirect))
        let moved = try #require(client.receive(.streamEnded(stream, failure: nil)).streams.first)
        #expect(moved.request.target == "/maintenance")
        if let status { _ = client.receive(.streamOpened(moved.id, ClientResponse(status))) }
        let failure = status == nil ? "nobody listens" : nil
        #expect(client.receive(.streamEnded(moved.id, failure: failure)).streams.isEmpty)
        #expect(
            client.wait(.seconds(1)).streams.map(\.request.target) == [
                "/v1/sessions/room/events?only=states&form=patch"
            ])
    }

    @Test(arguments: [
        "https://evil.example/base/v1", "//evil.example/base/v1", "http://example.com/base/v1",
        "https://example.com.evil.example/base/v1", "https://example.com@evil.example/base/v1",
        "/elsewhere", "base/v1", "/base//evil.example", "/base/v1\r\nX: y", "",
    ])
    func `C5: a redirect elsewhere is a refusal`(location: String) {
        let server = ServerAddress(origin: "https://example.com", path: "/base")
        #expect(server.target(of: location) == nil)
    }

    // In-band ends

    @Test func `an end concerns one session, and the vector says so`() throws {
        var client = try Client()
        let stream = try client.open(room, other)
        _ = client.event(stream, "room/snapshot", "room/aaaaaaaa.4", "4")
        let outputs = client.event(stream, "other/end", "other/x", #"{"reason":"deleted"}"#)
        #expect(outputs.news == ["ended deleted"])
        #expect(client.machine.status(other).link == .ended(.deleted))
        #expect(client.machine.status(room).link == .live)
        client.now.uptime += .seconds(6)
        _ = client.bytes(stream, ":\n")
        let again = client.receive(.streamEnded(stream, failure: nil)).streams
        #expect(
            again.map(\.request.target) == [
                "/v1/events?session=room&session=other&ids=own&only=states&form=patch&after=aaaaaaaa.4,x"
            ])
    }

    @Test func `a session that nobody has made is made by this client, and followed again`() throws
    {
        var client = try Client()
        let makes = Following(demand: .init(states: true), makes: "chat")
        let put = try #require(client.receive(.follow(room, makes)).requests.first)
        _ = try client.answer(put.id, 201)
        let stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        _ = client.head(stream)
        let outputs = client.event(stream, "end", "", #"{"reason":"unknown"}"#)
        #expect(outputs.requests.map(\.request) == [put.request])
        _ = try client.answer(outputs.requests.first?.id, 201)
        #expect(
            client.wait(.milliseconds(50)).streams.map(\.request.target) == [
                "/v1/sessions/room/events?only=states&form=patch"
            ])
    }

    @Test func `a session that the server has lost is made again, and continues with a reset`()
        throws
    {
        var client = try Client()
        let makes = Following(demand: .init(states: true, pulses: .all), makes: "chat")
        _ = try client.answer(client.receive(.follow(room, makes)).requests.first?.id, 201)
        let stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        _ = client.head(stream)
        _ = client.event(stream, "snapshot", "aaaaaaaa.5", #"{"pulses":{},"state":5}"#)
        let put = client.event(stream, "end", "", #"{"reason":"unknown"}"#).requests.first?.id
        _ = try client.answer(put, 201)
        let again = try #require(client.wait(.milliseconds(50)).streams.first)
        #expect(again.request.target.hasSuffix("after=aaaaaaaa.5"))
        _ = client.head(again.id)
        let reset = client.event(again.id, "reset", "", #"{"reason":"generation"}"#)
        #expect(reset.news == ["reset generation"])
        let present = client.event(
            again.id, "snapshot", "bbbbbbbb.0", #"{"pulses":{},"state":0}"#)
        #expect(present.shown == [ShownChange(advancesBase: true)])
        #expect(client.machine.position(room)?.text == "bbbbbbbb.0")
    }

    @Test func `events that come while a session is made again are not lost`() throws {
        var client = try Client()
        let makes = Following(demand: .init(states: true, pulses: .all), makes: "chat")
        _ = try client.answer(client.receive(.follow(room, makes)).requests.first?.id, 201)
        let stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        _ = client.head(stream)
        _ = client.event(stream, "snapshot", "aaaaaaaa.5", #"{"pulses":{},"state":5}"#)
        let post = try #require(client.send("1").requests.first)
        let put = try client.problem(post.id, 404, "unknown_session").requests.first?.id
        let reset = client.event(stream, "reset", "", #"{"reason":"generation"}"#)
        #expect(reset.news == ["reset generation"])
        _ = client.event(stream, "snapshot", "bbbbbbbb.0", #"{"pulses":{},"state":0}"#)
        _ = try client.answer(put, 200)
        #expect(client.event(stream, "note", "bbbbbbbb.1", "1").news == ["note@1=1"])
        #expect(client.machine.position(room)?.text == "bbbbbbbb.1")
    }

    @Test func `an event that is too large breaks the stream, not the client`() throws {
        var limits = ClientLimits()
        limits.eventBytes = 100
        var client = try Client(limits: limits)
        let stream = try client.open(room)
        let outputs = client.bytes(stream, "data: " + String(repeating: "x", count: 200))
        #expect(outputs.closed == [stream])
        #expect(client.wait(.milliseconds(250)).streams.count == 1)
    }

    @Test(arguments: [
        "event: state\ndata: 1\n\n", "event: state\nid: nonsense\ndata: 1\n\n",
        "event: state\nid: aaaaaaaa.01\ndata: 1\n\n",
    ])
    func `an event without a position breaks the stream`(text: String) throws {
        var client = try Client()
        let stream = try client.open(room)
        #expect(client.bytes(stream, text).closed == [stream])
    }
}
