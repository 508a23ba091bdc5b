import Testing

@testable import ClientMachine

@Suite("O1 to O8: each action is sent exactly once, in order", .timeLimit(.minutes(60)))
struct OutgoingTests {
    // O1

    @Test func `O1: what is sent during a request goes as one array after it`() throws {
        var client = try Client()
        let first = client.send(#"{"n":1}"#).requests
        #expect(first.map(\.request.text) == [#"{"n":1}"#])
        #expect(first.map(\.request.target) == ["/v1/sessions/room/actions"])
        #expect(client.send(#"{"n":2}"#).requests.isEmpty)
        #expect(client.send(#"{"n":3}"#).requests.isEmpty)
        let second = try client.answer(first.first?.id, 200, receipt(1))
        #expect(second.ends == ["1:applied 1"])
        #expect(second.requests.map(\.request.text) == [#"[{"n":2},{"n":3}]"#])
        let last = try client.answer(second.requests.first?.id, 200, receipt(3))
        #expect(last.ends == ["2:applied 3", "3:applied 3"])
        #expect(client.machine.outbox.lanes.isEmpty)
    }

    @Test func `O1: sessions do not wait for each other`() throws {
        var client = try Client()
        #expect(client.send("1").requests.count == 1)
        #expect(client.send("2", to: other).requests.count == 1)
    }

    @Test func `O1: a request has a bounded number of actions and bytes`() throws {
        var limits = ClientLimits()
        limits.actionsInRequest = 3
        limits.bytesInRequest = 10
        var client = try Client(limits: limits)
        var outputs = client.send("0")
        for action in ["1", "2", "3", "4", "55555", "66666", "7", "88888888888", "9"] {
            _ = client.send(action)
        }
        var bodies: [String] = []
        while let request = outputs.requests.first {
            bodies.append(request.request.text)
            outputs = try client.answer(request.id, 200, receipt(1))
        }
        #expect(bodies == ["0", "[1,2,3]", "[4,55555]", "[66666,7]", "88888888888", "9"])
    }

    @Test(
        arguments: [
            (SendOptions(expects: at(4)), "/v1/sessions/room/actions", #""aaaaaaaa.4""#),
            (
                SendOptions(settledMilliseconds: 500),
                "/v1/sessions/room/actions?wait=settled&timeout=500ms", nil
            ),
            (
                SendOptions(settledMilliseconds: 200_000),
                "/v1/sessions/room/actions?wait=settled&timeout=200s", nil
            ),
        ] as [(SendOptions, String, String?)])
    func `O1: a send with a condition travels alone`(
        options: SendOptions, target: String, match: String?
    ) throws {
        var client = try Client()
        var outputs = client.send("0")
        _ = client.send("1")
        _ = client.send("2", options: options)
        _ = client.send("3")
        var requests: [ClientRequest] = []
        while let request = outputs.requests.first {
            requests.append(request.request)
            outputs = try client.answer(request.id, 200, receipt(1))
        }
        try #require(requests.map(\.text) == ["0", "1", "2", "3"])
        #expect(requests[2].target == target)
        #expect(requests[2].value("If-Match") == match)
        #expect(requests[3].value("If-Match") == nil)
    }

    // O2

    @Test func `O2: nothing leaves before its key and its bytes are durable`() throws {
        var client = try Client()
        client.savesAtOnce = false
        let outputs = client.send("1")
        #expect(outputs.requests.isEmpty)
        guard case .persist(let number, let changes)? = outputs.first else {
            Issue.record("the first output saves")
            return
        }
        guard case .sent(room, let key, let body, 1, client.now.date)? = changes.last else {
            Issue.record("the request is saved: \(changes)")
            return
        }
        #expect(client.wait(.seconds(3)).requests.isEmpty)
        let later = client.receive(.persisted(number))
        #expect(later.requests.map(\.request.key) == [key.text])
        #expect(later.requests.map(\.request.body) == [body])
        #expect(later.outcomes == [.queued, .sent])
    }

    @Test func `O2: keys are 128 bits, differ, and are drawn at the first attempt`() throws {
        var client = try Client()
        let first = try #require(client.send("1").requests.first)
        let queued = client.send("2")
        #expect(queued.changes.count == 1)
        let second = try #require(try client.answer(first.id, 200, receipt(1)).requests.first)
        let keys = [first.request.key, second.request.key].compactMap(\.self)
        #expect(Set(keys).count == 2)
        for key in keys {
            #expect(key.utf8.count == 22)
            #expect(key.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
        }
    }

    @Test func `O2: every bit of the generator is in the key`() {
        struct Fixed: RandomNumberGenerator {
            var words: [UInt64]
            mutating func next() -> UInt64 { words.removeFirst() }
        }
        var keys: Set<RequestKey> = []
        for bit in 0..<128 {
            var words: [UInt64] = [0, 0]
            words[bit / 64] = 1 << UInt64(bit % 64)
            var generator = Fixed(words: words)
            keys.insert(RequestKey(using: &generator))
        }
        #expect(keys.count == 128)
        // RFC 4648 §5, as Python's `base64.urlsafe_b64encode` writes these bytes.
        var generator = Fixed(words: [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210])
        #expect(RequestKey(using: &generator).text == "ASNFZ4mrze_-3LqYdlQyEA")
    }

    // O3

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504, 507, 599, 0])
    func `O3: every doubt is the same bytes under the same key`(status: Int) throws {
        var client = try Client()
        var request = try #require(client.send("1").requests.first)
        let first = request.request
        for _ in 0..<20 {
            let outputs =
                status == 0
                ? client.receive(.requestFailed(request.id, "reset"))
                : try client.problem(request.id, status, "busy")
            #expect(outputs.requests.isEmpty)
            #expect(outputs.ends.isEmpty)
            request = try #require(client.wait(.seconds(30)).requests.first)
            #expect(request.request == first)
        }
        #expect(try client.answer(request.id, 200, receipt(1)).ends == ["1:applied 1"])
    }

