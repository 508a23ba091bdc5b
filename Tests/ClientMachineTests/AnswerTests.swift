import Reactors
import Testing

@testable import ClientMachine

@Suite("what an answer to a post becomes", .timeLimit(.minutes(60)))
struct AnswerTests {
    @Test(arguments: [
        (400, "malformed_json"), (413, "body_too_large"), (422, "not_an_action"),
        (422, "action_refused"),
        (403, "forbidden"), (404, "unknown_session"), (409, "no_parent"),
        (412, "position_changed"),
    ])
    func `a refusal ends the send, and the next one leaves`(status: Int, code: String) throws {
        var client = try Client()
        let request = try #require(client.send("1").requests.first)
        _ = client.send("2")
        let outputs = try client.problem(request.id, status, code)
        #expect(outputs.ends == ["1:refused \(code)"])
        #expect(outputs.requests.map(\.request.text) == ["2"])
    }

    @Test func `403 judges the whole request, not its parts`() throws {
        var client = try Client()
        let first = try #require(client.send("0").requests.first)
        _ = client.send("1")
        _ = client.send("2")
        let batch = try #require(try client.answer(first.id, 200, receipt(1)).requests.first)
        let outputs = try client.problem(batch.id, 403, "forbidden")
        #expect(outputs.ends == ["2:refused forbidden", "3:refused forbidden"])
        #expect(outputs.requests.isEmpty)
    }

