import Testing

@testable import ClientMachine

@Suite("slow lines, full disks and many sessions", .timeLimit(.minutes(60)))
struct SlowLineTests {
    private func text(_ bytes: Int) -> String {
        "\"" + String(repeating: "x", count: bytes - 2) + "\""
    }

    @Test func `a large body has the time that the slowest accepted line needs`() throws {
        var client = try Client()
        let post = try #require(client.send(text(200_000)).requests.first)
        // 200 kB at 4 096 bytes a second take 48 s, and the response may take another 30 s.
        let early = client.wait(.seconds(77))
        #expect(!early.contains(.cancelRequest(post.id)))
        let late = client.wait(.seconds(2))
        #expect(late.contains(.cancelRequest(post.id)))
        let again = try #require(client.wait(.seconds(1)).requests.first)
        #expect(again.request == post.request)
        // The bytes must stay the same, so they have twice the time.
        #expect(!client.wait(.seconds(154)).contains(.cancelRequest(again.id)))
        #expect(client.wait(.seconds(3)).contains(.cancelRequest(again.id)))
    }

    @Test func `after a request that was too slow the next ones are half as large`() throws {
        var client = try Client()
        let first = try #require(client.send("1").requests.first)
        for _ in 0..<40 { _ = client.send(text(10_000)) }
        var outputs = try client.answer(first.id, 200, receipt(1))
        var sizes: [Int] = []
        var isSlow = true
        for number in 2...4 as ClosedRange<UInt64> {
            var request = try #require(outputs.requests.first)
            sizes.append(request.request.body.count / 10_000)
            if isSlow {
                _ = client.wait(.seconds(100))
                request = try #require(client.wait(.seconds(1)).requests.first)
                isSlow = false
            }
            outputs = try client.answer(request.id, 200, receipt(number))
        }
        // The last request has the rest.
        #expect(sizes == [26, 13, 1])
    }