    @Test func `O3: an answer that is no receipt is a doubt`() throws {
        var client = try Client()
        let request = try #require(client.send("1").requests.first)
        #expect(try client.answer(request.id, 200, "<html>Welcome to the hotel").ends.isEmpty)
        #expect(client.wait(.seconds(1)).requests.map(\.request) == [request.request])
    }

    @Test func `O3: Retry-After is a minimum, and bounded`() throws {
        var client = try Client()
        let request = try #require(client.send("1").requests.first)
        _ = try client.answer(request.id, 503, "", [.init("retry-after", "7")])
        #expect(client.wait(.milliseconds(6_999)).requests.isEmpty)
        let second = try #require(client.wait(.milliseconds(251)).requests.first)
        _ = try client.answer(second.id, 503, "", [.init("Retry-After", "99999999")])
        #expect(client.wait(.seconds(3600)).requests.count == 1)
    }

    @Test func `O3: an attempt without an answer in 30 s is a doubt`() throws {
        var client = try Client()
        let request = try #require(client.send("1").requests.first)
        #expect(client.wait(.milliseconds(29_999)).isEmpty)
        let outputs = client.wait(.milliseconds(1))
        #expect(outputs.contains(.cancelRequest(request.id)))
        #expect(client.wait(.seconds(1)).requests.map(\.request) == [request.request])
        // An answer to the attempt that was given up changes nothing.
        #expect(try client.answer(request.id, 200, receipt(1)).ends.isEmpty)
    }

    @Test func `O3: a wait of the server is added to the time of its answer`() throws {
        var client = try Client()
        _ = client.send("1", options: .init(settledMilliseconds: 600_000))
        #expect(client.wait(.milliseconds(629_999)).isEmpty)
        #expect(!client.wait(.milliseconds(1)).isEmpty)
    }

    @Test func `O3: a request that is still carried out is repeated within 2 s`() throws {
        var client = try Client()
        var request = try #require(client.send("1").requests.first)
        for _ in 0..<20 {
            _ = try client.problem(request.id, 409, "request_running")
            #expect(client.wait(.milliseconds(99)).requests.isEmpty)
            request = try #require(client.wait(.milliseconds(1_901)).requests.first)
        }
    }

    @Test func `O3: a program that ended sends the same again when it starts`() throws {
        var client = try Client()
        let request = try #require(client.send("1").requests.first)
        _ = client.send("2")
        var next = try Client(saved: client.saved, seed: 2)
        let again = next.receive(.timer)
        #expect(again.requests.map(\.request) == [request.request])
        let rest = try next.answer(again.requests.first?.id, 200, receipt(1))
        #expect(rest.ends == ["1:applied 1"])
        #expect(rest.requests.map(\.request.text) == ["2"])
        #expect(rest.requests.first?.request.key != request.request.key)
    }

    // O4

    @Test(arguments: [true, false])
    func `O4: after 23 h a request without an answer is in doubt, not sent`(restarts: Bool) throws {
        var client = try Client()
        let request = try #require(client.send("1").requests.first)
        _ = client.receive(.requestFailed(request.id, "reset"))
        if restarts {
            client = try Client(saved: client.saved)
            client.now.date += 23 * 3600
        } else {
            client.now.uptime += .seconds(23 * 3600)
        }
        let outputs = client.receive(.timer)
        #expect(outputs.requests.isEmpty)
        #expect(outputs.ends == ["1:inDoubt"])
        // Kept until the program has seen it, also over a restart.
        var next = try Client(saved: client.saved)
        #expect(next.machine.outbox.settlements[Ticket(1)]?.outcome == .inDoubt)
        _ = next.receive(.seen(Ticket(1)))
        #expect(next.machine.outbox.settlements.isEmpty)
        #expect(Outbox(replaying: next.saved)?.settlements.isEmpty == true)
    }

