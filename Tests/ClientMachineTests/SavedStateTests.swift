import JSONCoding
import Testing

@testable import ClientMachine

private let saved = SavedState(position: at(5), state: Array("5".utf8))

extension [Output] {
    /// The positions of states to save.
    fileprivate var kept: [String] {
        compactMap { output in
            if case .keepState(_, let position) = output {
                String(position.text.dropFirst(9))
            } else {
                nil
            }
        }
    }
}

@Suite("states outlive the program", .timeLimit(.minutes(60)))
struct SavedStateTests {
    private let following = Following(
        demand: .init(states: true, pulses: .all, activities: true), makes: "chat",
        predicts: true, saved: saved)

    @Test func `a saved state is shown at once, with the unconfirmed actions over it`() throws {
        var first = try Client()
        _ = first.send(#"{"a":1}"#)
        var client = try Client(saved: first.saved, keepsStates: true)
        let begun = client.receive(.follow(room, following))
        #expect(begun.news == ["snapshot@5=5"])
        let shown = try #require(begun.shown.first)
        #expect(shown.advancesBase && shown.joined.map(\.ticket.number) == [1])
        // It is no news for the outbox.
        #expect(begun.kept.isEmpty)
        #expect(client.machine.position(room) == nil)
    }

    @Test func `the present takes the place of a saved state, also an older one`() throws {
        var client = try Client(keepsStates: true)
        var following = following
        following.makes = nil
        let stream = try client.open(room, following: following)
        // An event cannot continue it.
        #expect(client.event(stream, "state", at(6).text, "6").news.isEmpty)
        let present = client.event(
            stream, "snapshot", at(4).text, #"{"pulses":{"p":1},"state":4}"#)
        #expect(present.news == ["snapshot@4=4"])
        #expect(present.shown.map(\.advancesBase) == [true])
        #expect(present.kept == ["4"])
        #expect(client.event(stream, "state", at(5).text, "5").news == ["state@5=5"])
    }

    @Test func `events continue a saved state, if they are wanted`() throws {
        var client = try Client(keepsStates: true)
        var following = following
        (following.makes, following.after) = (nil, saved.position)
        _ = client.receive(.follow(room, following))
        let stream = try #require(client.wait(.milliseconds(50)).streams.first)
        #expect(stream.request.target.hasSuffix("&after=aaaaaaaa.5"))
        _ = client.head(stream.id)
        let events = client.event(stream.id, "p", at(6, part: 1).text, "true")
        #expect(events.news == ["p@6.1=true"])
        #expect(events.kept == ["6.1"])
        let next = client.event(stream.id, "state", at(6).text, "6")
        #expect(next.shown.map(\.advancesBase) == [true])
        #expect(next.kept == ["6"])
    }

    @Test func `a state that cannot be decoded is none, and its position counts`() throws {
        var client = try Client(keepsStates: true)
        var following = following
        following.makes = nil
        following.saved?.state = nil
        following.after = saved.position
        let begun = client.receive(.follow(room, following))
        #expect(begun.news.isEmpty && begun.shown.isEmpty)
        let stream = try #require(client.wait(.milliseconds(50)).streams.first)
        #expect(stream.request.target.hasSuffix("&after=aaaaaaaa.5"))
        // The state is read beside the stream.
        #expect(client.head(stream.id).requests.map(\.request.target) == ["/v1/sessions/room"])
    }

    @Test func `a state is saved with each position, and none with what is not certain`() throws {
        var client = try Client(keepsStates: true)
        let stream = try client.open(room)
        #expect(client.event(stream, "snapshot", at(0).text, "0").kept == ["0"])
        #expect(client.bytes(stream, "id: aaaaaaaa.1\n\n").kept == ["1"])
        #expect(client.bytes(stream, ": still here\n\n").kept.isEmpty)
        let post = try #require(client.send(#"{"a":1}"#).requests.first)
        // The state has the effect, and the outbox has the request: together they would
        // show it twice.
        #expect(
            client.event(stream, "state", at(2).text, "2", cause: post.request.key).kept.isEmpty)
        #expect(client.event(stream, "state", at(3).text, "3").kept.isEmpty)
        #expect(try client.answer(post.id, 200, receipt(2)).kept == ["3"])
        // One that may be the effect of a request, without saying so.
        let next = try #require(client.send(#"{"a":2}"#).requests.first)
        _ = client.receive(.streamEnded(stream, failure: "cut"))
        let again = try #require(client.wait(.milliseconds(250)).streams.first?.id)
        _ = client.head(again)
        #expect(client.event(again, "state", at(4).text, "4").kept.isEmpty)
        #expect(try client.answer(next.id, 200, receipt(4)).kept == ["4"])
    }

    @Test func `a state that was read ahead of the stream is saved when the stream is there`()
        throws
    {
        var client = try Client(keepsStates: true)
        let stream = try client.open(room)
        _ = client.event(stream, "snapshot", at(0).text, "0")
        let post = try #require(client.send(#"{"a":1}"#).requests.first)
        _ = try client.answer(post.id, 200, receipt(3))
        let read = try #require(client.wait(.seconds(1)).requests.first)
        let body = #"{"version":3,"position":"aaaaaaaa.3","state":3}"#
        let outputs = try client.answer(read.id, 200, body)
        #expect(outputs.news == ["snapshot@3=3"])
        #expect(outputs.kept.isEmpty)
        #expect(client.event(stream, "state", at(2).text, "2").kept.isEmpty)
        #expect(client.event(stream, "state", at(3).text, "3").kept == ["3"])
    }

    @Test func `while the present is awaited nothing is read beside the stream`() throws {
        var client = try Client(keepsStates: true)
        var following = following
        following.makes = nil
        let stream = try client.open(room, following: following)
        let post = try #require(client.send(#"{"a":1}"#).requests.first)
        _ = try client.answer(post.id, 200, receipt(8))
        #expect(client.wait(.seconds(2)).requests.isEmpty)
        _ = client.event(stream, "snapshot", at(7).text, #"{"pulses":{},"state":7}"#)
        #expect(client.wait(.seconds(1)).requests.map(\.request.method) == ["GET"])
    }

    @Test func `without a file nothing is said about states`() throws {
        var client = try Client()
        let stream = try client.open(room)
        #expect(client.event(stream, "snapshot", at(0).text, "0").kept.isEmpty)
    }
}
