import Testing

@testable import ClientMachine

@Suite("R1 to R10: confirmed and shown states", .timeLimit(.minutes(60)))
struct IncomingTests {
    private let predicts = Following(demand: .init(states: true), predicts: true)

    /// A client that follows the room, at number 0, and shows it.
    private func opened(_ following: Following? = nil) throws -> (Client, AttemptID) {
        var client = try Client()
        let stream = try client.open(room, following: following ?? predicts)
        _ = client.event(stream, "snapshot", "aaaaaaaa.0", "0")
        client.now.uptime += .milliseconds(1)
        return (client, stream)
    }

    // R1

    @Test func `R1: a state is confirmed when it arrives, whatever is pending`() throws {
        var (client, stream) = try opened()
        _ = client.send("1")
        let outputs = client.event(stream, "state", "aaaaaaaa.1", "1")
        #expect(
            outputs.deliveries.contains(
                .state(StreamEvent(name: "state", position: at(1), data: [0x31]), isConfirmed: true)
            ))
        #expect(outputs.shown == [ShownChange(advancesBase: true)])
    }

    // R2

    @Test func `R2: an action is shown at once, until its receipt is reached`() throws {
        var (client, stream) = try opened()
        let sent = client.send("1")
        #expect(sent.shown.map { $0.joined.map(\.ticket) } == [[Ticket(1)]])
        let answered = try client.answer(sent.requests.first?.id, 200, receipt(2))
        #expect(answered.shown.isEmpty)
        #expect(client.event(stream, "state", "aaaaaaaa.1", "1").shown.map(\.left) == [[]])
        let reached = client.event(stream, "state", "aaaaaaaa.2", "2")
        #expect(reached.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
    }

    @Test func `R2: a part of a record does not reach its position`() throws {
        let following = Following(
            demand: .init(states: true, pulses: .all), predicts: true)
        var client = try Client()
        let stream = try client.open(room, following: following)
        _ = client.event(stream, "snapshot", "aaaaaaaa.0", #"{"pulses":{},"state":0}"#)
        let sent = client.send("1")
        _ = try client.answer(sent.requests.first?.id, 200, receipt(1))
        #expect(client.event(stream, "x", "aaaaaaaa.1.1", "0").shown.flatMap(\.left).isEmpty)
        #expect(client.event(stream, "state", "aaaaaaaa.1", "1").shown.map(\.left) == [[Ticket(1)]])
    }

    // R3

    @Test func `R3: two versions in one read are shown once`() throws {
        var (client, stream) = try opened()
        let outputs = client.bytes(
            stream, block("state", "aaaaaaaa.1", "1") + block("state", "aaaaaaaa.2", "2"))
        #expect(outputs.news == ["state@1=1", "state@2=2"])
        #expect(outputs.shown == [ShownChange(advancesBase: true)])
    }

    @Test func `R3: a read without news shows nothing`() throws {
        var (client, stream) = try opened()
        #expect(client.bytes(stream, ": heartbeat\n").deliveries.isEmpty)
        #expect(client.bytes(stream, "event: ping\ndata:\n\n").deliveries.isEmpty)
    }

    @Test func `R4: without a prediction the shown state is the confirmed one`() throws {
        var (client, stream) = try opened(Following(demand: .init(states: true)))
        let sent = client.send("1")
        #expect(sent.shown.isEmpty)
        let outputs = client.event(
            stream, "state", "aaaaaaaa.1", "1", cause: sent.requests.first?.request.key)
        #expect(outputs.shown == [ShownChange(advancesBase: true)])
    }

    // R5, R7

    @Test func `R5: each event once, whatever the network repeats`() throws {
        let following = Following(demand: .init(pulses: .all))
        var client = try Client()
        let stream = try client.open(room, following: following)
        _ = client.event(stream, "snapshot", "aaaaaaaa.3", "{}")
        let text =
            block("a", "aaaaaaaa.3", "0") + block("a", "aaaaaaaa.4.1", "1")
            + block("b", "aaaaaaaa.4.2", "2") + block("a", "aaaaaaaa.4.1", "1")
            + block("c", "aaaaaaaa.4", "3") + block("b", "aaaaaaaa.4.2", "2")
            + block("a", "aaaaaaaa.5", "4") + block("a", "aaaaaaaa.5", "4")
        #expect(client.bytes(stream, text).news == ["a@4.1=1", "b@4.2=2", "c@4=3", "a@5=4"])
    }

    @Test func `R5: a stream that is cut anywhere brings the same`() throws {
        let text = Array(
            (block("snapshot", "aaaaaaaa.3", "{}") + "id: aaaaaaaa.4\n\n"
                + block("a", "aaaaaaaa.5.1", "1", cause: "k") + block("b", "aaaaaaaa.5", "2")).utf8)
        let following = Following(demand: .init(pulses: .all))
        for cut in 0...text.count {
            var client = try Client()
            let stream = try client.open(room, following: following)
            var news = client.receive(.streamBytes(stream, Array(text[..<cut]))).news
            news += client.receive(.streamBytes(stream, Array(text[cut...]))).news
            #expect(news == ["snapshot@3={}", "a@5.1=1", "b@5=2"], "cut at \(cut)")
        }
    }

    @Test func `R5: a connection that is cut anywhere resumes exactly`() throws {
        let events = ["a", "b", "c", "d"].enumerated().map {
            (UInt64($0.offset + 1), block($0.element, "aaaaaaaa.\($0.offset + 1)", "0"))
        }
        let text = Array(events.map(\.1).joined().utf8)
        let following = Following(demand: .init(pulses: .all), after: at(0))
        for cut in 0...text.count {
            var client = try Client()
            let stream = try client.open(room, following: following)
            var news = client.receive(.streamBytes(stream, Array(text[..<cut]))).news
            _ = client.receive(.streamEnded(stream, failure: "cut"))
            let next = try #require(client.wait(.milliseconds(250)).streams.first)
            let after = try #require(next.request.target.split(separator: "=").last)
            let seen = try #require(StreamPosition(after))
            _ = client.head(next.id)
            let rest = events.filter { $0.0 > seen.number }.map(\.1).joined()
            news += client.bytes(next.id, rest).news
            #expect(news == ["a@1=0", "b@2=0", "c@3=0", "d@4=0"], "cut at \(cut)")
        }
    }

    @Test func `R5: blocks with an id alone prime each session's position`() throws {
        let following = Following(demand: .init(activities: true), start: .now)
        var client = try Client()
        let stream = try client.open(room, other, following: following)
        _ = client.bytes(stream, "id: room/aaaaaaaa.7\n\nid: other/bbbbbbbb.9\n\n")
        #expect(client.machine.position(room) == at(7))
        #expect(client.machine.position(other) == StreamPosition("bbbbbbbb", 9))
    }

    @Test(arguments: [
        (at(4), at(4), true), (at(4), at(4, part: 9), true), (at(4, part: 2), at(4, part: 2), true),
        (at(4, part: 2), at(4, part: 1), true), (at(4, part: 2), at(4, part: 3), false),
        (at(4, part: 2), at(4), false), (at(5, part: 1), at(4), true),
        (at(4), at(5, part: 1), false),
        (at(9), StreamPosition("bbbbbbbb", 1), false),
    ])
    func `R7: parts of a record come before its bare position`(
        left: StreamPosition, right: StreamPosition, reaches: Bool
    ) {
        #expect(left.reaches(right) == reaches)
    }

    // R6

    @Test func `R6: an answer is reported when the state contains it`() throws {
        var (client, stream) = try opened()
        let request = client.send("1").requests.first
        #expect(try client.answer(request?.id, 200, receipt(1)).ends.isEmpty)
        let outputs = client.event(stream, "state", "aaaaaaaa.1", "1")
        #expect(outputs.ends == ["1:applied 1"])
        // The shown state is delivered before the report.
        let change = outputs.firstIndex { if case .deliver(_, .shown) = $0 { true } else { false } }
        let report = outputs.firstIndex {
            if case .deliver(_, .outcome) = $0 { true } else { false }
        }
        let (first, second) = (try #require(change), try #require(report))
        #expect(first < second)
    }

    @Test func `R6: without a stream an answer is reported at once`() throws {
        var (client, stream) = try opened()
        let request = client.send("1").requests.first
        _ = try client.answer(request?.id, 200, receipt(1))
        #expect(client.receive(.streamEnded(stream, failure: "reset")).ends == ["1:applied 1"])
        let next = client.send("2").requests.first
        let answered = try client.answer(next?.id, 200, receipt(2))
        #expect(answered.ends == ["2:applied 2"])
        // Both are still reduced over the old state.
        #expect(answered.shown.flatMap(\.left).isEmpty)
    }

    @Test func `R6: an answer without an event on this stream is confirmed by reading the state`()
        throws
    {
        var (client, _) = try opened()
        let request = client.send("1").requests.first
        // Position 5: of an activity, which is not followed.
        _ = try client.answer(request?.id, 200, receipt(5))
        #expect(client.wait(.milliseconds(999)).requests.isEmpty)
        let read = try #require(client.wait(.milliseconds(1)).requests.first)
        #expect(read.request.method == "GET")
        #expect(read.request.target == "/v1/sessions/room")
        let body =
            #"{"id":"room","reactor":"x","version":1,"position":"aaaaaaaa.5","state":7}"# + "\n"
        let outputs = try client.answer(read.id, 200, body)
        #expect(outputs.news == ["snapshot@5=7"])
        #expect(outputs.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
        #expect(outputs.ends == ["1:applied 5"])
        #expect(client.wait(.seconds(10)).requests.isEmpty)
    }

    @Test func `presence is asked for with the name, and moves no position`() throws {
        var client = try Client(presence: .named("ada é"))
        let stream = try client.open(room, following: Following(demand: Demand(states: true)))
        _ = client.event(stream, "snapshot", "aaaaaaaa.4", "1")
        let data = #"{"present":["ada é"],"others":0}"#
        let outputs = client.bytes(stream, "event: presence\ndata: \(data)\n\n")
        #expect(outputs.deliveries == [.presence(Array(data.utf8))])
        #expect(client.machine.position(room) == at(4))
        #expect(client.event(stream, "state", "aaaaaaaa.5", "2").news == ["state@5=2"])
        _ = client.receive(.streamEnded(stream, failure: nil))
        let again = client.wait(.seconds(1)).streams.map(\.request.target)
        #expect(
            again == [
                "/v1/sessions/room/events?only=states&presence=on&as=ada%20%C3%A9"
                    + "&form=patch&after=aaaaaaaa.5"
            ])
    }

    @Test func `a pulse named presence is a pulse if the client did not ask for presence`() throws {
        var client = try Client()
        let stream = try client.open(room, following: Following(demand: Demand(states: true)))
        _ = client.event(stream, "snapshot", "aaaaaaaa.4", "1")
        #expect(
            client.event(stream, "presence", "aaaaaaaa.5", "7").news == ["presence@5=7"])
    }

    @Test func `the snapshot of a reactor without pulses is its state`() throws {
        for state in [#"{"count":0}"#, #"{"pulses":1}"#, #"{"a":1,"pulses":2,"state":3}"#, "7"] {
            var client = try Client()
            let following = Following(demand: Demand(states: true, pulses: .all))
            let stream = try client.open(room, following: following)
            let outputs = client.event(stream, "snapshot", "aaaaaaaa.5", state)
            #expect(outputs.news == ["snapshot@5=\(state)"])
        }
    }

    @Test func `a state that was read does not go back when the stream catches up`() throws {
        var (client, stream) = try opened()
        _ = try client.answer(client.send("1").requests.first?.id, 200, receipt(5))
        let read = try #require(client.wait(.seconds(1)).requests.first)
        let present = try client.answer(read.id, 200, #"{"position":"aaaaaaaa.5","state":7}"#)
        let snapshot = SessionSnapshot(.reading, position: at(5), state: [0x37])
        #expect(present.deliveries.contains(.snapshot(snapshot)))
        let late = client.event(stream, "state", "aaaaaaaa.3", "3")
        #expect(
            late.deliveries == [
                .state(
                    StreamEvent(name: "state", position: at(3), data: [0x33]), isConfirmed: false)
            ])
        #expect(
            client.event(stream, "state", "aaaaaaaa.6", "6").shown == [
                ShownChange(advancesBase: true)
            ])
    }

    @Test func `a state that was read does not go back to an older snapshot`() throws {
        var client = try Client()
        let stream = try client.open(room, following: predicts)
        _ = try client.answer(client.send("1").requests.first?.id, 200, receipt(5))
        let read = try #require(client.wait(.seconds(1)).requests.first)
        _ = try client.answer(read.id, 200, #"{"position":"aaaaaaaa.5","state":7}"#)
        let late = client.event(stream, "snapshot", "aaaaaaaa.3", "3")
        #expect(late.deliveries == [.snapshot(SessionSnapshot(position: at(3)))])
        #expect(client.machine.position(room) == at(3))
        // After a reset the snapshot counts, although it is older.
        _ = client.event(stream, "reset", "aaaaaaaa.4", #"{"reason":"ahead"}"#)
        let forced = client.event(stream, "snapshot", "aaaaaaaa.4", "4")
        #expect(forced.news == ["snapshot@4=4"])
        #expect(forced.shown == [ShownChange(advancesBase: true)])
    }

    @Test func `a stream that resumes without a state has it read`() throws {
        var client = try Client()
        var following = predicts
        following.after = at(3)
        _ = client.receive(.follow(room, following))
        let stream = try #require(client.wait(.milliseconds(50)).streams.first)
        #expect(stream.request.target == "/v1/sessions/room/events?only=states&after=aaaaaaaa.3")
        let read = client.head(stream.id).requests
        #expect(read.map(\.request.target) == ["/v1/sessions/room"])
        let outputs = try client.answer(
            read.first?.id, 200, #"{"position":"aaaaaaaa.4","state":4}"#)
        #expect(outputs.shown == [ShownChange(advancesBase: true)])
    }

    // R8

    @Test func `R8: a reset in the same life confirms by its snapshot`() throws {
        var (client, stream) = try opened()
        _ = try client.answer(client.send("1").requests.first?.id, 200, receipt(1))
        #expect(
            client.event(stream, "reset", "aaaaaaaa.9", #"{"reason":"trimmed"}"#).news == [
                "reset trimmed"
            ])
        let outputs = client.event(stream, "snapshot", "aaaaaaaa.9", "9")
        #expect(outputs.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
        #expect(outputs.ends == ["1:applied 1"])
    }

    @Test func `R8: in another life what was answered is over, what was not is sent into it`()
        throws
    {
        var (client, stream) = try opened()
        _ = try client.answer(client.send("1").requests.first?.id, 200, receipt(50))
        let second = try #require(client.send("2").requests.first)
        _ = client.event(stream, "reset", "bbbbbbbb.3", #"{"reason":"generation"}"#)
        _ = client.event(stream, "snapshot", "bbbbbbbb.3", "3")
        // Held a moment: the snapshot may contain the second one.
        let outputs = client.wait(.seconds(1))
        #expect(outputs.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
        _ = client.receive(.requestFailed(second.id, "reset"))
        let again = client.wait(.milliseconds(250)).requests.filter { $0.request.method == "POST" }
        #expect(again.map(\.request) == [second.request])
        _ = try client.answer(again.first?.id, 200, #"{"version":4,"position":"bbbbbbbb.4"}"#)
        let last = client.event(stream, "state", "bbbbbbbb.4", "4")
        #expect(last.shown.map(\.left) == [[Ticket(2)]])
        #expect(last.ends == ["2:applied 4"])
    }

    @Test func `R8: what another life has confirmed without an answer joins again`() throws {
        var (client, stream) = try opened()
        let request = try #require(client.send("1").requests.first)
        _ = client.event(stream, "state", "aaaaaaaa.1", "1", cause: request.request.key)
        #expect(client.event(stream, "state", "aaaaaaaa.2", "2").shown.map(\.left) == [[Ticket(1)]])
        _ = client.event(stream, "reset", "bbbbbbbb.0", #"{"reason":"generation"}"#)
        _ = client.event(stream, "snapshot", "bbbbbbbb.0", "0")
        let joined = client.wait(.seconds(1)).shown.flatMap(\.joined)
        #expect(joined.map(\.ticket) == [Ticket(1)])
    }

    @Test func `R8: a position before the seen one is accepted after a reset only`() throws {
        var (client, stream) = try opened()
        _ = client.event(stream, "state", "aaaaaaaa.9", "9")
        #expect(client.event(stream, "snapshot", "aaaaaaaa.5", "5").news.isEmpty)
        _ = client.event(stream, "reset", "aaaaaaaa.5", #"{"reason":"ahead"}"#)
        #expect(client.event(stream, "snapshot", "aaaaaaaa.5", "5").news == ["snapshot@5=5"])
        #expect(client.machine.position(room) == at(5))
    }

    @Test func `R8: a connection that is cut between reset and snapshot begins afresh`() throws {
        var (client, stream) = try opened()
        _ = client.event(stream, "reset", "aaaaaaaa.9", #"{"reason":"trimmed"}"#)
        _ = client.receive(.streamEnded(stream, failure: "cut"))
        let next = client.wait(.milliseconds(250)).streams
        #expect(next.map(\.request.target) == ["/v1/sessions/room/events?only=states&form=patch"])
    }

    // R10

    @Test func `R10: event before answer: its cause covers it`() throws {
        var (client, stream) = try opened()
        let request = try #require(client.send("1").requests.first)
        let event = client.event(
            stream, "state", "aaaaaaaa.1", "1", cause: request.request.key)
        // More records of the request may follow: the shown state, which has it, stays.
        #expect(event.shown.isEmpty)
        #expect(event.news == ["state@1=1"])
        let answered = try client.answer(request.id, 200, receipt(1))
        #expect(answered.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
        #expect(answered.ends == ["1:applied 1"])
    }

    @Test func `R10: another's event shows that all of a request has come`() throws {
        var (client, stream) = try opened()
        let request = try #require(client.send("1").requests.first)
        _ = client.event(stream, "state", "aaaaaaaa.1", "1", cause: request.request.key)
        _ = client.event(stream, "state", "aaaaaaaa.2", "2", cause: request.request.key)
        let foreign = client.event(stream, "state", "aaaaaaaa.3", "3")
        #expect(foreign.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
        #expect(try client.answer(request.id, 200, receipt(2)).ends == ["1:applied 2"])
    }

    @Test func `R10: a batch that has come in part is shown neither twice nor in part`() throws {
        var (client, stream) = try opened()
        let request = try #require(client.send("1", "2", "3").requests.first)
        let key = request.request.key
        #expect(client.event(stream, "state", "aaaaaaaa.1", "1", cause: key).shown.isEmpty)
        #expect(try client.answer(request.id, 200, receipt(3)).shown.isEmpty)
        #expect(client.event(stream, "state", "aaaaaaaa.2", "2", cause: key).shown.isEmpty)
        let last = client.event(stream, "state", "aaaaaaaa.3", "3", cause: key)
        #expect(last.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
        #expect(last.ends == ["1:applied 3"])
    }

    @Test func `R10: while the state is held, a further action shows at once`() throws {
        var (client, stream) = try opened()
        let request = try #require(client.send("1").requests.first)
        _ = client.event(stream, "state", "aaaaaaaa.1", "1", cause: request.request.key)
        let sent = client.send("2")
        #expect(sent.shown.map(\.advancesBase) == [false])
        #expect(sent.shown.map { $0.joined.map(\.ticket) } == [[Ticket(2)]])
    }

    @Test func `R10: a state is held for 1 s at most`() throws {
        var (client, stream) = try opened()
        let request = try #require(client.send("1").requests.first)
        _ = client.event(stream, "state", "aaaaaaaa.1", "1", cause: request.request.key)
        #expect(client.wait(.milliseconds(999)).shown.isEmpty)
        #expect(
            client.wait(.milliseconds(1)).shown == [
                ShownChange(advancesBase: true, left: [Ticket(1)])
            ])
    }

    @Test func `R10: answer lost, stream alive: the retry brings the receipt`() throws {
        var (client, stream) = try opened()
        let request = try #require(client.send("1").requests.first)
        _ = client.receive(.requestFailed(request.id, "cut"))
        _ = client.event(stream, "state", "aaaaaaaa.1", "1", cause: request.request.key)
        let again = try #require(client.wait(.milliseconds(250)).requests.first)
        let answered = try client.answer(again.id, 200, receipt(1))
        #expect(answered.shown.map(\.left) == [[Ticket(1)]])
        #expect(answered.ends == ["1:applied 1"])
    }

    @Test func `R10: both lost: a replay without causes is held until the retry is answered`()
        throws
    {
        var (client, stream) = try opened()
        let request = try #require(client.send("1").requests.first)
        _ = client.receive(.requestFailed(request.id, "cut"))
        _ = client.receive(.streamEnded(stream, failure: "cut"))
        let due = client.wait(.milliseconds(250))
        let next = try #require(due.streams.first?.id)
        _ = client.head(next)
        #expect(client.event(next, "state", "aaaaaaaa.1", "1").shown.isEmpty)
        let answered = try client.answer(due.requests.first?.id, 200, receipt(1))
        #expect(answered.shown == [ShownChange(advancesBase: true, left: [Ticket(1)])])
    }

    @Test func `R10: others' events on a stream that was open before are shown at once`() throws {
        var (client, stream) = try opened()
        _ = client.send("1")
        #expect(
            client.event(stream, "state", "aaaaaaaa.1", "1").shown == [
                ShownChange(advancesBase: true)
            ])
    }

    @Test func `O6: a refused action is rolled back`() throws {
        var (client, _) = try opened()
        let request = try #require(client.send("1").requests.first)
        _ = client.send("2")
        let outputs = try client.problem(request.id, 422, "not_an_action")
        #expect(outputs.shown == [ShownChange(left: [Ticket(1)])])
        #expect(client.receive(.discard(Ticket(2), room)).shown.isEmpty)
    }

    @Test func `a program that starts again shows its unconfirmed actions`() throws {
        var client = try Client()
        _ = client.send("1")
        _ = client.send("2")
        var next = try Client(saved: client.saved)
        let stream = try next.open(room, following: predicts)
        // The snapshot may contain the first one: nothing is shown until that is certain, or 1 s.
        let early = next.event(stream, "snapshot", "aaaaaaaa.0", "0").shown
        let shown = early + next.wait(.seconds(1)).shown
        #expect(early.filter(\.advancesBase).isEmpty)
        #expect(shown.flatMap(\.joined).map(\.ticket).sorted() == [Ticket(1), Ticket(2)])
        #expect(shown.last?.advancesBase == true)
        #expect(shown.flatMap(\.left).isEmpty)
    }
}
