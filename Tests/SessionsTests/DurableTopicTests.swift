import Cyclers
import Feeds
import Storage
import TestStreams
import Testing

@testable import Reactors
@testable import Sessions

@Suite("Case 95 — each session gets each value of a topic once", .timeLimit(.minutes(60)))
struct DurableTopicTests {
    private struct News: Reactor {
        enum Action: TaggedCodable, Sendable { case read(String) }
        struct State: Codable, Sendable { var read: [String] = [] }

        let initialState = State()
        var sources: [Source] { [.mutations(topic: Topic<String>("news")) { .read($0) }] }

        func reduce(state: inout State, mutation: Action) {
            switch mutation {
            case .read(let text): state.read.append(text)
            }
        }
    }

    /// Reads the topic twice.
    private struct Twice: Reactor {
        typealias Action = Int
        typealias Mutation = Int

        let initialState = 0
        var sources: [Source] {
            let topic = Topic<String>("news")
            return [.mutations(topic: topic) { _ in 1 }, .mutations(topic: topic) { _ in 1 }]
        }

        func reduce(state: inout Int, mutation: Int) { state += mutation }
    }

    /// Counts the values of a topic that remembers.
    private final class Badge: ActionCycler {
        enum Action: TaggedCodable, Sendable { case rename(to: String) }
        struct State: Codable, Sendable { var names: [String] = [] }
        let state: Storage<State> = .init(.init())
        var sources: [Source] {
            [.actions(topic: Topic<String>("name", remembers: true)) { .rename(to: $0) }]
        }

        func receive(_ action: Action) async throws {
            switch action {
            case .rename(let name): commit { $0.names.append(name) }
            }
        }
    }

    private let registrations: [Registration]
    private var news: Registration { registrations[0] }
    private var badge: Registration { registrations[1] }
    private var twice: Registration { registrations[3] }

    init() throws {
        registrations = [
            try .of("news") { News() },
            try Registration(name: "badge", activities: [], examples: [], makeCycler: { Badge() }),
            .topic,
            try .of("twice") { Twice() },
        ]
    }

    private func rig(slow: Bool = false, after last: Rig? = nil, sessions: Int = 1_000) -> Rig {
        let bus = TopicBus()
        for registration in registrations { registration.announceTopics(bus) }
        return Rig(
            slow: slow, answers: true, after: last, registrations: registrations,
            sessions: sessions, topics: bus)
    }

    /// A process that reads its topics.
    private func begin(_ topic: String = "news", after last: Rig? = nil) async -> Rig {
        let rig = rig(after: last)
        await begin(topic, at: rig)
        return rig
    }

    private func begin(_ topic: String, at rig: Rig) async {
        var isDone = false
        rig.table.topics.begin([topic]) { isDone = true }
        rig.settleAll()
        await rig.work { isDone }
    }

    /// Publishes values, each in a commit of its own.
    private func publish(_ values: String..., to topic: String = "news", at rig: Rig) throws {
        let session = try self.topic(topic, at: rig)
        for value in values {
            try rig.post("{\"value\":\"\(value)\"}", to: session)
            rig.settleAll()
        }
    }

    private func topic(_ name: String = "news", at rig: Rig) throws -> Session {
        let id = try #require(SessionID(topic: name))
        if case .notInMemory = rig.table.find(id) {
            rig.table.wake(id) { _ in }
            rig.drainInbox()
        }
        guard case .session(let session) = rig.table.find(id) else {
            throw Rig.NoSession(id: id.text)
        }
        return session
    }

    /// A process in which the session `s` has read `a`.
    private func reading() async throws -> Rig {
        let rig = await begin()
        let session = try rig.create("s", news)
        try publish("a", at: rig)
        await rig.work { session.version == 1 }
        return rig
    }

    private func read(_ names: String...) -> String {
        let list = names.map { "\"\($0)\"" }.joined(separator: ",")
        return "{\"read\":[\(list)]}"
    }

    @Test func `a session that listens gets each value`() async throws {
        let rig = await begin()
        let session = try rig.create("s", news)
        try publish("a", "b", at: rig)
        await rig.work { session.version == 2 }
        #expect(rig.state(session) == read("a", "b"))
    }

    @Test func `a session that begins to listen gets no earlier value`() async throws {
        let rig = await begin()
        try publish("a", at: rig)
        let session = try rig.create("s", news)
        try publish("b", at: rig)
        await rig.work { session.version == 1 }
        #expect(rig.state(session) == read("b"))
    }

