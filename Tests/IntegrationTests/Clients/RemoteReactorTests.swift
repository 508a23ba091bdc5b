import ReactorClient
import Reactors
import SampleReactors
import Testing

/// A part of a program that does not know where the session runs.
private func say(
    _ text: String, in room: some ReactorStore<Chat>
) async throws -> (accepted: Bool, newest: String?, heard: [String?]) {
    var notes = ElementReader(await room.pulse(\.$newest))
    let accepted = try await room.send(.say(author: "ada", text: text)).accepted
    let newest = await room.currentState.newest?.text
    return (accepted, newest, try await notes.next(2).map { $0?.text })
}

/// Reads some elements of a stream.
private struct ElementReader<Element: Sendable> {
    private var iterator: ReactorStream<Element>.Iterator

    init(_ stream: ReactorStream<Element>) { iterator = stream.makeAsyncIterator() }

    mutating func next(_ count: Int) async throws -> [Element] {
        var elements: [Element] = []
        while elements.count < count, let element = try await iterator.next() {
            elements.append(element)
        }
        return elements
    }
}

private func kind(_ event: RemoteLogEvent?) -> String? {
    if case .entry(let entry)? = event { entry.kind } else { nil }
}

private func position(_ event: RemoteLogEvent) -> Position? {
    if case .entry(let entry) = event { entry.position } else { nil }
}

/// The versions of the mutations.
private func mutations(_ events: [RemoteLogEvent]) -> [UInt64] {
    events.compactMap { event in
        guard case .entry(let entry) = event, entry.kind == "mutation" else { return nil }
        return entry.version
    }
}

@Suite("The Swift client uses a session as if it ran in its process", .timeLimit(.minutes(60)))
struct RemoteReactorTests {
    @Test func `one function runs on a host and on a server`() async throws {
        try await withServer { server in
            let client = try ReactorClient(server.address)
            let room = try await client.session("room", of: "chat", predicting: Chat())
            let remote = try await say("Hi", in: room)
            let local = try await say("Hi", in: ReactorHost(Chat()))
            #expect(remote == local)
            #expect(remote.heard == [nil, "Hi"])
            #expect(await room.version == 1)
            await client.close()
        }
    }

    @Test func `two clients see each other's actions, pulses and activities once`() async throws {
        try await withServer { server in
            let (ada, bob) = (try ReactorClient(server.address), try ReactorClient(server.address))
            let hers = try await ada.session("room", of: "chat", predicting: Chat())
            let his: RemoteReactor<Chat> = try await bob.join("room")
            var heard = ElementReader(await his.pulse(\.$newest))
            var typing = ElementReader(await his.activities())
            try await hers.send(.typing(author: "ada"))
            for number in 1...20 {
                try hers.submit(.say(author: "ada", text: "\(number)"))
                #expect(await hers.currentState.count == number)
            }
            try await his.send(.say(author: "bob", text: "done"))
            try await hers.send(.say(author: "ada", text: "last"))
            let texts = try await heard.next(23).map { $0?.text }
            #expect(texts.first == .some(nil))
            #expect(texts.filter { $0 != "done" } == [nil] + (1...20).map { "\($0)" } + ["last"])
            guard case .typing("ada")? = try await typing.next(1).first else {
                throw SendFailure.empty
            }
            #expect(await hers.currentState.count == 22)
            #expect(await hers.confirmedState.messages.map(\.number) == Array(1...22))
            await ada.close()
            await bob.close()
        }
    }

