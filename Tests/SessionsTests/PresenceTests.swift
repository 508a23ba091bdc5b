import Reactors
import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("ADR-0090 — readers see who is present", .timeLimit(.minutes(60)))
struct PresenceTests {
    private func room(replicasFrom: Int = .max) throws -> (rig: Rig, session: Session) {
        let rig = Rig(
            answers: true, registrations: [try .ledger()], replicasFrom: replicasFrom)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        return (rig, session)
    }

    /// Opens a stream, in a round of its own.
    @discardableResult
    private func join(
        _ rig: Rig, as name: String? = nil, on: Bool = true, _ selection: Selection = .allPulses,
        _ start: SubscriptionRequest.Start = .snapshot, capacity: Int? = nil
    ) throws -> UInt64 {
        let reader = rig.subscribe(
            try rig.session("s"), selection, start, capacity: capacity,
            presence: ReaderPresence(name: name.map { ExactText($0) }, getsEvents: on))
        rig.settleAll()
        return reader
    }

    private func leave(_ rig: Rig, _ readers: UInt64...) {
        for reader in readers { rig.output.disconnect(reader) }
        rig.settleAll()
    }

    private func pass(_ rig: Rig, _ milliseconds: Int64) {
        rig.clock.uptime += milliseconds
        rig.settleAll()
    }

    /// The data of a reader's `presence` events.
    private func seen(_ rig: Rig, _ reader: UInt64) -> [String] {
        rig.transcript(reader).events.filter { $0.name == "presence" }.map(\.data)
    }

    // MARK: Events

    @Test(arguments: [true, false])
    func `a stream begins with the readers at that moment`(isChunked: Bool) throws {
        let (rig, _) = try room()
        var selection = Selection.allPulses
        selection.isChunked = isChunked
        let ada = try join(rig, as: "ada", selection)
        try join(rig, as: "grace", on: false)
        rig.subscribe(try rig.session("s"))
        let late = try join(rig, as: "bob", selection)
        #expect(seen(rig, ada) == [#"{"present":["ada"],"others":0}"#])
        #expect(seen(rig, late) == [#"{"present":["ada","bob","grace"],"others":1}"#])
        #expect(rig.transcript(late).events.map(\.name) == ["snapshot", "presence"])
    }

    @Test func `changes within a second are one event`() throws {
        let (rig, _) = try room()
        let ada = try join(rig, as: "ada")
        pass(rig, 1_000)
        try join(rig, as: "bob")
        try join(rig, as: "cy")
        #expect(seen(rig, ada).dropFirst() == [#"{"present":["ada","bob"],"others":0}"#])
        pass(rig, 999)
        try join(rig)
        #expect(seen(rig, ada).count == 2)
        pass(rig, 1)
        #expect(seen(rig, ada).dropFirst(2) == [#"{"present":["ada","bob","cy"],"others":1}"#])
        pass(rig, 5_000)
        #expect(seen(rig, ada).count == 3, "without a change there is no event")
    }

    @Test func `a name stays for 10 seconds, so a reload is not seen`() throws {
        let (rig, session) = try room()
        let ada = try join(rig, as: "ada")
        let bob = try join(rig, as: "bob")
        pass(rig, 1_000)
        let before = seen(rig, ada)
        leave(rig, bob)
        pass(rig, 9_999)
        let again = try join(rig, as: "bob")
        pass(rig, 20_000)
        #expect(seen(rig, ada) == before)
        leave(rig, again)
        pass(rig, 9_999)
        #expect(seen(rig, ada) == before)
        #expect(session.feed.present.names == ["ada", "bob"])
        pass(rig, 1)
        #expect(seen(rig, ada).dropFirst(before.count) == [#"{"present":["ada"],"others":0}"#])
    }

    @Test func `the grace begins anew each time that a reader leaves`() throws {
        let (rig, session) = try room()
        let bob = try join(rig, as: "bob", on: false)
        leave(rig, bob)
        pass(rig, 6_000)
        leave(rig, try join(rig, as: "bob", on: false))
        pass(rig, 9_999)
        #expect(session.feed.present.names == ["bob"])
        pass(rig, 1)
        #expect(session.feed.present.count == 0)
    }