    // Fails without `recordRead` in `SessionMailbox.enter`, and without `catchUp`.
    @Test func `what is published while a session rests is read when it wakes`() async throws {
        let first = try await reading()
        let second = await begin(after: first)
        try publish("b", "c", at: second)
        _ = try second.wake("s")
        second.settleAll()
        let woken = try second.session("s")
        try publish("d", at: second)
        await second.work { woken.version == 4 }
        #expect(second.state(woken) == read("a", "b", "c", "d"))
        let third = await begin(after: second)
        _ = try third.wake("s")
        try publish("e", at: third)
        await third.work { (try? third.session("s").version) == 5 }
        #expect(third.state(try third.session("s")) == read("a", "b", "c", "d", "e"))
    }

    // The session was at a node that had read more.
    @Test func `a value that a session has read elsewhere is skipped`() async throws {
        let first = await begin()
        let session = try first.create("s", news)
        try publish("a", "b", at: first)
        await first.work { session.version == 2 }
        let second = rig(after: first)
        let life = try #require(first.journal.all.first { $0.session == "$news" }?.generation)
        let bus = second.table.services.topics
        _ = bus.receive(TopicValue(Array("\"a\"".utf8)), of: "news", at: TopicPosition(life, 1))
        _ = try second.wake("s")
        second.settleAll()
        for (number, text) in [(2, "b"), (3, "c")] as [(UInt64, String)] {
            let value = TopicValue(Array("\"\(text)\"".utf8))
            _ = bus.receive(value, of: "news", at: TopicPosition(life, number))
        }
        let woken = try second.session("s")
        await second.work { woken.version == 3 }
        #expect(second.state(woken) == read("a", "b", "c"))
    }

    @Test func `a value whose commit fails is read again`() async throws {
        let rig = await begin()
        let session = try rig.create("s", news)
        rig.settleAll()
        rig.journal.setImmediate(false)
        let topic = try self.topic(at: rig)
        try rig.post("{\"value\":\"a\"}", to: topic)
        rig.endRound()
        rig.settle()
        // The commit of the session's change for the value.
        await rig.workUntilCommit()
        rig.settle(JournalFailure(reason: .full, detail: "disk"))
        #expect(!session.isAwake)
        rig.journal.setImmediate(true)
        rig.table.tick()
        await rig.work { (try? rig.session("s").version) == 1 }
        #expect(rig.state(try rig.session("s")) == read("a"))
    }

    // Fails without `!isRead` in `TypedMachine.open`.
    @Test func `a Cycler gets the value that a topic remembers once, however often it wakes`()
        async throws
    {
        let first = await begin("name")
        try publish("ada", to: "name", at: first)
        let session = try first.create("s", badge)
        first.settleAll()
        #expect(first.state(session) == #"{"names":["ada"]}"#)
        let second = await begin("name", after: first)
        _ = try second.wake("s")
        second.settleAll()
        #expect(second.state(try second.session("s")) == #"{"names":["ada"]}"#)
        let third = await begin("name", after: second)
        try publish("bob", "eve", to: "name", at: third)
        _ = try third.wake("s")
        third.settleAll()
        // It gets only the newest value, in place of all that it missed.
        #expect(third.state(try third.session("s")) == #"{"names":["ada","eve"]}"#)
    }

    @Test func `a session that is there before its topic gets each value`() async throws {
        let rig = rig()
        let session = try rig.create("s", news)
        await begin("news", at: rig)
        try publish("a", at: rig)
        await rig.work { session.version == 1 }
        #expect(rig.state(session) == read("a"))
    }