    @Test func `O4: a minute before, it is sent`() throws {
        var client = try Client()
        _ = client.send("1")
        client = try Client(saved: client.saved)
        client.now.date += 23 * 3600 - 60
        #expect(client.receive(.timer).requests.count == 1)
    }

    @Test func `O4: a clock that was set back far is no proof of youth`() throws {
        var client = try Client()
        _ = client.send("1")
        var little = try Client(saved: client.saved)
        little.now.date -= 3_600
        #expect(little.receive(.timer).requests.count == 1)
        var far = try Client(saved: client.saved)
        far.now.date -= 86_400
        #expect(far.receive(.timer).ends == ["1:inDoubt"])
    }

    @Test func `O4: an event with its cause makes it done`() throws {
        var client = try Client()
        let stream = try client.open(room)
        _ = client.event(stream, "snapshot", "aaaaaaaa.0", "0")
        let request = try #require(client.send("1").requests.first)
        _ = client.receive(.requestFailed(request.id, "reset"))
        _ = client.event(stream, "state", "aaaaaaaa.1", "1", cause: request.request.key)
        client.now.uptime += .seconds(23 * 3600)
        let outputs = client.receive(.timer)
        #expect(outputs.ends == ["1:applied 1"])
        #expect(outputs.changes.contains { if case .done = $0 { true } else { false } })
    }

    // O5

    @Test(arguments: 0..<7) func `O5: a refused batch is halved to its culprit`(culprit: Int) throws
    {
        var client = try Client()
        var outputs = client.send("100")
        for number in 0..<7 { _ = client.send("\(number)") }
        var (applied, keys, ends): ([String], [String], [String]) = ([], [], [])
        var requests = 0
        while let (id, request) = outputs.requests.first {
            requests += 1
            keys.append(try #require(request.key))
            let actions = request.text.filter { $0 != "[" && $0 != "]" }.split(separator: ",")
            if actions.contains(Substring("\(culprit)")) {
                outputs = try client.problem(id, 422, "not_an_action")
            } else {
                applied += actions.map(String.init)
                outputs = try client.answer(id, 200, receipt(1))
            }
            ends += outputs.ends.filter { $0.contains("refused") }
            try #require(requests < 20)
        }
        #expect(applied == ["100"] + (0..<7).filter { $0 != culprit }.map(String.init))
        #expect(ends == ["\(culprit + 2):refused not_an_action"])
        #expect(Set(keys).count == keys.count)
        #expect(client.machine.outbox.lanes.isEmpty)
    }

    @Test func `O5: a batch of the program is one thing`() throws {
        var client = try Client()
        let request = try #require(client.send("1", "2", "3").requests.first)
        #expect(request.request.text == "[1,2,3]")
        #expect(
            try client.problem(request.id, 422, "not_an_action").ends == ["1:refused not_an_action"]
        )
    }