    @Test func `a batch whose body is too slow for the server is halved`() throws {
        var client = try Client()
        let first = try #require(client.send("1").requests.first)
        for _ in 0..<4 { _ = client.send(text(10_000)) }
        let batch = try #require(try client.answer(first.id, 200, receipt(1)).requests.first)
        let halved = try client.problem(batch.id, 408, "body_too_slow")
        #expect(halved.requests.map { $0.request.body.count / 10_000 } == [2])
        #expect(halved.requests.first?.request.key != batch.request.key)
        // After a lost attempt only the same bytes may follow.
        _ = client.receive(.requestFailed(try #require(halved.requests.first?.id), "reset"))
        let again = try #require(client.wait(.seconds(1)).requests.first)
        #expect(try client.problem(again.id, 408, "body_too_slow").requests.isEmpty)
        #expect(client.wait(.seconds(1)).requests.map(\.request) == [again.request])
    }

    @Test func `at most 16 requests are under way, and all have their turn`() throws {
        var client = try Client()
        var waiting: [(id: AttemptID, request: ClientRequest)] = []
        let makes = Following(demand: .init(states: true), makes: "chat")
        for number in 0..<1_000 {
            waiting += client.receive(.follow(name("s-\(number)"), makes)).requests
        }
        #expect(waiting.count == 16)
        var targets: Set<String> = []
        var most = 0
        while !waiting.isEmpty {
            most = max(most, waiting.count)
            let next = waiting.removeFirst()
            targets.insert(next.request.target)
            waiting += try client.answer(next.id, 201).requests
        }
        #expect(most == 16)
        #expect(targets.count == 1_000)
    }

    @Test func `a request that asks the server to wait does not use up a turn`() throws {
        var client = try Client()
        for number in 0..<16 {
            let options = SendOptions(settledMilliseconds: 600_000)
            let sent = client.send("1", to: name("s-\(number)"), options: options)
            #expect(sent.requests.count == 1)
        }
        #expect(client.send("1").requests.count == 1)
    }

    @Test func `a session that nobody wants any more has its turn no longer`() throws {
        var client = try Client()
        let makes = Following(demand: .init(states: true), makes: "chat")
        var ids: [AttemptID] = []
        for number in 0..<17 {
            ids += client.receive(.follow(name("s-\(number)"), makes)).requests.map(\.id)
        }
        _ = client.receive(.leave(name("s-16")))
        #expect(try client.answer(ids.first, 201).requests.isEmpty)
        // A session that is left while its request is under way gives its turn to the next.
        _ = client.receive(.follow(room, makes))
        _ = client.receive(.follow(other, makes))
        let left = client.receive(.leave(name("s-1")))
        #expect(left.requests.map(\.request.target) == ["/v1/sessions/other"])
    }

    @Test func `nothing stays of sessions that were deleted and left`() throws {
        var client = try Client()
        for number in 0..<300 {
            let session = name("s-\(number)")
            let put = client.receive(
                .follow(session, Following(demand: .init(states: true), makes: "chat"))
            ).requests.first
            _ = try client.answer(put?.id, 201)
            let stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
            _ = client.head(stream)
            let post = client.send("1", to: session).requests.first
            if number.isMultiple(of: 3) {
                _ = try client.problem(post?.id, 410, "session_ended")
            } else {
                _ = client.event(stream, "end", "", #"{"reason":"deleted"}"#)
                if number.isMultiple(of: 2) {
                    _ = try client.problem(post?.id, 410, "session_ended")
                } else {
                    _ = try client.answer(post?.id, 200, receipt(1))
                }
            }
            for ticket in client.machine.outbox.settlements.keys {
                _ = client.receive(.seen(ticket))
            }
            _ = client.receive(.leave(session))
        }
        _ = client.wait(.seconds(100))
        #expect(client.machine.links.keys.isEmpty)
        #expect(client.machine.attempts.count == 0)
        #expect(client.machine.streams.all.isEmpty)
        #expect(client.machine.outbox.lanes.isEmpty)
    }

    // The disk

    @Test func `an outbox that is full for a while holds everything back, and says why`() throws {
        var client = try Client()
        let stream = try client.open(room)
        _ = client.event(stream, "snapshot", "aaaaaaaa.0", "0")
        client.savesAtOnce = false
        guard case .persist(let number, _)? = client.send("1").first else {
            Issue.record("nothing is made durable")
            return
        }
        let until = client.now.uptime + .seconds(1)
        let delayed = client.receive(.persistDelayed(until: until, "no space"))
        #expect(delayed.statuses == [.waiting(until: until, why: "no space")])
        #expect(delayed.ends.isEmpty && client.machine.status(room).pending == 1)
        // Later sends wait too.
        #expect(client.send("2").requests.isEmpty)
        client.savesAtOnce = true
        let outputs = client.receive(.persisted(number + 1))
        #expect(outputs.requests.map(\.request.text) == ["1"])
        #expect(outputs.statuses == [.live])
        #expect(try client.answer(outputs.requests.first?.id, 200, receipt(1)).requests.count == 1)
    }

    @Test func `an outbox that is lost fails what waits in it, and the status is not live`() throws
    {
        var client = try Client()
        let stream = try client.open(room)
        let post = client.send("1").requests.first
        _ = client.send("2")
        let outputs = client.receive(.persistFailed("moved"))
        #expect(outputs.ends == ["2:stored"])
        #expect(outputs.statuses == [.stopped("moved")])
        // The request that has left is durable.
        #expect(try client.answer(post?.id, 200, receipt(1)).requests.isEmpty)
        #expect(client.event(stream, "snapshot", "aaaaaaaa.1", "1").ends == ["1:applied 1"])
        // Nothing of it is lost: the next program sends it.
        var next = try Client(saved: client.saved)
        let again = next.receive(.timer).requests
        #expect(again.map(\.request) == post.map { [$0.request] })
    }

    @Test func `the clock of the program's life is believed, whatever the date says`() throws {
        var client = try Client()
        let post = try #require(client.send("1").requests.first)
        client.now.date -= 7_200
        _ = client.receive(.requestFailed(post.id, "reset"))
        #expect(client.wait(.seconds(1)).requests.map(\.request) == [post.request])
    }
}

@Suite("ADR-0072: a request says which key is not used again", .timeLimit(.minutes(60)))
struct DoneKeyTests {
    @Test func `the key of the request before, once it is applied`() throws {
        var client = try Client()
        let first = try #require(client.send("1").requests.first)
        #expect(first.request.value("Idempotency-Key-Done") == nil)
        _ = client.send("2")
        let second = try #require(try client.answer(first.id, 200, receipt(1)).requests.first)
        #expect(second.request.value("Idempotency-Key-Done") == first.request.key)
        // Also in a repeated attempt, and after a refusal, which the server does not store.
        _ = client.receive(.requestFailed(second.id, "reset"))
        let again = try #require(client.wait(.seconds(1)).requests.first)
        #expect(again.request == second.request)
        _ = client.send("3")
        let third = try #require(
            try client.problem(again.id, 422, "not_an_action").requests.first)
        #expect(third.request.value("Idempotency-Key-Done") == first.request.key)
        #expect(client.send("4", to: other).requests.first?.request.fields.count == 2)
    }
}
