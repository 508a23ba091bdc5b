import TestRandomness
import Testing

@testable import ClientMachine

@Suite("vectors, outboxes and plans", .timeLimit(.minutes(60)))
struct BookkeepingTests {
    @Test(arguments: [
        "aaaaaaaa.0", "aaaaaaaa.18446744073709551615", "a0b1c2d3.7.1", "a0b1c2d3.7.4294967295",
    ])
    func `a position has one text`(text: String) {
        #expect(StreamPosition(text)?.text == text)
    }

    @Test(arguments: [
        "", ".", "aaaaaaaa", "aaaaaaaa.", "aaaaaaaa.x", "aaaaaaaa.01", "aaaaaaaa.-1", "aaaaaaaa.+1",
        "aaaaaaa.1", "aaaaaaaaa.1", "AAAAAAAA.1", "aaaaaaaa.1.0", "aaaaaaaa.1.", "aaaaaaaa.1.2.3",
        "aaaaaaaa.18446744073709551616", "aaaaaaaa.1.4294967296", " aaaaaaaa.1", "aaaaaaaa.1 ",
        "äaaaaaa.1",
    ])
    func `a text of another form is no position`(text: String) {
        #expect(StreamPosition(text) == nil)
    }

    @Test func `a table of links has each link until it is removed`() throws {
        var (links, model) = (LinkTable(), Set<SessionName>())
        var generator = SeededGenerator(seed: 1)
        let names = try (0..<20).map { try #require(SessionName("session-\($0)")) }
        for _ in 0..<2_000 {
            let name = try #require(names.randomElement(using: &generator))
            if Bool.random(using: &generator) {
                if links[name] == nil { links[name] = SessionLink(name: name) }
                links[name]?.isUnclear = true
                model.insert(name)
            } else {
                links[name] = nil
                model.remove(name)
            }
            links[name]?.isSaved = false
            #expect(Set(links.keys) == model)
            #expect(Set(links.values.map(\.name)) == model)
            #expect(names.allSatisfy { (links[$0]?.name == $0) == model.contains($0) })
        }
    }

    @Test func `a set of sessions has each until it is removed`() throws {
        var (set, model) = (SessionSet(), Set<SessionName>())
        var generator = SeededGenerator(seed: 1)
        let names = try (0..<5).map { try #require(SessionName("session-\($0)")) }
        for _ in 0..<2_000 {
            let name = try #require(names.randomElement(using: &generator))
            switch Int.random(in: 0..<40, using: &generator) {
            case 0:
                set.removeAll()
                model = []
            case 1..<10:
                set.formUnion([name, names[0]])
                model.formUnion([name, names[0]])
            case 10..<20:
                set.insert(name)
                model.insert(name)
            default:
                set.remove(name)
                model.remove(name)
            }
            #expect(set.sorted == model.sorted { $0.text < $1.text })
            #expect(set.isEmpty == model.isEmpty)
        }
    }

    @Test func `a table of streams has each in its order until it is removed`() {
        var (streams, model) = (StreamTable(), [StreamID]())
        var generator = SeededGenerator(seed: 1)
        let shape = StreamShape(sessions: [room], demand: .nothing, start: .present)
        for _ in 0..<500 {
            if model.count < 2 || Int.random(in: 0..<3, using: &generator) == 0 {
                model.append(streams.add(shape, within: ClientLimits()))
            } else if let id = model.randomElement(using: &generator) {
                streams[id] = nil
                model.removeAll { $0 == id }
                streams[id] = nil
                streams[id]?.isWanted = false
            }
            if let id = model.randomElement(using: &generator) { streams[id]?.isWanted = false }
            #expect(streams.all.map(\.id) == model)
            #expect(model.allSatisfy { streams[$0]?.id == $0 })
            #expect(streams[StreamID(number: 1_000)] == nil)
        }
    }

    @Test func `a table of attempts knows what is due first`() throws {
        var table = AttemptTable(asksForCredentials: false, limits: ClientLimits())
        var generator = SeededGenerator(seed: 1)
        let purposes = try (0..<4).map { Purpose.post(try #require(SessionName("s-\($0)"))) }
        var running: [AttemptID] = []
        for second in 0..<2_000 {
            let now = Duration.seconds(second)
            let purpose = try #require(purposes.randomElement(using: &generator))
            switch Int.random(in: 0..<8, using: &generator) {
            case 0, 1:
                if case .launch(let id, _)? = table.begin(
                    purpose, .init(wait: .seconds(9)), at: now)
                {
                    running.append(id)
                }
            case 2: if let id = running.randomElement(using: &generator) { _ = table.end(id) }
            case 3: table.retry(purpose, why: "", at: now, using: &generator)
            case 4: _ = table.remove(purpose)
            case 5: if let id = running.last { table.extend(id, to: now + .seconds(30)) }
            case 6: _ = table.hurry(at: now)
            default: table.wake(at: now)
            }
            #expect(table.findEarliest() == purposes.compactMap { table.phase(of: $0).due }.min())
        }
    }

    @Test func `a vector has an entry for each session`() {
        #expect(VectorEntry.vector([.position(at(4)), .nothing, .over]) == "aaaaaaaa.4,-,x")
    }

    @Test(arguments: ["", "a/b", "a.b", "a,b", "a b", "ä", String(repeating: "a", count: 129)])
    func `a text of another form is no session`(text: String) {
        #expect(SessionName(text) == nil)
    }

    @Test func `replaying the changes of any life gives the same outbox`() throws {
        for seed in 0..<200 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var client = try Client(seed: seed)
            var under: [AttemptID] = []
            for step in 0..<60 {
                let outputs = try Self.step(step, &client, &under, &generator)
                under += outputs.requests.map(\.id)
                let outbox = client.machine.outbox
                #expect(Outbox(replaying: client.saved) == outbox, "seed \(seed)")
                #expect(Outbox(replaying: outbox.changes) == outbox, "seed \(seed)")
            }
        }
    }

    @Test func `a send is in one place, also if its end comes with it`() throws {
        let entry = OutboxEntry(ticket: Ticket(1), session: room, actions: [[0x31]])
        let end = Settlement(ticket: Ticket(1), session: room, outcome: .inDoubt, entry: entry)
        let outbox = try #require(Outbox(replaying: [.queued(entry), .settled(end)]))
        #expect(outbox.lanes.isEmpty)
        #expect(outbox.actionCount == 1)
        #expect(outbox.byteCount == 1)
        #expect(outbox == Outbox(replaying: [.next(Ticket(2)), .settled(end)]))
    }

    private static func step(
        _ step: Int, _ client: inout Client, _ under: inout [AttemptID],
        _ generator: inout SeededGenerator
    ) throws -> [Output] {
        let session = Bool.random(using: &generator) ? room : other
        let id =
            under.isEmpty ? nil : under.remove(at: Int.random(in: under.indices, using: &generator))
        switch Int.random(in: 0..<8, using: &generator) {
        case 0..<4:
            if let id { under.append(id) }
            return client.send("\(step)", to: session)
        case 4:
            if let id { under.append(id) }
            let ticket = Ticket(UInt64.random(in: 0...UInt64(step), using: &generator))
            _ = client.receive(.seen(ticket))
            return client.receive(.discard(ticket, session))
        case 5: return try id.map { try client.answer($0, 200, receipt(1)) } ?? []
        case 6: return try id.map { try client.problem($0, 422, "not_an_action") } ?? []
        default:
            _ = id.map { client.receive(.requestFailed($0, "cut")) }
            return client.wait(.seconds(Int.random(in: 0...3000, using: &generator)))
        }
    }

    @Test func `changes that do not follow from each other are damage`() throws {
        let entry = OutboxEntry(ticket: Ticket(1), session: room, actions: [[0x31]])
        let key = try #require(RequestKey("k"))
        let second = try #require(RequestKey("l"))
        let queued = OutboxChange.queued(entry)
        let sent = OutboxChange.sent(room, key, body: [0x31], count: 1, date: 0)
        for damaged in [
            [queued, queued], [sent], [queued, sent, sent], [queued, .done(room, key)],
            [queued, sent, .done(room, second)], [queued, sent, .discarded(Ticket(1), room)],
            [.seen(Ticket(1))], [queued, sent, .withdrawn(other, key)],
            [queued, .sent(room, key, body: [], count: 2, date: 0)],
            [queued, .sent(room, key, body: [], count: 0, date: 0)],
            [.queued(OutboxEntry(ticket: Ticket(1), session: room, actions: []))],
            [queued, .settled(Settlement(ticket: Ticket(2), session: room, outcome: .inDoubt))],
            [queued, .next(Ticket(1))],
            [
                .settled(
                    Settlement(ticket: Ticket(1), session: room, outcome: .inDoubt, entry: entry))
            ],
        ] {
            #expect(Outbox(replaying: damaged.dropLast()) != nil)
            #expect(Outbox(replaying: damaged) == nil)
        }
    }

    @Test func `tickets are never used again`() throws {
        var client = try Client()
        let request = try #require(client.send("1").requests.first)
        _ = try client.answer(request.id, 200, receipt(1))
        var next = try Client(saved: client.saved)
        #expect(next.send("2").deliveries.first == .accepted(Ticket(2)))
    }
}
