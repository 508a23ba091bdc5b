import ClientMachine
import Reactors
import Synchronization
import Testing

@testable import ReactorClient

@Suite("a client and its sessions", .timeLimit(.minutes(60)))
struct ClientTests {
    @Test(arguments: [
        ("api.example.com", "neither http:// nor https://"),
        ("ftp://example.com", "ftp is neither http nor https"),
        ("https://example.com?a=b", "has a query"),
        ("https://example.com/#a", "has a fragment"),
        ("https://ada@example.com", "has a user"),
        ("https://", "has no host"),
        ("https://:80", "has no host"),
        ("http://example.com:0", "is not a port"),
        ("http://example.com:http", "is not a port"),
        ("http://[::1", "a ] is missing"),
        ("http://exa mple.com", "has a space"),
        ("http://exämple.com", "not ASCII"),
    ])
    func `a bad address fails with a sentence that names the fault`(
        _ address: String, _ fault: String
    ) throws {
        let failure = #expect(throws: ClientFailure.self) { try ReactorClient(address) }
        guard case .badAddress(let sentence) = failure else { throw failure ?? .closed }
        #expect(sentence.contains(fault))
        #expect(sentence.contains(address))
    }

    @Test(arguments: [
        ("HTTPS://Example.com", "https://example.com", ""),
        ("http://[::1]:8080/", "http://[::1]:8080", ""),
        ("http://127.0.0.1:8080/base//", "http://127.0.0.1:8080", "/base"),
    ])
    func `an address has an origin and a path`(
        _ text: String, _ origin: String, _ path: String
    ) throws {
        #expect(try ServerAddress(parsing: text) == ServerAddress(origin: origin, path: path))
    }

    @Test func `a session that cannot be had is a failure with the server's words`() async throws {
        let rig = try Rig()
        await #expect(throws: ClientFailure.badSessionID("a b")) {
            let _: RemoteReactor<Tally> = try await rig.client.join("a b")
        }
        let other: Task<RemoteReactor<Tally>, any Error> = Task {
            try await rig.client.session("room", of: "tally")
        }
        await rig.transport.request().problem(409, "other_reactor")
        let details = problem(409, "other_reactor")
        await #expect(throws: ClientFailure.refused(details)) { try await other.value }
        let ghost: Task<RemoteReactor<Tally>, any Error> = Task {
            try await rig.client.join("ghost")
        }
        await rig.transport.stream().problem(404, "unknown_session")
        await #expect(throws: ClientFailure.ended(.unknown)) { try await ghost.value }
        let strange: Task<RemoteReactor<Tally>, any Error> = Task {
            try await rig.client.join("strange")
        }
        _ = await rig.transport.open(#"{"count":"many"}"#)
        let failure = await #expect(throws: ClientFailure.self) { try await strange.value }
        guard case .undecodable(let sentence) = failure else { throw failure ?? .closed }
        #expect(sentence.contains("/count"))
        await rig.client.close()
    }