    @Test func `a name is present as long as one of its streams is open`() throws {
        let (rig, session) = try room()
        try join(rig, as: "ada")
        let (one, two) = (try join(rig, as: "bob"), try join(rig, as: "bob", on: false))
        leave(rig, one)
        pass(rig, 30_000)
        #expect(session.feed.present == PresentReaders(["ada", "bob"], others: 0))
        leave(rig, two)
        pass(rig, 10_000)
        #expect(session.feed.present == PresentReaders(["ada"], others: 0))
    }

    @Test func `readers without a name have no grace`() throws {
        let (rig, session) = try room()
        let ada = try join(rig, as: "ada")
        let other = rig.subscribe(session)
        pass(rig, 1_000)
        leave(rig, other)
        pass(rig, 1_000)
        #expect(
            seen(rig, ada).suffix(2) == [
                #"{"present":["ada"],"others":1}"#, #"{"present":["ada"],"others":0}"#,
            ])
    }

    @Test func `only readers that ask get events, and they have no id`() throws {
        let (rig, session) = try room()
        let silent = try join(rig, as: "ada", on: false)
        let plain = rig.subscribe(session)
        let asking = try join(rig, as: "bob")
        try rig.act(Post.set(1), on: session)
        pass(rig, 1_000)
        #expect(seen(rig, silent) == [])
        #expect(rig.output.bytes(of: silent) == rig.output.bytes(of: plain))
        let text = String(decoding: rig.output.bytes(of: asking), as: UTF8.self)
        #expect(text.contains("event: presence\ndata: {"))
        #expect(rig.transcript(asking).lastEventID == rig.transcript(plain).lastEventID)
    }

    @Test func `names are bytes`() throws {
        let (rig, session) = try room()
        try join(rig, as: "\u{e9}")
        try join(rig, as: "e\u{301}")
        #expect(session.feed.present.count == 2)
        let reader = try join(rig, as: "a\"\u{2028}b")
        let data = try #require(seen(rig, reader).last)
        #expect(data == "{\"present\":[\"a\\\"\\u2028b\",\"e\u{301}\",\"\u{e9}\"],\"others\":0}")
    }

    // MARK: Bounds

    @Test func `above 100 names there are counts`() throws {
        let (rig, _) = try room()
        for number in 1...99 { try join(rig, as: "\(number)", on: false) }
        let last = try join(rig, as: "100")
        #expect(seen(rig, last).first?.hasPrefix(#"{"present":["1","10","100","#) == true)
        try join(rig, as: "101")
        pass(rig, 1_000)
        #expect(seen(rig, last).last == #"{"count":101,"others":0}"#)
    }

    @Test func `a name without room counts as one of the others until it leaves`() throws {
        let (rig, session) = try room()
        let limit = SessionPresence.nameLimit
        for number in 0..<limit {
            let reader = rig.subscribe(
                session, presence: ReaderPresence(name: ExactText("\(number)"), getsEvents: false))
            rig.output.disconnect(reader)
        }
        let late = try join(rig, as: "late", on: false)
        #expect(
            session.feed.present
                == PresentReaders((0..<limit).map { ExactText("\($0)") }, others: 1))
        leave(rig, late)
        pass(rig, 10_000)
        while session.feed.present.count > 0 { rig.settleAll() }
        #expect(session.feed.present == PresentReaders([], others: 0))
        #expect(session.feed.loop.presence.next == nil)
    }

    @Test func `a pass writes to few readers`() throws {
        let (rig, session) = try room()
        let readers = (0..<200).map { _ in
            rig.subscribe(session, presence: ReaderPresence(name: nil, getsEvents: true))
        }
        rig.table.commit()
        // The first readers lack the later ones.
        var written: [Int] = []
        repeat {
            let more = rig.table.deliver()
            written.append(readers.count { seen(rig, $0).last?.contains(":200}") ?? false })
            if !more { break }
        } while written.count < 100
        #expect(written.first == 64)
        #expect(written.last == 200)
    }

    @Test func `a change during the passes reaches those that were written to before it`() throws {
        let (rig, session) = try room()
        let readers = (0..<200).map { _ in
            rig.subscribe(session, presence: ReaderPresence(name: nil, getsEvents: true))
        }
        rig.table.commit()
        #expect(rig.table.deliver())
        rig.clock.uptime += 1_000
        rig.subscribe(session)
        rig.settleAll()
        for reader in readers {
            #expect(seen(rig, reader).last == #"{"present":[],"others":201}"#)
        }
    }

    // MARK: Slow readers

    @Test(arguments: 0...120)
    func `a reader that stalls anywhere gets whole events, and only the newest set`(
        capacity: Int
    ) throws {
        let (rig, session) = try room()
        let slow = try join(rig, as: "slow", capacity: capacity)
        for number in 1...3 {
            try rig.act(Post.set(number), on: session)
            try join(rig, as: "\(number)", on: false)
            pass(rig, 1_000)
        }
        rig.output.setCapacity(nil, of: slow)
        rig.settleAll()
        let all = rig.transcript(slow).events
        #expect(all.filter { $0.name == "a" }.map(\.data) == ["1", "2", "3"])
        #expect(seen(rig, slow).last == #"{"present":["1","2","3","slow"],"others":0}"#)
        #expect(seen(rig, slow).count <= 5)
    }

    @Test func `a reader that resumes gets no earlier set`() throws {
        let (rig, session) = try room()
        let first = try join(rig, as: "ada")
        try rig.act(Post.set(1), on: session)
        try join(rig, as: "bob")
        pass(rig, 1_000)
        try rig.act(Post.set(2), on: session)
        let id = "\(session.generation.text).0"
        let resumed = try join(rig, as: "cy", .allPulses, .after(id))
        #expect(
            rig.lines(resumed) == [
                "a 1 1", "a 2 2", #"presence 2 {"present":["ada","bob","cy"],"others":0}"#,
            ])
        #expect(seen(rig, first).count == 2)
    }

    // MARK: Other loops

    @Test func `readers on another loop keep their names and get the events`() throws {
        let (rig, session) = try room(replicasFrom: 1)
        let readers = try (0..<8).map { try join(rig, as: "\($0)") }
        try rig.act(Post.set(1), on: session)
        rig.settleAll()
        #expect(try #require(rig.second).moves > 2)
        pass(rig, 1_000)
        try join(rig, as: "last", on: false)
        pass(rig, 1_000)
        for reader in readers {
            #expect(
                seen(rig, reader).last
                    == #"{"present":["0","1","2","3","4","5","6","7","last"],"others":0}"#)
        }
        let away = try readers.filter { reader in
            let stream = try #require(rig.output.subscribers[reader]).stream
            return !session.streams.all.contains { $0 === stream }
        }
        let gone = try #require(away.first)
        let name = try #require(readers.firstIndex(of: gone))
        leave(rig, gone)
        #expect(session.feed.present.count == 9, "for the time of the grace")
        pass(rig, 10_000)
        #expect(session.feed.present.count == 8)
        pass(rig, 1_000)
        for reader in readers where reader != gone {
            #expect(try !#require(seen(rig, reader).last).contains("\"\(name)\""))
        }
    }

    @Test func `when all readers on another loop leave, nobody is present`() throws {
        let (rig, session) = try room(replicasFrom: 0)
        var readers = try (0..<4).map { try join(rig, as: "\($0)") }
        readers += (0..<4).map { _ in rig.subscribe(session) }
        try rig.act(Post.set(1), on: session)
        rig.settleAll()
        #expect(session.feed.present == PresentReaders(["0", "1", "2", "3"], others: 4))
        for reader in readers { leave(rig, reader) }
        pass(rig, 10_000)
        #expect(session.feed.present == PresentReaders([], others: 0))
    }

    @Test func `a reader without a name leaves from another loop`() throws {
        let (rig, session) = try room(replicasFrom: 1)
        let others = (0..<6).map { _ in rig.subscribe(session) }
        try rig.act(Post.set(1), on: session)
        rig.settleAll()
        #expect(try #require(rig.second).moves > 2)
        let ada = try join(rig, as: "ada")
        for count in (0..<6).reversed() {
            leave(rig, others[count])
            pass(rig, 1_000)
            #expect(seen(rig, ada).last == "{\"present\":[\"ada\"],\"others\":\(count)}")
        }
    }

    // An event that the replica was sent before does not come again.
    @Test func `a reader that lacks an event does not move before it has the event`() throws {
        let (rig, session) = try room(replicasFrom: 1)
        let readers = (0..<200).map { _ in
            rig.subscribe(session, presence: ReaderPresence(name: nil, getsEvents: true))
        }
        // One pass writes to 64 of them.
        rig.table.commit()
        #expect(rig.table.deliver())
        try #require(rig.second).collect(from: rig.table)
        rig.settleAll()
        #expect(try #require(rig.second).moves > 50)
        for reader in readers {
            #expect(seen(rig, reader).last == #"{"present":[],"others":200}"#)
        }
    }

    @Test func `readers stay present in the next generation of their session`() throws {
        let (rig, session) = try room()
        for number in 1...3 { try rig.act(Post.set(number), on: session) }
        let ada = try join(rig, as: "ada")
        rig.journal.loseHistory(2)
        rig.drainInbox()
        rig.settleAll()
        let next = try rig.session("s")
        #expect(next.generation != session.generation)
        try join(rig, as: "bob", on: false)
        pass(rig, 1_000)
        #expect(seen(rig, ada).last == #"{"present":["ada","bob"],"others":0}"#)
        leave(rig, ada)
        pass(rig, 10_000)
        #expect(next.feed.present == PresentReaders(["bob"], others: 0))
    }

    // MARK: Several sessions

    @Test func `on a stream of several sessions the event has the session's name`() throws {
        let (rig, _) = try room()
        try rig.create("t", .ledger())
        let joint = JointReader(
            ["s", "t"], .allPulses, presence: ReaderPresence(name: "ada", getsEvents: true))
        let connection = try #require(joint.connect(rig))
        rig.drainInbox()
        rig.settleAll()
        rig.drainInbox()
        try join(rig, as: "bob")
        pass(rig, 1_000)
        rig.drainInbox()
        let blocks = connection.blocks.filter { $0.name?.hasSuffix("/presence") ?? false }
        #expect(blocks.allSatisfy { $0.id == nil })
        #expect(
            blocks.filter { $0.session == "t" }.map(\.data) == [
                #"{"present":["ada"],"others":0}"#
            ])
        #expect(
            blocks.filter { $0.session == "s" }.map(\.data) == [
                #"{"present":["ada"],"others":0}"#, #"{"present":["ada","bob"],"others":0}"#,
            ])
        _ = joint.readers(rig) { Issue.record("\($0)") }
    }

    // MARK: The source of a reactor

    private struct Lobby: Reactor {
        enum Action: TaggedCodable, Sendable { case set(names: [String]) }
        struct State: Codable, Sendable { @Pulse var names: [String] = [] }
        let initialState = State()

        var sources: [Source] { [.mutations(presence: \.present) { .set(names: $0) }] }

        func reduce(state: inout State, mutation: Action) {
            switch mutation {
            case .set(let names): state.names = names
            }
        }
    }

    @Test func `a reactor gets the names as mutations, in the journal`() async throws {
        let rig = Rig(answers: true, registrations: [try .of("lobby") { Lobby() }])
        let session = try rig.create("s", .of("lobby") { Lobby() })
        rig.settleAll()
        #expect(session.position.number == 0, "a new session has no mutation")
        let ada = try join(rig, as: "ada", on: false)
        rig.subscribe(session)
        await rig.work { session.position.number >= 1 }
        #expect(rig.lines(ada).last == #"names 1 ["ada"]"#)
        pass(rig, 1_000)
        leave(rig, ada)
        pass(rig, 10_000)
        await rig.work { session.position.number >= 2 }
        let records = rig.journal.all.filter { $0.kind == .mutation }
        #expect(records.count == 2, "others are no part of it")
    }

    @Test func `a session that wakes has the present names`() async throws {
        let first = Rig(answers: true, registrations: [try .of("lobby") { Lobby() }])
        let session = try first.create("s", .of("lobby") { Lobby() })
        try join(first, as: "ada", on: false)
        await first.work { session.position.number >= 1 }
        let rig = Rig(
            answers: true, after: first, registrations: [try .of("lobby") { Lobby() }])
        guard case .session(let woken) = try rig.wake("s") else {
            Issue.record("it is not loaded")
            return
        }
        rig.settleAll()
        #expect(woken.position.number == 2)
        let reader = rig.subscribe(woken)
        #expect(rig.lines(reader).last == #"snapshot 2 {"names":[]}"#)
    }

    @Test func `in a host nobody is present`() async throws {
        let host = ReactorHost(Lobby())
        #expect(await host.currentState.names == [])
        #expect(await host.version == 0)
        await host.end()
    }
}
