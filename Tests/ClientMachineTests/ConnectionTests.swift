import TestRandomness
import Testing

@testable import ClientMachine

@Suite("C1 to C4, C7: connections", .timeLimit(.minutes(60)))
struct ConnectionTests {
    private let states = Following(demand: .init(states: true))

    // C1

    @Test func `C1: sessions that are followed within 50 ms share one stream`() throws {
        var client = try Client()
        #expect(client.receive(.follow(room, states)).streams.isEmpty)
        #expect(client.receive(.follow(other, states)).streams.isEmpty)
        let streams = client.wait(.milliseconds(50)).streams
        #expect(
            streams.map(\.request.target) == [
                "/v1/events?session=room&session=other&ids=own&only=states&form=patch"
            ])
        #expect(streams.first?.request.value("Accept") == "text/event-stream")
    }

    @Test func `C1: one session has its own stream`() throws {
        var client = try Client()
        _ = client.receive(.follow(room, states))
        let streams = client.wait(.milliseconds(50)).streams
        #expect(
            streams.map(\.request.target) == ["/v1/sessions/room/events?only=states&form=patch"])
    }

    @Test func `C1: a change opens the new stream by the vector, then closes the old one`() throws {
        var client = try Client()
        let old = try client.open(room)
        _ = client.event(old, "snapshot", "aaaaaaaa.4", "4")
        _ = client.receive(.follow(other, states))
        let outputs = client.wait(.milliseconds(50))
        #expect(
            outputs.streams.map(\.request.target) == [
                "/v1/events?session=room&session=other&ids=own&only=states&form=patch&after=aaaaaaaa.4,-"
            ])
        #expect(outputs.closed.isEmpty)
        // Both run for a moment: R7 drops what comes twice.
        #expect(client.event(old, "state", "aaaaaaaa.5", "5").news == ["state@5=5"])
        let new = try #require(outputs.streams.first?.id)
        #expect(client.head(new).closed == [old])
        let overlap = client.bytes(
            new,
            block("room/state", "room/aaaaaaaa.5", "5")
                + block("room/state", "room/aaaaaaaa.6", "6"))
        #expect(overlap.news == ["state@6=6"])
        #expect(client.event(old, "state", "aaaaaaaa.7", "7").news.isEmpty)
    }

    /// Two streams that resume `room` after 4: an earlier one, and one that is to replace it.
    private func overlapping() throws -> (Client, earlier: AttemptID, later: AttemptID) {
        var client = try Client()
        let cut = try client.open(room)
        _ = client.event(cut, "snapshot", "aaaaaaaa.4", "4")
        _ = client.receive(.streamEnded(cut, failure: "it was cut"))
        let earlier = try #require(client.wait(.seconds(1)).streams.first?.id)
        _ = client.head(earlier)
        _ = client.receive(.follow(other, states))
        let later = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        return (client, earlier, later)
    }

    @Test func `C1: a stream that resumes after what another has brought reports no gap`()
        throws
    {
        var (client, earlier, later) = try overlapping()
        let first = client.bytes(
            earlier,
            reset("reset") + block("snapshot", "aaaaaaaa.102", "2")
                + block("state", "aaaaaaaa.103", "3"))
        #expect(first.news == ["reset trimmed", "snapshot@102=2", "state@103=3"])
        _ = client.head(later)
        let snapshot = block("room/snapshot", "room/aaaaaaaa.105", "5")
        let outputs = client.bytes(later, reset("room/reset") + snapshot)
        #expect(outputs.news.isEmpty)
        #expect(outputs.closed == [later])
        let again = try #require(client.wait(.milliseconds(250)).streams.first)
        #expect(again.request.target.hasSuffix("&after=aaaaaaaa.103,-"))
        _ = client.head(again.id)
        // Of this one it is true, at its beginning as later.
        let told = client.bytes(again.id, reset("room/reset") + snapshot + reset("room/reset"))
        #expect(told.news == ["reset trimmed", "snapshot@105=5", "reset trimmed"])
    }

    @Test(arguments: [false, true])
    func `C1: a reset is reported if nothing has come meanwhile, or its snapshot has not`(
        hasReset: Bool
    ) throws {
        var (client, earlier, later) = try overlapping()
        if hasReset { _ = client.bytes(earlier, reset("reset")) }
        _ = client.head(later)
        let snapshot = block("room/snapshot", "room/aaaaaaaa.105", "5")
        let told = client.bytes(later, reset("room/reset") + snapshot)
        #expect(told.news == ["reset trimmed", "snapshot@105=5"])
    }

    @Test(arguments: [Following.Start.start, .now])
    func `C1: a stream from the beginning stays when the program wakes`(
        start: Following.Start
    ) throws {
        var client = try Client()
        var following = states
        following.start = start
        let stream = try client.open(room, following: following)
        _ = client.bytes(stream, "id: aaaaaaaa.0\n\n")
        _ = client.receive(.wake)
        #expect(client.wait(.milliseconds(50)).streams.isEmpty)
    }

    private func reset(_ name: String) -> String {
        "event: \(name)\ndata: {\"reason\":\"trimmed\"}\n\n"
    }

    @Test(arguments: ["token", "garbage", "cut"])
    func `C1: an old stream that breaks is not opened again`(fault: String) throws {
        var client = try Client(asksForCredentials: true)
        _ = client.receive(.follow(room, states))
        let asked = try #require(client.wait(.milliseconds(50)).asked.first)
        let long = Credential(authorization: "a", expires: .seconds(1_000))
        let old = try #require(client.receive(.credential(asked.id, long)).streams.first?.id)
        _ = client.head(old)
        _ = client.event(old, "snapshot", "aaaaaaaa.4", "4")
        _ = client.receive(.follow(other, states))
        let new = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        var outputs =
            switch fault {
            case "token":
                client.bytes(old, "event: problem\ndata: {\"code\":\"token_invalid\"}\n\n")
            case "garbage": client.event(old, "state", "garbage", "5")
            default: client.receive(.streamEnded(old, failure: "cut"))
            }
        outputs += client.wait(.seconds(1))
        #expect(outputs.streams.isEmpty)
        #expect(outputs.asked.isEmpty)
        #expect(client.head(new).statuses == [.live, .live])
        #expect(client.machine.streams.all.count == 1)
    }

    @Test func `C1: at most 100 sessions on one stream`() throws {
        var client = try Client()
        for number in 0..<250 { _ = client.receive(.follow(name("s\(number)"), states)) }
        let streams = client.wait(.milliseconds(50)).streams
        let counts = streams.map { $0.request.target.components(of: "session=") }
        #expect(counts == [100, 100, 50])
    }

    @Test func `C1: long ids share streams as far as a head has room`() throws {
        var client = try Client()
        for number in 100..<200 {
            let id = String(repeating: "x", count: 125) + "\(number)"
            _ = client.receive(.follow(name(id), states))
        }
        let streams = client.wait(.milliseconds(50)).streams
        #expect(streams.count > 1)
        #expect(streams.filter { !($0.request.target.utf8.count <= 8_192) }.isEmpty)
        #expect(streams.map { $0.request.target.components(of: "session=") }.reduce(0, +) == 100)
    }

    @Test func `C1: a session that leaves replaces one stream, not the others`() throws {
        var client = try Client()
        for number in 0..<200 { _ = client.receive(.follow(name("s\(number)"), states)) }
        let first = client.wait(.milliseconds(50)).streams
        for stream in first { _ = client.head(stream.id) }
        _ = client.receive(.leave(name("s150")))
        let second = client.wait(.milliseconds(50))
        #expect(second.streams.count == 1)
        #expect(second.streams.first?.request.target.components(of: "session=") == 99)
        #expect(client.head(second.streams.first?.id).closed == [first[1].id])
        // The place that has become free is used.
        _ = client.receive(.follow(name("new"), states))
        let third = client.wait(.milliseconds(50)).streams
        #expect(third.map { $0.request.target.components(of: "session=") } == [100])
    }

    @Test func `a session that has left brings nothing more`() throws {
        var client = try Client()
        let stream = try client.open(room)
        _ = client.receive(.leave(room))
        #expect(client.event(stream, "snapshot", "aaaaaaaa.4", "4").news.isEmpty)
        #expect(client.wait(.milliseconds(50)).closed == [stream])
    }

    // C2

    @Test func `C2: demand decides what is sent`() throws {
        var client = try Client()
        let demand = Demand(pulses: .named(["b c", "a"]), activities: true)
        _ = client.receive(.follow(room, Following(demand: demand)))
        let streams = client.wait(.milliseconds(50)).streams
        #expect(
            streams.map(\.request.target) == [
                "/v1/sessions/room/events?only=pulses,activities&pulse=a&pulse=b%20c"
            ])
    }

    @Test func `C2: sessions share the union, but not states that they do not want`() throws {
        var client = try Client()
        let a = Demand(pulses: .named(["a"]))
        let b = Demand(pulses: .named(["b"]), activities: true)
        _ = client.receive(.follow(room, Following(demand: a)))
        _ = client.receive(.follow(other, Following(demand: b)))
        _ = client.receive(.follow(name("large"), states))
        _ = client.receive(.follow(name("idle"), Following(demand: .nothing)))
        #expect(
            client.wait(.milliseconds(50)).streams.map(\.request.target) == [
                "/v1/events?session=room&session=other&ids=own&only=pulses,activities&pulse=a&pulse=b",
                "/v1/sessions/large/events?only=states&form=patch",
            ])
        #expect(client.machine.status(name("idle")).link == .idle)
    }

    @Test func `C2: a server without shared streams gets a stream for each session`() throws {
        var client = try Client()
        _ = client.receive(.follow(room, states))
        _ = client.receive(.follow(other, states))
        let shared = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        let outputs = client.refuse(shared, 404, "unknown_path")
        #expect(
            outputs.streams.map(\.request.target) == [
                "/v1/sessions/room/events?only=states&form=patch",
                "/v1/sessions/other/events?only=states&form=patch",
            ])
        _ = client.receive(.follow(name("third"), states))
        #expect(
            client.wait(.milliseconds(50)).streams.map(\.request.target) == [
                "/v1/sessions/third/events?only=states&form=patch"
            ])
    }

    @Test(arguments: [(400, "too_many_sessions"), (414, "target_too_long"), (431, "")])
    func `C2: a server that accepts fewer sessions on a stream gets more streams`(
        status: Int, code: String
    ) throws {
        var client = try Client()
        let names = (0..<10).map { name("s\($0)") }
        for session in names { _ = client.receive(.follow(session, states)) }
        var open = client.wait(.milliseconds(50)).streams
        #expect(open.map { $0.request.target.components(of: "session=") } == [10])
        // The server accepts three.
        while let large = open.first(where: { $0.request.target.components(of: "session=") > 3 }) {
            let outputs = client.refuse(large.id, status, code)
            open.removeAll { $0.id == large.id || outputs.closed.contains($0.id) }
            open += outputs.streams
        }
        for stream in open { _ = client.head(stream.id) }
        #expect(names.map { client.machine.status($0).link } == names.map { _ in .live })
        let counts = open.map { $0.request.target.components(of: "session=") }
        #expect(counts.reduce(0, +) == 10)
        // Later ones know it.
        _ = client.receive(.follow(name("new"), states))
        let later = client.wait(.milliseconds(50)).streams
        #expect(!later.isEmpty)
        #expect(later.allSatisfy { $0.request.target.components(of: "session=") <= 3 })
    }

    @Test func `C2: a stream of which all but one are over is divided too`() throws {
        var client = try Client()
        let stream = try client.open(room, other)
        _ = client.bytes(stream, "event: other/end\ndata: {\"reason\":\"deleted\"}\n\n")
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        let again = try #require(client.wait(.seconds(1)).streams.first?.id)
        #expect(
            client.refuse(again, 404, "unknown_path").streams.map(\.request.target) == [
                "/v1/sessions/room/events?only=states&form=patch"
            ])
    }

    // C3

    @Test func `C3: a stream that worked and ended cleanly is opened again at once`() throws {
        var client = try Client()
        let stream = try client.open(room)
        _ = client.event(stream, "snapshot", "aaaaaaaa.4", "4")
        client.now.uptime += .seconds(5)
        _ = client.bytes(stream, ": heartbeat\n")
        let again = client.receive(.streamEnded(stream, failure: nil)).streams
        #expect(
            again.map(\.request.target) == [
                "/v1/sessions/room/events?only=states&form=patch&after=aaaaaaaa.4"
            ])
    }

    @Test(arguments: [
        (lived: 4, clean: true, block: true), (lived: 5, clean: false, block: true),
        (lived: 5, clean: true, block: false),
    ])
    func `C3: any other end waits`(lived: Int, clean: Bool, block: Bool) throws {
        var client = try Client()
        let stream = try client.open(room)
        if block { _ = client.event(stream, "snapshot", "aaaaaaaa.4", "4") }
        client.now.uptime += .seconds(lived)
        let ended = client.receive(.streamEnded(stream, failure: clean ? nil : "reset"))
        #expect(ended.streams.isEmpty)
        guard case .waiting? = ended.statuses.last else {
            Issue.record("\(ended.statuses)")
            return
        }
        #expect(client.wait(.milliseconds(250)).streams.count == 1)
    }

    @Test func `C3: a server that drains spreads its clients`() throws {
        var client = try Client()
        let stream = try client.open(room)
        _ = client.bytes(stream, "retry: 2000\n" + block("snapshot", "aaaaaaaa.4", "4"))
        client.now.uptime += .seconds(60)
        _ = client.bytes(stream, "retry: 9000\n\n")
        #expect(client.receive(.streamEnded(stream, failure: nil)).streams.isEmpty)
        #expect(client.wait(.milliseconds(8_999)).streams.isEmpty)
        #expect(client.wait(.milliseconds(1)).streams.count == 1)
    }

    @Test func `C3: the usual retry is no wait`() throws {
        var client = try Client()
        let stream = try client.open(room)
        _ = client.bytes(stream, "retry: 9000\n" + block("snapshot", "aaaaaaaa.4", "4"))
        client.now.uptime += .seconds(60)
        _ = client.bytes(stream, "retry: 9000\n\n")
        #expect(client.receive(.streamEnded(stream, failure: nil)).streams.count == 1)
    }

    @Test func `C3: a stream that cannot begin waits as its problem says`() throws {
        var client = try Client()
        let stream = try client.open(room)
        let outputs = client.bytes(
            stream,
            "retry: 5000\nevent: problem\ndata: {\"code\":\"too_many_subscribers\",\"detail\":\"full\"}\n\n"
        )
        #expect(outputs.closed == [stream])
        guard case .waiting(_, why: "full")? = outputs.statuses.last else {
            Issue.record("\(outputs.statuses)")
            return
        }
        #expect(client.wait(.milliseconds(4_999)).streams.isEmpty)
        #expect(client.wait(.milliseconds(1)).streams.count == 1)
    }

    @Test func `C3: waits grow, and begin at their shortest after success`() throws {
        var client = try Client()
        var stream = try client.open(room)
        for failures in 1...12 {
            _ = client.receive(.streamEnded(stream, failure: "reset"))
            #expect(client.machine.status(room).link.isWaiting)
            let bound = min(30_000, 250 << min(failures - 1, 7))
            stream = try #require(client.wait(.milliseconds(bound)).streams.first?.id)
            _ = client.head(stream)
        }
        _ = client.event(stream, "snapshot", "aaaaaaaa.4", "4")
        client.now.uptime += .seconds(5)
        _ = client.bytes(stream, ":\n")
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        #expect(client.wait(.milliseconds(250)).streams.count == 1)
    }

    @Test func `C3: wake and success begin the waits at their shortest`() throws {
        var client = try Client()
        var stream = try client.open(room)
        for _ in 0..<12 {
            _ = client.receive(.streamEnded(stream, failure: "reset"))
            stream = try #require(client.wait(.seconds(30)).streams.first?.id)
        }
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        stream = try #require(client.receive(.wake).streams.first?.id)
        #expect(client.machine.status(room).link == .connecting(attempt: 1))
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        #expect(client.wait(.milliseconds(250)).streams.count == 1)
    }

    @Test func `C3: full jitter is uniform, and Retry-After a minimum`() {
        var generator = SeededGenerator(seed: 7)
        for failures in 0..<12 {
            var longest = Duration.zero
            var shortest = Duration.seconds(100)
            for _ in 0..<200 {
                var backoff = Backoff()
                for _ in 0..<failures { _ = backoff.fail(using: &generator) }
                let wait = backoff.fail(using: &generator)
                longest = max(longest, wait)
                shortest = min(shortest, wait)
                #expect(backoff.fail(atLeast: .seconds(99), using: &generator) == .seconds(99))
            }
            let bound = min(Duration.seconds(30), .milliseconds(250) * (1 << failures))
            #expect(longest <= bound)
            #expect(longest > bound * 0.8)
            #expect(shortest < bound * 0.2)
        }
    }

    // C4

    @Test func `C4: 40 s of silence end a stream, and a heartbeat prevents it`() throws {
        var client = try Client()
        let stream = try client.open(room)
        #expect(client.wait(.milliseconds(39_999)).isEmpty)
        _ = client.bytes(stream, ":\n")
        #expect(client.wait(.milliseconds(39_999)).isEmpty)
        #expect(client.wait(.milliseconds(1)).closed == [stream])
        #expect(client.wait(.milliseconds(250)).streams.count == 1)
    }

    @Test func `C4: a stream has 10 s to open`() throws {
        var client = try Client()
        _ = client.receive(.follow(room, states))
        let stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        #expect(client.wait(.milliseconds(9_999)).isEmpty)
        #expect(client.wait(.milliseconds(1)).closed == [stream])
    }

    @Test func `C4: wake replaces what is silent for 20 s, and ends waits`() throws {
        var client = try Client()
        let stream = try client.open(room)
        client.now.uptime += .seconds(20)
        #expect(client.receive(.wake).closed.isEmpty)
        client.now.uptime += .milliseconds(1)
        let woken = client.receive(.wake)
        #expect(woken.closed == [stream])
        let next = try #require(woken.streams.first?.id)
        _ = client.receive(.streamEnded(next, failure: "no network"))
        let post = try #require(client.send("1").requests.first)
        _ = try client.answer(post.id, 503, "", [.init("Retry-After", "300")])
        let again = client.receive(.wake)
        #expect(again.streams.count == 1)
        #expect(again.requests.map(\.request) == [post.request])
    }

    @Test func `C7: statuses from idle to live`() throws {
        var client = try Client()
        #expect(client.machine.status(room).link == .idle)
        #expect(client.receive(.follow(room, states)).statuses == [.connecting(attempt: 1)])
        let stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        #expect(client.head(stream).statuses == [.live])
        client.now.uptime += .seconds(3)
        _ = client.bytes(stream, ":\n")
        #expect(client.machine.streams.all.map(\.lastByteAt) == [client.now.uptime])
        _ = client.receive(.streamEnded(stream, failure: "reset"))
        #expect(client.wait(.milliseconds(250)).statuses == [.connecting(attempt: 2)])
        #expect(client.receive(.leave(room)).statuses == [.idle])
    }

    @Test func `C7: pending counts the actions that are not done`() throws {
        var client = try Client()
        _ = client.receive(.follow(room, Following(demand: .nothing)))
        let post = try #require(client.send("1", "2").requests.first)
        _ = client.send("3")
        #expect(client.machine.status(room).pending == 3)
        _ = try client.answer(post.id, 200, receipt(1))
        #expect(client.machine.status(room).pending == 1)
    }

    @Test func `the one timer is the earliest`() throws {
        var client = try Client()
        #expect(client.receive(.follow(room, states)).contains(.wakeMe(at: .milliseconds(50))))
        let outputs = client.wait(.milliseconds(50))
        #expect(outputs.contains(.wakeMe(at: .milliseconds(10_050))))
        _ = client.receive(.leave(room))
        #expect(client.wait(.milliseconds(50)).contains(.wakeMe(at: nil)))
    }
}

extension LinkStatus {
    var isWaiting: Bool { if case .waiting = self { true } else { false } }
}

extension String {
    /// The number of occurrences.
    fileprivate func components(of text: String) -> Int {
        var (count, rest) = (0, self[...])
        while let range = rest.firstRange(of: text) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