    @Test func `a session is left when its last object is released, and can be followed again`()
        async throws
    {
        let rig = try Rig()
        var held: RemoteReactor<Tally>?
        let first: ScriptedExchange
        (held, first) = try await rig.room()
        var last: RemoteReactor<Tally>? = try await rig.client.session(
            "room", of: "tally", predicting: Tally())
        await #expect(throws: ClientFailure.followedOtherwise("room")) {
            let _: RemoteReactor<Tally> = try await rig.client.session("room", of: "tally")
        }
        var counts: Reading<Int>
        do {
            let shared = try #require(last)
            counts = Reading(await shared.state(\.count))
        }
        held = nil
        first.event("state", at(1), tally(1))
        #expect(try await counts.next(2) == [0, 1])
        #expect(held == nil)
        // The last one is left here, and a further one with a call.
        last = nil
        #expect(try await counts.next() == nil)
        #expect(last == nil)
        let (left, second) = try await rig.room(tally(3))
        #expect(first.isCancelled)
        var states = Reading(await left.state(\.count))
        await left.leave()
        #expect(try await states.next(2) == [3])
        let (again, stream) = try await rig.room(tally(7))
        #expect(await again.currentState.count == 7)
        #expect(second.isCancelled && !stream.isCancelled)
        await rig.client.close()
    }

    @Test func `a session that has ended can be followed again beside its old objects`()
        async throws
    {
        let rig = try Rig()
        async let joining: RemoteReactor<Tally> = rig.client.join("room")
        let stream = await rig.transport.open(tally(1))
        let old = try await joining
        var counts = Reading(await old.state(\.count))
        // Of a server that was started again without a journal.
        stream.event("end", at(0), #"{"reason":"unknown"}"#)
        #expect(try await counts.next(2) == [1])
        #expect(old.status == .ended(.unknown))
        async let again: RemoteReactor<Tally> = rig.client.join("room")
        let next = await rig.transport.open(tally(5), position: "bbbbbbbb.0")
        let new = try await again
        let shared: RemoteReactor<Tally> = try await rig.client.join("room")
        // The old objects end nothing.
        await old.leave()
        var later = Reading(await shared.state(\.count))
        next.event("state", "bbbbbbbb.1", tally(6))
        #expect(try await later.next(2) == [5, 6])
        #expect(new.status == .live)
        #expect(await old.currentState.count == 1)
        await rig.client.close()
    }

    @Test func `close ends what is under way, and returns when it has ended`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room()
        var statuses = Reading(await room.statuses)
        let ticket = try room.submit(.add(number: 1))
        let post = await rig.transport.request()
        let list = Task { try await rig.client.reactors() }
        let get = await rig.transport.request()
        await rig.client.close()
        #expect(stream.isCancelled && post.isCancelled && get.isCancelled)
        await #expect(throws: SendFailure.closed) { try await ticket.receipt() }
        await #expect(throws: ClientFailure.unreachable("cancelled")) { try await list.value }
        #expect(try await statuses.next(2) == [.live, .ended(.left)])
        await #expect(throws: ClientFailure.closed) {
            let _: RemoteReactor<Tally> = try await rig.client.join("other")
        }
        await rig.client.close()
    }

    @Test func `a client ends with its last session`() async throws {
        var room: RemoteReactor<Tally>?
        let stream: ScriptedExchange
        let outbox = HeldOutbox()
        do {
            let rig = try Rig(ClientConfiguration(outbox: ClientOutbox { outbox }))
            (room, stream) = try await rig.room()
        }
        var counts: Reading<Int>
        do {
            let held = try #require(room)
            counts = Reading(await held.state(\.count))
        }
        stream.event("state", at(1), tally(1))
        #expect(try await counts.next(2) == [0, 1])
        room = nil
        #expect(try await counts.next() == nil)
        #expect(room == nil)
        await outbox.whenClosed()
    }

    @Test func `a credential is asked for, and asked for again when it is refused`() async throws {
        let questions = Mutex<[String?]>([])
        let rig = try Rig(
            ClientConfiguration(credential: { request in
                questions.withLock { $0.append(request.refused) }
                return .bearer(request.refused == nil ? "old" : "new", lifetime: .seconds(600))
            }))
        async let room: RemoteReactor<Tally> = rig.client.session("room", of: "tally")
        let first = await rig.transport.request()
        #expect(first.field("Authorization") == "Bearer old")
        first.problem(401, "token_invalid")
        let second = await rig.transport.request()
        #expect(second.field("Authorization") == "Bearer new")
        second.answer(201)
        let stream = await rig.transport.open(tally(0))
        #expect(stream.field("Authorization") == "Bearer new")
        _ = try await room
        #expect(questions.withLock(\.self) == [nil, "old"])
        let reactors = Task { try await rig.client.reactors() }
        let get = await rig.transport.request()
        #expect(get.field("Authorization") == "Bearer old")
        get.problem(401, "token_invalid")
        let again = await rig.transport.request()
        #expect(again.field("Authorization") == "Bearer new")
        again.problem(401, "token_invalid")
        let details = problem(401, "token_invalid")
        await #expect(throws: ClientFailure.refused(details)) { try await reactors.value }
        await rig.client.close()
    }

    @Test func `reactors and sessions are listed, states read, forks requested`()
        async throws
    {
        let rig = try Rig()
        let reactors = Task { try await rig.client.reactors() }
        let hosted =
            #"{"name":"tally","pulses":["newestNote"],"activities":["hint"],"examples":[]}"#
        await rig.transport.request().answer(200, #"{"reactors":[\#(hosted)]}"#)
        #expect(try await reactors.value.map(\.pulses) == [["newestNote"]])
        var pages = rig.client.sessions(prefix: "ro", reactor: "ta/lly").makeAsyncIterator()
        async let first = rig.transport.answer(
            #"{"sessions":[{"id":"room","reactor":"tally"}],"next":"room"}"#)
        #expect(try await pages.next()?.map(\.id) == ["room"])
        #expect(await first == "/v1/sessions?prefix=ro&reactor=ta%2Flly")
        async let second = rig.transport.answer(#"{"sessions":[]}"#)
        #expect(try await pages.next()?.isEmpty == true)
        #expect(await second == "/v1/sessions?prefix=ro&reactor=ta%2Flly&after=room")
        #expect(try await pages.next() == nil)

        let (room, _) = try await rig.room()
        async let past = room.state(at: 3)
        async let target = rig.transport.answer(
            #"{"id":"room","reactor":"tally","version":3,"position":"\#(at(3))","state":\#(tally(9))}"#
        )
        #expect(try await past.count == 9)
        #expect(await target == "/v1/sessions/room?version=3")
        async let fork = room.fork(at: 3)
        let post = await rig.transport.request()
        #expect(post.body == #"{"reactor":"tally","from":{"session":"room","version":3}}"#)
        post.answer(201, #"{"id":"copy"}"#)
        // Two sessions share a stream, unless the server has none of this kind.
        let shared = await rig.transport.stream()
        #expect(shared.target.hasPrefix("/v1/events?session=room&session=copy&ids=own"))
        shared.problem(404, "unknown_path")
        var streams = [await rig.transport.stream(), await rig.transport.stream()]
        streams.sort { $0.target < $1.target }
        #expect(streams[0].target.hasPrefix("/v1/sessions/copy/events?"))
        #expect(streams[1].target.hasPrefix("/v1/sessions/room/events?"))
        streams[0].head()
        streams[0].event("snapshot", at(0), #"{"pulses":{},"state":\#(tally(9))}"#)
        #expect(try await fork.id == "copy")
        await rig.client.close()
    }

    @Test func `a deletion is believed when the service says that the session is gone`()
        async throws
    {
        let rig = try Rig()
        let (room, _) = try await rig.room()
        /// Answers one deletion, each request with the next of the answers.
        func deletion(_ answers: [(status: Int, code: String)]) async -> ClientFailure? {
            let deletion = Task { () -> ClientFailure? in
                do throws(ClientFailure) {
                    try await room.delete()
                    return nil
                } catch {
                    return error
                }
            }
            for (status, code) in answers {
                let request = await rig.transport.request()
                #expect(request.request.method == "DELETE")
                #expect(request.target == "/v1/sessions/room")
                if status < 400 { request.answer(status) } else { request.problem(status, code) }
            }
            return await deletion.value
        }
        // Something in between says 204 to whatever it is asked.
        let doubt = await deletion([(204, ""), (204, ""), (204, "")])
        guard case .unreachable(let reason) = doubt else { throw doubt ?? .closed }
        #expect(reason.hasPrefix("the responses are not from the service"))
        // The first answer is another's, and the second one the service's.
        #expect(await deletion([(204, ""), (204, ""), (410, "session_ended")]) == nil)
        #expect(await deletion([(204, ""), (404, "unknown_session")]) == nil)
        // A service that is busy has not said it.
        let busy = await deletion([(204, ""), (503, "draining")])
        #expect(busy == .unreachable("status 503: draining!"))
        let refused = await deletion([(403, "forbidden")])
        #expect(refused == .refused(problem(403, "forbidden")))
        await rig.client.close()
    }

    @Test func `an answer without end or of another server is a failure`() async throws {
        var configuration = ClientConfiguration()
        configuration.limits.eventBytes = 100
        let rig = try Rig(configuration)
        let large = Task { try await rig.client.reactors() }
        let request = await rig.transport.request()
        #expect(request.send(String(repeating: " ", count: 101)) == .pause)
        await #expect(throws: ClientFailure.unreachable("the response has more than 100 bytes")) {
            try await large.value
        }
        let strange = Task { try await rig.client.reactors() }
        await rig.transport.request().answer(200, "<html>")
        let failure = await #expect(throws: ClientFailure.self) { try await strange.value }
        guard case .undecodable = failure else { throw failure ?? .closed }
        await rig.client.close()
    }
}

extension ScriptedTransport {
    /// Responds to the next request.
    ///
    /// - Returns: its target.
    fileprivate func answer(_ body: String) async -> String {
        let request = await request()
        request.answer(200, body)
        return request.target
    }
}

@Suite("what several threads share", .timeLimit(.minutes(60)))
struct DriverDeskTests {
    private func core() throws -> DriverCore {
        DriverCore(
            ClientMachine(
                server: ServerAddress(origin: "https://example.com"),
                using: SystemRandomNumberGenerator()))
    }

    @Test func `a connection pauses when 1 MiB waits, and resumes when half of it is read`() throws
    {
        var core = try core()
        let id = AttemptID(1)
        let handle = ScriptedExchange(TransportRequest("GET", "https://example.com"), Deaf())
        _ = core.begin(.attempt(id))
        _ = core.started(.attempt(id), handle)
        let chunk = [UInt8](repeating: 0, count: DriverCore.roundBytes)
        let count = DriverCore.pauseBytes / chunk.count
        for _ in 0..<count { #expect(core.receive(chunk, of: id) == .more) }
        #expect(core.receive(chunk, of: id) == .pause)
        var rounds = 0
        var resumed: [any TransportHandle] = []
        while resumed.isEmpty, let round = core.nextRound(at: DriverClock().now) {
            #expect(round.bytes == chunk.count)
            resumed = core.finishRound(round.bytes)
            rounds += 1
        }
        #expect(rounds == count / 2 + 1)
        #expect(resumed.count == 1)
    }

    @Test func `news go to the object that followed the session when they were decided`() throws {
        var core = try core()
        let room = try #require(SessionName("room"))
        let now = DriverClock().now
        let following = Following(demand: .init(states: true))
        let (before, after) = (NoSink(), NoSink())
        core.sessions[room] = FollowedSession(sink: before)
        _ = core.decide(.follow(room, following), at: now)
        _ = core.decide(.send(room, [Array("1".utf8)]), at: now)
        core.sessions[room] = nil
        _ = core.decide(.leave(room), at: now)
        core.sessions[room] = FollowedSession(sink: after)
        _ = core.decide(.follow(room, following), at: now)
        var sinks: [NoSink?] = []
        for decision in core.nextRound(at: now)?.outputs ?? [] {
            guard case .deliver = decision.output else { continue }
            sinks.append(decision.sink as? NoSink)
        }
        let first = sinks.prefix { $0 === before }
        #expect(!first.isEmpty)
        #expect(sinks.last.flatMap(\.self) === after)
        #expect(!sinks.dropFirst(first.count).contains { $0 === before })
    }

    @Test func `a request that ends within the call that starts it leaves nothing`() throws {
        var core = try core()
        #expect(core.begin(.call(1)) == true)
        core.ended(.call(1))
        let handle = ScriptedExchange(TransportRequest("GET", ""), Deaf())
        #expect(core.started(.call(1), handle) == false)
        #expect(core.handles.isEmpty)
    }

    @Test func `a request that starts while the client begins to close is cancelled`() throws {
        var core = try core()
        #expect(core.begin(.call(1)) == true)
        core.isClosing = true
        let handle = ScriptedExchange(TransportRequest("GET", ""), Deaf())
        #expect(core.started(.call(1), handle) == true)
        #expect(core.begin(.call(2)) == false)
        #expect(!core.isIdle)
        core.ended(.call(1))
        #expect(core.isIdle)
    }

    @Test func `the version follows the states after the position for which it is known`() throws {
        func position(_ number: UInt64) -> StreamPosition { StreamPosition("aaaaaaaa", number) }
        var count = VersionCount()
        count.count(position(1))
        #expect(count.version == nil)
        count.count(position(3))
        count.count(position(4))
        count.learn(10, at: position(3))
        #expect(count.version == 11)
        count.learn(9, at: position(1))
        #expect(count.version == 11)
        count.learn(20, at: position(9))
        count.count(position(8))
        count.count(position(9))
        #expect(count.version == 20)
        count.count(position(10))
        #expect(count.version == 21)
        count.count(StreamPosition("bbbbbbbb", 11))
        #expect(count.version == nil)
    }

    @Test func `a version that no server counts to is none`() throws {
        var count = VersionCount()
        count.learn(.max, at: StreamPosition("aaaaaaaa", 1))
        #expect(count.version == .max)
        count.count(StreamPosition("aaaaaaaa", 2))
        #expect(count.version == nil)
        count.learn(.max, at: StreamPosition("aaaaaaaa", 1))
        #expect(count.version == nil)
        count.learn(7, at: StreamPosition("aaaaaaaa", 2))
        #expect(count.version == 7)
    }
}

private final class NoSink: SessionSink {
    let hasReaders = false

    func receive(_ deliveries: [Delivery]) async {}
    func finish() async {}
}

private final class Deaf: TransportReceiver {
    func head(_ status: Int, _ fields: [TransportField]) {}
    func bytes(_ chunk: [UInt8]) -> TransportDemand { .more }
    func ended(_ failure: TransportFailure?) {}
}