    @Test func `O5: a batch that may have been applied is not divided before its key is known`()
        throws
    {
        var client = try Client()
        let first = try #require(client.send("0").requests.first)
        for number in 1...4 { _ = client.send("\(number)") }
        let batch = try #require(try client.answer(first.id, 200, receipt(1)).requests.first)
        // Its answer is lost, and the server restarts with a smaller limit for bodies.
        _ = client.receive(.requestFailed(batch.id, "reset"))
        let again = try #require(client.wait(.seconds(1)).requests.first)
        let asked = try client.problem(again.id, 413, "body_too_large")
        let question = try #require(asked.requests.first)
        #expect(question.request.text == "[]")
        #expect(question.request.key == batch.request.key)
        // A lost question is asked again.
        _ = client.receive(.requestFailed(question.id, "reset"))
        let second = try #require(client.wait(.seconds(1)).requests.first)
        #expect(second.request == question.request)
        // A program that restarts now does not know about the question. It sends the batch, and
        // asks again.
        var next = try Client(saved: client.saved)
        let third = try #require(next.receive(.wake).requests.first)
        #expect(third.request.body == batch.request.body)
        #expect(
            try next.problem(third.id, 413, "body_too_large").requests.first?.request.text == "[]")
        // Nothing is applied under the key.
        let halves = try client.problem(second.id, 422, "empty_batch")
        let half = try #require(halves.requests.first)
        #expect(half.request.text == "[1,2]")
        #expect(half.request.key != batch.request.key)
        // The next request is not a question: if its first attempt is refused, it is divided at
        // once.
        #expect(
            try client.problem(half.id, 413, "body_too_large").requests.first?.request.text == "1")
    }

    @Test func `O5: a question has no condition`() throws {
        var client = try Client()
        let post = try #require(client.send("1", options: .init(expects: at(3))).requests.first)
        #expect(post.request.value("If-Match") != nil)
        _ = client.receive(.requestFailed(post.id, "reset"))
        let again = try #require(client.wait(.seconds(1)).requests.first)
        let asked = try client.problem(again.id, 413, "body_too_large")
        #expect(asked.requests.first?.request.value("If-Match") == nil)
        #expect(
            try client.answer(asked.requests.first?.id, 200, receipt(4)).ends == ["1:applied 4"])
    }

    @Test func `O5: a send that is taken back while a batch is narrowed`() throws {
        var client = try Client()
        let first = try #require(client.send("0").requests.first)
        for number in 1...4 { _ = client.send("\(number)") }
        let batch = try #require(try client.answer(first.id, 200, receipt(1)).requests.first)
        let half = try #require(try client.problem(batch.id, 413, "body_too_large").requests.first)
        #expect(half.request.text == "[1,2]")
        #expect(client.receive(.discard(Ticket(4), room)).ends == ["4:discarded"])
        // After the batch that is narrowed down: not with what remains of it.
        _ = client.send("5")
        let rest = try client.answer(half.id, 200, receipt(2))
        #expect(rest.requests.map(\.request.text) == ["4"])
    }

    // O6

    @Test func `O6: a refusal outlives the program until it is seen`() throws {
        var client = try Client()
        let request = try #require(client.send("1").requests.first)
        #expect(
            try client.problem(request.id, 422, "not_an_action").ends == ["1:refused not_an_action"]
        )
        let next = try Client(saved: client.saved)
        guard case .refused(let problem)? = next.machine.outbox.settlements[Ticket(1)]?.outcome
        else {
            Issue.record("the refusal is kept")
            return
        }
        #expect(
            problem == ProblemDetails(status: 422, code: "not_an_action", detail: "not_an_action!"))
        #expect(next.machine.outbox.lanes.isEmpty)
    }

    // O7

    @Test func `O7: a full outbox refuses, and drops nothing`() throws {
        var limits = ClientLimits()
        limits.actionsInOutbox = 3
        var client = try Client(limits: limits)
        let request = try #require(client.send("1").requests.first)
        _ = client.send("2", "3")
        #expect(client.send("4").deliveries.first == .notAccepted(.outboxFull))
        #expect(client.machine.outbox.actionCount == 3)
        _ = try client.answer(request.id, 200, receipt(1))
        #expect(client.send("4").deliveries.first == .accepted(Ticket(3)))
    }

    @Test func `O7: bytes count as well`() throws {
        var limits = ClientLimits()
        limits.bytesInOutbox = 5
        var client = try Client(limits: limits)
        #expect(client.send("12345").deliveries.first == .accepted(Ticket(1)))
        #expect(client.send("6").deliveries.first == .notAccepted(.outboxFull))
        #expect(client.machine.outbox.byteCount == 5)
    }

    @Test func `O7: ends that the program has not seen count`() throws {
        var limits = ClientLimits()
        limits.actionsInOutbox = 1
        var client = try Client(limits: limits)
        let request = try #require(client.send("1").requests.first)
        _ = try client.problem(request.id, 422, "not_an_action")
        #expect(client.send("2").deliveries.first == .notAccepted(.outboxFull))
        _ = client.receive(.seen(Ticket(1)))
        #expect(client.send("2").deliveries.first == .accepted(Ticket(2)))
    }

    // O8

    @Test func `O8: only a waiting send can be taken back`() throws {
        var client = try Client()
        let request = try #require(client.send("1").requests.first)
        _ = client.send("2")
        #expect(client.receive(.discard(Ticket(1), room)).ends.isEmpty)
        #expect(client.receive(.discard(Ticket(2), room)).ends == ["2:discarded"])
        #expect(client.receive(.discard(Ticket(2), room)).ends.isEmpty)
        #expect(try client.answer(request.id, 200, receipt(1)).requests.isEmpty)
    }

    @Test func `an outbox that cannot be written sends nothing that is not durable`() throws {
        var client = try Client()
        let durable = try #require(client.send("1").requests.first)
        client.savesAtOnce = false
        _ = client.send("2")
        #expect(client.receive(.persistFailed("disk full")).ends == ["2:outboxUnavailable"])
        #expect(try client.answer(durable.id, 200, receipt(1)).requests.isEmpty)
        #expect(client.send("3").deliveries.first == .notAccepted(.outboxUnavailable("disk full")))
    }
}
