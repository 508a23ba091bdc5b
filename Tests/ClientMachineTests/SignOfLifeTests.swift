import Testing

@testable import ClientMachine

@Suite("C3: a sign of life ends waits for the server", .timeLimit(.minutes(60)))
struct SignOfLifeTests {
    /// A client whose stream has failed so often that its wait is long, and whose post
    /// is under way.
    private func broken() throws -> (client: Client, post: AttemptID) {
        var client = try Client()
        var stream = try client.open(room)
        for _ in 0..<7 {
            _ = client.receive(.streamEnded(stream, failure: "reset"))
            stream = try #require(client.wait(.seconds(30)).streams.first?.id)
        }
        let post = try #require(client.send("1").requests.first?.id)
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        return (client, post)
    }

    @Test(arguments: [
        (200, true), (202, true), (409, true), (410, false), (412, true), (422, true), (400, false),
        (403, false), (404, false), (429, false), (500, false), (502, false), (503, false),
        (504, false),
    ])
    func `an answer of a server that works opens the stream at once`(
        status: Int, opens: Bool
    ) throws {
        var (client, post) = try broken()
        let outputs = try client.answer(
            post, status, status < 300 ? receipt(1) : #"{"code":"session_ended"}"#)
        // The session of a 410 has ended: its stream is not wanted any more.
        #expect(outputs.streams.count == (opens ? 1 : 0))
    }

    @Test func `a lost answer is no sign of life`() throws {
        var (client, post) = try broken()
        #expect(client.receive(.requestFailed(post, "reset")).streams.isEmpty)
    }

    @Test func `an open stream sends the post that waits`() throws {
        var client = try Client()
        var post = try #require(client.send("1").requests.first)
        for _ in 0..<7 {
            _ = client.receive(.requestFailed(post.id, "reset"))
            post = try #require(client.wait(.seconds(30)).requests.first)
        }
        _ = client.receive(.requestFailed(post.id, "reset"))
        _ = client.receive(.follow(room, Following(demand: .init(states: true))))
        let opening = client.wait(.milliseconds(50))
        #expect(opening.requests.isEmpty)
        let outputs = client.head(opening.streams.first?.id)
        #expect(outputs.requests.map(\.request) == [post.request])
    }

    @Test func `the Retry-After of its own refusal holds`() throws {
        var client = try Client()
        _ = client.receive(.follow(room, Following(demand: .init(states: true))))
        let stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        let post = try #require(client.send("1").requests.first?.id)
        let refusal = ClientResponse(503, fields: [.init("Retry-After", "20")])
        _ = client.receive(.streamOpened(stream, refusal))
        _ = client.receive(.streamEnded(stream, failure: nil))
        client.now.uptime += .seconds(1)
        #expect(try client.answer(post, 200, receipt(1)).streams.isEmpty)
        #expect(client.wait(.milliseconds(18_999)).streams.isEmpty)
        #expect(client.wait(.milliseconds(1)).streams.count == 1)
    }

    @Test func `a stream that fails though posts succeed is hurried once until it works`() throws {
        var (client, post) = try broken()
        var stream = try #require(client.answer(post, 200, receipt(1)).streams.first?.id)
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        for number in 2...20 as ClosedRange<UInt64> {
            post = try #require(client.send("1").requests.first?.id)
            #expect(try client.answer(post, 200, receipt(number)).streams.isEmpty)
        }
        stream = try #require(client.wait(.seconds(30)).streams.first?.id)
        _ = client.head(stream)
        _ = client.event(stream, "snapshot", "aaaaaaaa.20", "20")
        client.now.uptime += .seconds(5)
        _ = client.bytes(stream, ":\n")
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        post = try #require(client.send("1").requests.first?.id)
        #expect(try client.answer(post, 200, receipt(21)).streams.count == 1)
    }

    @Test func `a server that drains is not hurried`() throws {
        var client = try Client()
        let stream = try client.open(room)
        _ = client.bytes(stream, "retry: 2000\n\n")
        _ = client.event(stream, "snapshot", "aaaaaaaa.4", "4")
        client.now.uptime += .seconds(5)
        _ = client.bytes(stream, "retry: 9000\n\n")
        let post = try #require(client.send("1").requests.first?.id)
        _ = client.receive(.streamEnded(stream, failure: nil))
        #expect(try client.answer(post, 200, receipt(5)).streams.isEmpty)
    }
}
