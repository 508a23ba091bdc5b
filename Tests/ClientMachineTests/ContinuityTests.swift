import Testing

@testable import ClientMachine

@Suite("states that were read, and the events that continue them", .timeLimit(.minutes(60)))
struct ContinuityTests {
    private func state(_ position: String, _ state: String) -> String {
        #"{"id":"room","reactor":"x","version":1,"position":"\#(position)","state":\#(state)}"#
            + "\n"
    }

    private func reads(_ outputs: [Output]) -> [AttemptID] {
        outputs.requests.filter { $0.request.method == "GET" }.map(\.id)
    }

    /// A client that has read the state at number 1, and whose stream has not begun.
    private func unbegun() throws -> (client: Client, stream: AttemptID) {
        var client = try Client()
        let following = Following(
            demand: .init(states: true, activities: true), predicts: true, start: .start)
        let stream = try client.open(room, following: following)
        let request = client.send("1").requests.first
        _ = try client.answer(request?.id, 200, receipt(1))
        let read = reads(client.wait(.seconds(1))).first
        #expect(try client.answer(read, 200, state("aaaaaaaa.1", "1")).ends == ["1:applied 1"])
        return (client, stream)
    }

    @Test func `an event of another life does not continue a state that was read`() throws {
        var (client, stream) = try unbegun()
        let answered = client.send("2").requests.first
        _ = try client.answer(answered?.id, 200, receipt(2))
        let pending = client.send("3").shown
        #expect(pending.flatMap(\.joined).map(\.ticket) == [Ticket(3)])
        // The state is still that of the earlier life, and what is over it stays.
        var outputs = client.event(stream, "said", "bbbbbbbb.1", "1", cause: "another's")
        outputs += client.wait(.seconds(1))
        #expect(outputs.shown.isEmpty)
        #expect(outputs.ends.isEmpty)
        let present = try client.answer(reads(outputs).first, 200, state("bbbbbbbb.1", "0"))
        #expect(present.news == ["snapshot@1=0"])
        #expect(present.ends == ["2:applied 2"])
        // Held a moment: the state that was read may contain the third one.
        #expect(
            client.wait(.seconds(1)).shown == [
                ShownChange(advancesBase: true, left: [Ticket(2)])
            ])
    }

    @Test func `R8: a send joins again when the state of the other life is read`() throws {
        var client = try Client()
        let following = Following(
            demand: .init(states: true, activities: true), predicts: true, start: .start)
        let stream = try client.open(room, following: following)
        _ = client.event(stream, "state", "aaaaaaaa.1", "1")
        let request = try #require(client.send("1").requests.first)
        _ = client.event(stream, "state", "aaaaaaaa.2", "2", cause: request.request.key)
        let covered = client.event(stream, "state", "aaaaaaaa.3", "3", cause: "another's")
        #expect(covered.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
        _ = client.event(stream, "reset", "", #"{"reason":"generation"}"#)
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        let again = try #require(client.wait(.milliseconds(500)).streams.first?.id)
        _ = client.head(again)
        // The state, which is still that of the earlier life, has it.
        let outputs = client.event(again, "said", "bbbbbbbb.1", "1", cause: "another's")
        #expect(outputs.shown.isEmpty)
        _ = try client.answer(reads(outputs).first, 200, state("bbbbbbbb.1", "0"))
        let shown = client.wait(.seconds(1)).shown
        #expect(shown.map(\.advancesBase) == [true])
        #expect(shown.flatMap(\.joined).map(\.ticket) == [Ticket(1)])
    }

    @Test func `an event after a gap does not continue a state that was read`() throws {
        var (client, stream) = try unbegun()
        // The server has trimmed the states before.
        let outputs = client.event(stream, "said", "aaaaaaaa.9", "9", cause: "another's")
        #expect(client.machine.links[room]?.reader.isStale == true)
        let read = try #require(reads(outputs).first)
        #expect(try client.answer(read, 200, state("aaaaaaaa.8", "8")).news.isEmpty)
        let again = reads(client.wait(.seconds(30))).first
        let present = try client.answer(again, 200, state("aaaaaaaa.9", "9"))
        #expect(present.news == ["snapshot@9=9"])
        #expect(present.shown == [ShownChange(advancesBase: true)])
    }

    @Test func `an event that the state contains needs no other one`() throws {
        var (client, stream) = try unbegun()
        #expect(reads(client.event(stream, "said", "aaaaaaaa.1", "1")).isEmpty)
        #expect(reads(client.event(stream, "said", "aaaaaaaa.2", "2")).isEmpty)
        #expect(client.machine.links[room]?.reader.confirmed == at(2))
    }
}