    @Test func `an action that the reactor or the server refuses leaves nothing`() async throws {
        try await withServer { server in
            let client = try ReactorClient(server.address)
            let room = try await client.session("room", of: "chat", predicting: Chat())
            #expect(try await room.send(.say(author: "ada", text: " ")).accepted == false)
            #expect(await room.currentState.count == 0)
            let alerts = try await client.session(
                "alerts", of: "alerts", actions: Chat.Action.self, state: Alerts.State.self)
            let failure = await #expect(throws: SendFailure.self) {
                try await alerts.send(.typing(author: "ada"))
            }
            guard case .refused(let problem) = failure else { throw failure ?? .empty }
            #expect(problem.code == "not_an_action")
            // The other sends of the same batch are applied.
            try alerts.submit(.typing(author: "ada"))
            try room.submit(.say(author: "ada", text: "Hi"))
            try await room.send(.say(author: "ada", text: "Ho"))
            #expect(await room.currentState.messages.map(\.text) == ["Hi", "Ho"])
            let other = await #expect(throws: ClientFailure.self) {
                let _: RemoteReactor<Alerts> = try await client.session("room-2", of: "nobody")
            }
            guard case .refused(let unknown) = other else { throw other ?? .closed }
            #expect(unknown.code == "unknown_reactor")
            await client.close()
        }
    }

    @Test func `a Cycler is followed by its shapes`() async throws {
        try await withServer { server in
            let client = try ReactorClient(server.address)
            let counter = try await client.session(
                "counter", of: "counter", actions: Counter.Action.self,
                state: Counter.State.self, activities: Counter.Activity.self)
            var activities = ElementReader(await counter.activities())
            try await counter.send(.increment(number: 11))
            #expect(await counter.currentState.count == 11)
            #expect(try await activities.next(1).count == 1)
            await client.close()
        }
    }

    @Test func `a condition, a past state, a fork and the lists`() async throws {
        try await withServer { server in
            let client = try ReactorClient(server.address)
            let room = try await client.session("room-1", of: "chat", predicting: Chat())
            try await room.send(.say(author: "ada", text: "a"))
            let position = try #require(await room.position)
            try await room.send(.say(author: "ada", text: "b"))
            let failure = await #expect(throws: SendFailure.self) {
                try await room.send([.say(author: "ada", text: "c")], if: .position(position))
            }
            guard case .positionChanged(let now) = failure else { throw failure ?? .empty }
            #expect(now.reaches(position) && !position.reaches(now))
            let receipt = try await room.send(
                [.say(author: "ada", text: "c")], if: .position(now), settled: .seconds(5))
            #expect(receipt.version == 3)
            #expect(try await room.state(at: 1).count == 1)
            let copy = try await room.fork(at: 1, predicting: Chat())
            try await copy.send(.say(author: "ada", text: "other"))
            #expect(await copy.currentState.messages.map(\.text) == ["a", "other"])
            #expect(await room.currentState.messages.map(\.text) == ["a", "b", "c"])
            var ids: [String] = []
            for try await page in client.sessions(prefix: "room-") { ids += page.map(\.id) }
            #expect(ids == ["room-1"])
            #expect(try await client.reactors().map(\.name).contains("chat"))
            await client.close()
        }
    }

    @Test func `a deleted session ends its streams, and a left one can be followed again`()
        async throws
    {
        try await withServer { server in
            let client = try ReactorClient(server.address)
            let room = try await client.session("room", of: "chat", predicting: Chat())
            var counts = ElementReader(await room.state(\.count))
            try await room.send(.say(author: "ada", text: "a"))
            await room.leave()
            #expect(try await counts.next(3) == [0, 1])
            let again = try await client.session("room", of: "chat", predicting: Chat())
            #expect(await again.currentState.count == 1)
            var events = ElementReader(await again.events())
            try await again.delete()
            guard case .ended(.deleted)? = try await events.next(1).first else {
                throw SendFailure.empty
            }
            #expect(throws: SendFailure.ended(.deleted)) {
                try again.submit(.say(author: "ada", text: "b"))
            }
            await client.close()
        }
    }
}

@Suite("The Swift client loses nothing when its server ends", .timeLimit(.minutes(60)))
struct ClientDurabilityTests {
    @Test func `what is sent while the server is away is applied once, in order, and heard once`()
        async throws
    {
        try await withJournal { journal in
            let first = try await journal.start()
            let client = try ReactorClient(first.address)
            let room = try await client.session("room", of: "chat", predicting: Chat())
            var heard = ElementReader(await room.pulse(\.$newest))
            for number in 1...5 { try room.submit(.say(author: "ada", text: "\(number)")) }
            // At some moment of these five.
            try await first.murder()
            for number in 6...10 { try room.submit(.say(author: "ada", text: "\(number)")) }
            #expect(await room.currentState.count == 10)
            #expect(room.pending >= 5)
            let second = try await journal.start("--port", "\(first.port)")
            client.wake()
            try await room.send(.say(author: "ada", text: "11"))
            #expect(room.pending == 0)
            let all = (1...11).map { "\($0)" }
            #expect(try await heard.next(12).map { $0?.text } == [nil] + all)
            #expect(await room.confirmedState.messages.map(\.text) == all)
            #expect(try await room.state(at: 11).count == 11)
            withExtendedLifetime(second) {}
            await client.close()
        }
    }