    // Fails without `open` in `TopicReaders.whenRead`. Also fails if no reader gets the first value
    // that a bus receives.
    @Test func `a topic that could not be read is read again with its next value`() async throws {
        let first = try await reading()
        let rig = rig(after: first)
        rig.journal.setLate(true)
        var isDone = false
        rig.table.topics.begin(["news"]) { isDone = true }
        rig.settleAll()
        rig.drainInbox()
        #expect(rig.journal.askedCount == 1)
        rig.journal.look(at: 0, JournalFailure(reason: .unavailable, detail: "disk"))
        rig.journal.answer(at: 0)
        rig.journal.setLate(false)
        await rig.work { isDone }
        _ = try rig.wake("s")
        rig.settleAll()
        let (woken, late) = (try rig.session("s"), try rig.create("t", news))
        try publish("b", at: rig)
        let id = try #require(SessionID(topic: "news"))
        var isRead = false
        rig.table.topics.whenRead(id, through: 2) { _ in isRead = true }
        await rig.work { isRead }
        // A sentinel at the place of `b`: a session that has read `b` skips it.
        rig.table.services.topics.publish("end", to: Topic<String>("news"))
        await rig.work { woken.version == 2 }
        try #require(rig.state(woken) == read("a", "b"))
        try publish("c", at: rig)
        await rig.work { woken.version == 3 && late.version > 0 }
        #expect(rig.state(woken) == read("a", "b", "c"))
        // This session cannot know whether the first value is older than itself.
        #expect(rig.state(late) == read("c"))
    }

    // The note before the value has the value too, so it may fill a page of records. A page without
    // a value is not the end.
    @Test func `a large value is read when the session wakes, and so is what follows it`()
        async throws
    {
        let first = try await reading()
        let second = await begin(after: first)
        let large = String(repeating: "b", count: 40_000)
        try publish(large, "c", at: second)
        _ = try second.wake("s")
        second.settleAll()
        let woken = try second.session("s")
        try publish("d", at: second)
        await second.work { second.state(woken).contains("\"d\"") }
        #expect(second.state(woken) == read("a", large, "c", "d"))
    }

    // MARK: Another era

    // Fails if a place of another era counts as none.
    @Test func `another era leaves a session where it has stopped`() async throws {
        let first = try await reading()
        let second = await begin(after: first)
        try publish("b", "c", at: second)
        second.journal.loseHistory(0)
        let third = await begin(after: second)
        _ = try third.wake("s")
        third.settleAll()
        let woken = try third.session("s")
        try publish("d", at: third)
        await third.work { third.state(woken).contains("\"d\"") }
        #expect(third.state(woken) == read("a", "b", "c", "d"))
    }

    // The bus of the process has not heard of the era yet.
    @Test func `a session that wakes first in another era gets what it has missed`() async throws {
        let first = try await reading()
        let old = try #require(first.journal.all.first { $0.session == "$news" }?.generation)
        let second = await begin(after: first)
        try publish("b", "c", at: second)
        second.journal.loseHistory(0)
        let third = rig(after: second)
        let bus = third.table.services.topics
        _ = bus.receive(TopicValue(Array("\"c\"".utf8)), of: "news", at: TopicPosition(old, 3))
        _ = try third.wake("s")
        third.settleAll()
        let woken = try third.session("s")
        await third.work { woken.version == 3 }
        #expect(third.state(woken) == read("a", "b", "c"))
        await begin("news", at: third)
        try publish("d", at: third)
        await third.work { third.state(woken).contains("\"d\"") }
        #expect(third.state(woken) == read("a", "b", "c", "d"))
    }

    /// - Parameter lost: how many batches the journal loses: first the session's commit for `b`,
    ///   then `b` itself.
    @Test(arguments: [
        (0, ["a", "b", "c", "d"]), (1, ["a", "b", "c", "d"]), (2, ["a", "c", "d"]),
    ])
    func `sessions that live through another era get each value that is left once`(
        lost: Int, values: [String]
    ) async throws {
        let rig = try await reading()
        let session = try rig.session("s")
        try publish("b", at: rig)
        await rig.work { session.version == 2 }
        rig.journal.loseHistory(lost)
        rig.drainInbox()
        rig.settleAll()
        try publish("c", "d", at: rig)
        await rig.work {
            (try? rig.session("s")).map { rig.state($0).contains("\"d\"") } ?? false
        }
        let list = values.map { "\"\($0)\"" }.joined(separator: ",")
        #expect(rig.state(try rig.session("s")) == "{\"read\":[\(list)]}")
    }

    @Test func `a Cycler does not get the value that a topic remembers again in another era`()
        async throws
    {
        let first = await begin("name")
        try publish("ada", to: "name", at: first)
        _ = try first.create("s", badge)
        first.settleAll()
        first.journal.loseHistory(0)
        let second = await begin("name", after: first)
        _ = try second.wake("s")
        second.settleAll()
        #expect(second.state(try second.session("s")) == #"{"names":["ada"]}"#)
    }

    // MARK: Limits and failures