    @Test func `a reactor's refusal keeps its own code, and failures go to their sends`() throws {
        var client = try Client()
        let first = try #require(client.send("0").requests.first)
        _ = client.send("1")
        _ = client.send("2")
        let batch = try #require(try client.answer(first.id, 200, receipt(1)).requests.first)
        let refusal = #"{"code":"action_refused","detail":"No.","refusal":{"code":"no"}}"#
        // O5: the batch is divided.
        let one = try #require(try client.answer(batch.id, 422, refusal).requests.first)
        let refused = try client.answer(one.id, 422, refusal)
        guard case .refused(let problem, position: nil)? = refused.outcomes.first else {
            Issue.record("\(refused.outcomes)")
            return
        }
        #expect(
            problem
                == ProblemDetails(
                    status: 422, code: "action_refused", detail: "No.", refusal: "no"))
        let receipts = [
            #""accepted":false,"reason":"x"}"#, #""failed":"x"}"#,
            #""rejected":[0],"reasons":{"0":"x"},"failures":{"2":"y"}}"#,
            #""rejected":[2],"refusals":{"2":{"code":"no","detail":"No."}}}"#,
        ].map { Receipt(body: Array(#"{"version":1,"position":"aaaaaaaa.1",\#($0)"#.utf8)) }
        #expect(receipts.map { $0?.failures } == [[0: "x"], [0: "x"], [0: "x", 2: "y"], [:]])
        #expect(receipts.map { $0?.rejected } == [[0], [], [0], [2]])
        #expect(receipts[2]?.part(1..<3).failures == [1: "y"])
        #expect(receipts[3]?.part(2..<3).refusals == [0: Refusal("no", "No.")])
    }

    @Test func `412 brings the session's position`() throws {
        var client = try Client()
        let request = try #require(client.send("1", options: .init(expects: at(3))).requests.first)
        let outputs = try client.answer(
            request.id, 412, #"{"code":"position_changed"}"#,
            [.init("ETag", "\"aaaaaaaa.7\"")])
        guard case .refused(let problem, position: at(7))? = outputs.outcomes.first else {
            Issue.record("\(outputs.outcomes)")
            return
        }
        #expect(problem.status == 412)
    }

    @Test func `422 key_reused is in doubt: two programs share an outbox`() throws {
        var client = try Client()
        let request = try #require(client.send("1").requests.first)
        #expect(try client.problem(request.id, 422, "key_reused").ends == ["1:inDoubt"])
    }

    @Test func `410 refuses the whole queue, and ends the session`() throws {
        var client = try Client()
        let request = try #require(client.send("1").requests.first)
        _ = client.send("2")
        let outputs = try client.problem(request.id, 410, "session_ended")
        #expect(outputs.ends == ["1:refused session_ended", "2:refused session_ended"])
        #expect(outputs.news == ["ended deleted"])
        #expect(outputs.requests.isEmpty)
    }

    @Test func `a session that was deleted has no sends`() throws {
        var client = try Client()
        let stream = try client.open(room)
        _ = client.event(stream, "end", "", #"{"reason":"deleted"}"#)
        #expect(client.send("1").deliveries.first == .notAccepted(.ended))
    }

    @Test func `rejected actions of a batch belong to their sends`() throws {
        var client = try Client()
        let first = try #require(client.send("0").requests.first)
        _ = client.send("1", "2")
        _ = client.send("3")
        let batch = try #require(try client.answer(first.id, 200, receipt(1)).requests.first)
        let outputs = try client.answer(
            batch.id, 200, receipt(4, #","accepted":false,"rejected":[1,2]"#))
        #expect(
            outputs.outcomes == [
                .applied(Receipt(position: at(4), version: 4, rejected: [1])),
                .applied(Receipt(position: at(4), version: 4, rejected: [0])),
            ])
    }

    @Test func `a rejected single action has the index 0`() throws {
        var client = try Client()
        let request = try #require(client.send("0").requests.first)
        let outputs = try client.answer(request.id, 202, receipt(4, #","accepted":false"#))
        #expect(
            outputs.outcomes == [.applied(Receipt(position: at(4), version: 4, rejected: [0]))])
    }

    // 404 unknown_session of a session that this client makes

    @Test func `a session that is gone is made again, with the same request after it`() throws {
        var client = try Client()
        let following = Following(demand: .nothing, makes: "chat")
        let put = try #require(client.receive(.follow(room, following)).requests.first)
        #expect(put.request.method == "PUT")
        #expect(put.request.target == "/v1/sessions/room")
        #expect(put.request.text == #"{"reactor":"chat"}"#)
        // Nothing is posted before the session is there.
        #expect(client.send("1").requests.isEmpty)
        let post = try #require(try client.answer(put.id, 201).requests.first)
        let again = try client.problem(post.id, 404, "unknown_session").requests
        #expect(again.map(\.request) == [put.request])
        let last = try client.answer(again.first?.id, 200).requests
        #expect(last.map(\.request) == [post.request])
    }

    @Test func `after a restart, the outbox knows the reactor`() throws {
        var client = try Client()
        _ = client.receive(.follow(room, Following(demand: .nothing, makes: "chat")))
        _ = client.send("1")
        var next = try Client(saved: client.saved)
        let post = try #require(next.receive(.timer).requests.first)
        #expect(post.request.method == "POST")
        let put = try next.problem(post.id, 404, "unknown_session").requests
        #expect(put.map(\.request.method) == ["PUT"])
    }

    @Test func `a session that cannot be made refuses its sends`() throws {
        var client = try Client()
        let following = Following(demand: .init(states: true), makes: "chat")
        let put = try #require(client.receive(.follow(room, following)).requests.first)
        _ = client.send("1")
        let outputs = try client.problem(put.id, 409, "other_reactor")
        #expect(outputs.ends == ["1:refused other_reactor"])
        let problem = ProblemDetails(status: 409, code: "other_reactor", detail: "other_reactor!")
        #expect(outputs.statuses == [.failed(problem)])
        #expect(client.send("2").deliveries.first == .notAccepted(.unusable(problem)))
        // Following it again tries again.
        #expect(client.receive(.follow(room, following)).requests.isEmpty == false)
    }

    @Test func `C6: a credential is asked for before each attempt, unless one is known to live`()
        throws
    {
        var client = try Client(asksForCredentials: true)
        let asked = try #require(client.send("1").asked.first)
        let short = Credential(authorization: "a", expires: client.now.uptime + .seconds(29))
        let first = try #require(client.receive(.credential(asked.id, short)).requests.first)
        let next = try #require(client.send("2", to: other).asked.first)
        let long = Credential(authorization: "b", expires: client.now.uptime + .seconds(100))
        _ = client.receive(.credential(next.id, long))
        _ = try client.answer(first.id, 200, receipt(1))
        #expect(client.send("3").requests.map { $0.request.value("Authorization") } == ["b"])
        client.now.uptime += .seconds(71)
        #expect(client.send("4", to: name("third")).asked.count == 1)
    }

    @Test func `C6: without a credential an attempt waits, and one that never comes is given up`()
        throws
    {
        var client = try Client(asksForCredentials: true)
        let asked = try #require(client.send("1").asked.first)
        #expect(client.receive(.credential(asked.id, nil)).requests.isEmpty)
        let again = try #require(client.wait(.milliseconds(250)).asked.first)
        #expect(again.id != asked.id)
        // Of the attempt that is over.
        let late = Credential(authorization: "late")
        #expect(client.receive(.credential(asked.id, late)).requests.isEmpty)
        _ = client.wait(.seconds(30))
        let third = try #require(client.wait(.seconds(1)).asked.first)
        #expect(third.id != again.id)
    }
}