    @Test func `the action log is read once and in order over the end of the server`() async throws
    {
        try await withJournal { journal in
            let first = try await journal.start()
            let client = try ReactorClient(first.address)
            let room = try await client.session("room", of: "chat", predicting: Chat())
            // A reader that is behind from the beginning, and one that keeps up.
            var slow = ElementReader(try await room.log(buffer: 3))
            var log = ElementReader(try await room.log())
            for number in 1...10 { try await room.send(.say(author: "ada", text: "\(number)")) }
            let before = try await log.next(20)
            try await first.murder()
            let second = try await journal.start("--port", "\(first.port)")
            for number in 11...20 { try room.submit(.say(author: "ada", text: "\(number)")) }
            client.wake()
            try await room.send(.typing(author: "ada"))
            let all = before + (try await log.next(22))
            #expect(mutations(all) == Array(1...20))
            #expect(all.count { kind($0) == "action.received" } == 21)
            #expect(kind(all.last) == "activity")
            let late = try await slow.next(42)
            #expect(late == all)
            var rest = ElementReader(try await room.log(from: .version(18)))
            let positions = try await rest.next(6).map(position)
            #expect(positions == all.suffix(6).map(position))
            try await room.delete()
            #expect(try await log.next(2) == [.ended(.deleted)])
            withExtendedLifetime(second) {}
            await client.close()
        }
    }

    @Test func `a program that starts without its server shows what it knew, and continues there`()
        async throws
    {
        try await withJournal { journal in
            let outbox = ClientConfiguration(outbox: .file(journal.path + ".outbox"))
            let first = try await journal.start()
            do {
                let client = try ReactorClient(first.address, outbox)
                let room = try await client.session("room", of: "chat", predicting: Chat())
                try await room.send(.say(author: "ada", text: "1"))
                try await first.murder()
                try room.submit(.say(author: "ada", text: "2"))
                await client.close()
            }
            let client = try ReactorClient(first.address, outbox)
            let room = try await client.session(
                "room", of: "chat", predicting: Chat(), from: .saved)
            #expect(await room.currentState.messages.map(\.text) == ["1", "2"])
            #expect(await room.confirmedState.messages.map(\.text) == ["1"])
            #expect(room.pending == 1)
            var heard = ElementReader(await room.pulse(\.$newest))
            var events = ElementReader(await room.events())
            try room.submit(.say(author: "ada", text: "3"))
            let second = try await journal.start("--port", "\(first.port)")
            client.wake()
            try await room.send(.say(author: "ada", text: "4"))
            #expect(try await heard.next(4).map { $0?.text } == ["1", "2", "3", "4"])
            // The state is an event of its own, after that of the pulse.
            while await room.confirmedState.messages.count < 4 { _ = try await events.next(1) }
            #expect(await room.confirmedState.messages.map(\.text) == ["1", "2", "3", "4"])
            withExtendedLifetime(second) {}
            await client.close()
        }
    }

    @Test func `a server that has forgotten the session gets it again, with what is not done`()
        async throws
    {
        try await Turnstile.servers.pass {
            let first = try await ServerProcess.start(.server, ["--journal", "memory"])
            let client = try ReactorClient(first.address)
            let room = try await client.session("room", of: "chat", predicting: Chat())
            try await room.send(.say(author: "ada", text: "lost"))
            try await first.murder()
            let ticket = try room.submit(.say(author: "ada", text: "kept"))
            #expect(await room.currentState.messages.map(\.text) == ["lost", "kept"])
            let second = try await ServerProcess.start(
                .server, ["--journal", "memory", "--port", "\(first.port)"])
            client.wake()
            _ = try await ticket.receipt()
            var texts = ElementReader(await room.state(\.messages))
            var newest: [String] = []
            while newest != ["kept"] {
                newest = try #require(try await texts.next(1).first).map(\.text)
            }
            withExtendedLifetime(second) {}
            await client.close()
        }
    }
}