    @Test func `a topic takes no room from the sessions, and needs none`() async throws {
        let rig = rig(sessions: 1)
        let session = try rig.create("s", news)
        #expect(!rig.table.hasRoomForSession)
        await begin("news", at: rig)
        try publish("a", at: rig)
        await rig.work { session.version == 1 }
        #expect(rig.state(session) == read("a"))
        let next = self.rig(after: rig, sessions: 1)
        await begin("news", at: next)
        #expect(next.table.hasRoomForSession)
        try publish("b", at: next)
        guard case .session(let woken) = try next.wake("s") else { throw Rig.NoSession(id: "s") }
        await next.work { woken.version == 2 }
    }

    @Test func `a session that began before its topic could be read keeps its place`()
        async throws
    {
        let first = await begin()
        try publish("a", at: first)
        let rig = rig(after: first)
        rig.journal.setLate(true)
        rig.table.topics.begin(["news"])
        rig.settleAll()
        rig.drainInbox()
        rig.journal.look(at: 0, JournalFailure(reason: .unavailable, detail: "disk"))
        rig.journal.answer(at: 0)
        rig.journal.setLate(false)
        rig.drainInbox()
        _ = try rig.create("s", news)
        rig.settleAll()
        try publish("b", at: rig)
        rig.table.topics.retry()
        let isKept = { rig.journal.keptBatch.started.contains { $0.session == "s" } }
        for _ in 0..<10_000 where !isKept() {
            await Task.yield()
            rig.drainInbox()
            rig.settleAll()
        }
        let next = await begin(after: rig)
        try publish("c", at: next)
        _ = try next.wake("s")
        next.settleAll()
        try publish("d", at: next)
        let woken = try next.session("s")
        await next.work { next.state(woken).contains("\"d\"") }
        #expect(next.state(woken) == read("c", "d"))
    }

    @Test func `a value that no longer decodes is reported and skipped`() async throws {
        let rig = await begin()
        let session = try rig.create("s", news)
        let topic = try self.topic(at: rig)
        try rig.post(#"{"value":5}"#, to: topic)
        rig.settleAll()
        try publish("a", at: rig)
        await rig.work { session.version == 1 }
        #expect(rig.state(session) == read("a"))
        #expect(rig.output.failures.contains { "\($0)".contains("topic") })
        let next = await begin(after: rig)
        try next.post(#"{"value":6}"#, to: try self.topic(at: next))
        next.settleAll()
        let count = next.output.failures.count
        _ = try next.wake("s")
        try publish("b", at: next)
        await next.work { (try? next.session("s").version) == 2 }
        #expect(next.output.failures.dropFirst(count).contains { "\($0)".contains("topic") })
    }

    @Test func `the report of a skipped value names the topic, whichever source reads it`()
        async throws
    {
        let first = await begin()
        try first.create("s", twice)
        first.settleAll()
        let rig = await begin(after: first)
        try rig.post(#"{"value":6}"#, to: try topic(at: rig))
        rig.settleAll()
        let count = rig.output.failures.count
        _ = try rig.wake("s")
        await rig.work { rig.output.failures.count == count + 2 }
        for failure in rig.output.failures.dropFirst(count) {
            #expect("\(failure)".contains("of the topic news is skipped"))
        }
    }

    @Test func `the end of a topic's session is no value`() async throws {
        let rig = await begin()
        try publish("a", at: rig)
        var delivered = 0
        rig.table.topics.deliver = { value, _, _, _ in
            if value != nil { delivered += 1 }
            return nil
        }
        let topic = try self.topic(at: rig)
        _ = rig.end(topic)
        rig.settleAll()
        rig.drainInbox()
        #expect(delivered == 0)
    }

    // MARK: Names

    @Test func `no request can name the session of a topic`() throws {
        #expect(SessionID("$news") == nil)
        #expect(SessionID(Array("$news".utf8), 0..<5) == nil)
        let id = try #require(SessionID(topic: "news"))
        #expect(id.text == "$news" && id.topic == "news")
        #expect(SessionID(own: "$news") == id)
        #expect(SessionID(own: "s")?.topic == nil)
        for name in ["", "a/b", "a b", "ä", "a%20", String(repeating: "a", count: 128)] {
            #expect(SessionID(topic: name) == nil)
            #expect(SessionID(own: "$\(name)") == nil)
        }
        #expect(SessionID(topic: "user.profile~1") != nil)
    }
}
