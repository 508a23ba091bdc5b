import Cyclers
import Feeds
import Reactors
import Sessions
import Storage
import Testing

@Suite(
    "Case 96 — a session is never visible without its sources' present values",
    .timeLimit(.minutes(60)))
struct PresentValueTests {
    private struct Profile: Reactor {
        enum Action: TaggedCodable, Sendable { case rename(to: String) }
        struct State: Codable, Sendable {
            @Pulse var user = "nobody"
        }

        let initialState = State()
        let asActions: Bool
        var sources: [Source] {
            let topic = Topic<String>("user", remembers: true)
            return asActions
                ? [.actions(topic: topic) { .rename(to: $0) }]
                : [.mutations(topic: topic) { .rename(to: $0) }]
        }

        func reduce(state: inout State, mutation: Action) {
            switch mutation {
            case .rename(let user): state.user = user
            }
        }
    }

    private final class Badge: ActionCycler {
        enum Action: TaggedCodable, Sendable { case rename(to: String) }
        struct State: Codable, Sendable { var user = "nobody" }
        let state: Storage<State> = .init(.init())
        var sources: [Source] {
            [.actions(topic: Topic<String>("user", remembers: true)) { .rename(to: $0) }]
        }

        func receive(_ action: Action) async throws {
            switch action {
            case .rename(let user): commit { $0.updateIfChanged(user, \.user) }
            }
        }
    }

    /// Refuses everything.
    private struct Doorman: Reactor {
        enum Action: TaggedCodable, Sendable { case enter, enterLater }
        typealias Mutation = Int

        let present: Action
        let initialState = 0

        var sources: [Source] { [.actions(AsyncStream { $0.finish() }, present: present)] }

        func mutate(state: Int, action: Action) -> Effect<Int> {
            switch action {
            case .enter: .refuse("no", "No.")
            case .enterLater: .deferred { _ in throw Refusal("no", "No.") }
            }
        }

        func reduce(state: inout Int, mutation: Int) { state += mutation }
    }

    /// Refuses everything, as ``Doorman`` does.
    private final class Porter: ActionCycler {
        typealias Action = Doorman.Action
        struct State: Codable, Sendable { var guests = 0 }
        let state: Storage<State> = .init(.init())
        let sources: [Source]

        init(_ more: AsyncStream<Action>, present: Action?) {
            sources = [.actions(more, present: present)]
        }

        func receive(_ action: Action) async throws { throw Refusal("no", "No.") }
    }

    private let topics = TopicBus()
    private let user = Topic<String>("user", remembers: true)

    private func profile(asActions: Bool = false) throws -> Registration {
        try .of("profile") { Profile(asActions: asActions) }
    }

    @Test(arguments: [false, true])
    func `case 96: the reply to the creation already contains the present value`(asActions: Bool)
        throws
    {
        topics.publish("u0", to: user)
        let rig = Rig(slow: true, topics: topics)
        let session = try rig.create("s", try profile(asActions: asActions))
        #expect(rig.output.answers.isEmpty)
        rig.settleAll()
        #expect(rig.output.answers.count == 1)
        #expect(session.version == 1)
        #expect(rig.state(session) == #"{"user":"u0"}"#)
        #expect(rig.journal.kept.map(\.kind) == [.created, .mutation])
        #expect(rig.journal.kept.map(\.number) == [0, 1])
        let start = "\(session.generation.text).0"
        #expect(rig.lines(rig.subscribe(session, .allPulses, .after(start))) == ["user 1 \"u0\""])
    }

    @Test func `a value published before the creation is committed follows it`() async throws {
        topics.publish("u0", to: user)
        let rig = Rig(slow: true, topics: topics)
        let session = try rig.create("s", try profile())
        #expect(topics.publish("u1", to: user).sessions == 1)
        rig.settleAll()
        await rig.work { session.version == 2 }
        #expect(rig.state(session) == #"{"user":"u1"}"#)
        #expect(rig.state(session, version: 1) == #"{"user":"u0"}"#)
    }

    @Test func `a session whose creation fails stops listening`() throws {
        topics.publish("u0", to: user)
        let rig = Rig(slow: true, topics: topics)
        try rig.create("s", try profile())
        #expect(topics.publish("u1", to: user).sessions == 1)
        rig.settle(JournalFailure(reason: .unavailable, detail: "disk"))
        #expect(topics.publish("u2", to: user).sessions == 0)
    }

    @Test(arguments: [false, true])
    func `case 96: waking records a changed value, and nothing for an unchanged one`(
        asActions: Bool
    ) throws {
        topics.publish("u0", to: user)
        let registration = try profile(asActions: asActions)
        let first = Rig(answers: true, registrations: [registration], topics: topics)
        try first.create("s", registration)
        let position = try first.session("s").position

        let same = Rig(after: first, registrations: [registration], topics: topics)
        _ = try same.wake("s")
        same.endRound()
        #expect(try same.session("s").position == position)
        #expect(same.journal.kept.count == 2)

        topics.publish("u1", to: user)
        let changed = Rig(after: same, registrations: [registration], topics: topics)
        _ = try changed.wake("s")
        // Before any other reply.
        let session = try changed.session("s")
        let token = changed.read(session)
        changed.endRound()
        #expect(changed.line(token).contains("u1"))
        #expect(session.version == 2)
        #expect(changed.journal.kept.map(\.kind) == [.created, .mutation, .mutation])
    }

    @Test func `case 96: a Cycler has the value before its first reply, and decides when it wakes`()
        throws
    {
        topics.publish("u0", to: user)
        let registration = try Registration(
            name: "badge", activities: [], examples: [], makeCycler: { Badge() })
        let first = Rig(answers: true, registrations: [registration], topics: topics)
        let session = try first.create("s", registration)
        #expect(first.state(session) == #"{"user":"u0"}"#)
        #expect(session.version == 1)
        let again = Rig(after: first, registrations: [registration], topics: topics)
        _ = try again.wake("s")
        again.endRound()
        #expect(try again.session("s").version == 1)
    }

    @Test func `a value that can't be committed is retried at the next tick, not at once`()
        async throws
    {
        topics.publish("u0", to: user)
        let registration = try profile()
        let first = Rig(answers: true, registrations: [registration], topics: topics)
        try first.create("s", registration)
        topics.publish("u1", to: user)
        let rig = Rig(
            slow: true, journal: first.journal, registrations: [registration], topics: topics)
        rig.journal.setImmediate(false)
        _ = try rig.wake("s")
        rig.endRound()
        rig.settle(JournalFailure(reason: .unavailable, detail: "disk"))
        #expect(rig.journal.pendingCount == 0)
        rig.table.tick()
        rig.drainInbox()
        rig.settleAll()
        #expect(rig.state(try rig.session("s")) == #"{"user":"u1"}"#)
    }

    // MARK: Refused elements

    private func porter(
        _ more: AsyncStream<Doorman.Action> = AsyncStream { $0.finish() },
        present: Doorman.Action? = nil
    ) throws -> Registration {
        try Registration(
            name: "porter", activities: [], examples: [],
            makeCycler: { Porter(more, present: present) })
    }

    private func failures(_ rig: Rig) -> [String] {
        rig.journal.kept.filter { $0.kind == .failure }.map {
            String(decoding: $0.content, as: UTF8.self)
        }
    }

    private static let failure = #"{"place":"source","source":"actions","error":"no: No."}"#

    @Test(arguments: 0..<3)
    func `a refused value is a failure of a new session, and of no session that wakes`(_ form: Int)
        throws
    {
        let registration =
            switch form {
            case 0: try porter(present: .enter)
            case 1: try Registration.of("doorman") { Doorman(present: .enter) }
            default: try Registration.of("doorman") { Doorman(present: .enterLater) }
            }
        var rig = Rig(answers: true, registrations: [registration])
        try rig.create("s", registration)
        #expect(failures(rig) == [Self.failure])
        for _ in 1...2 {
            rig = Rig(after: rig, registrations: [registration])
            _ = try rig.wake("s")
            rig.settleAll()
            #expect(failures(rig) == [Self.failure])
        }
    }

    @Test func `the failure of a Cycler's refused element names its source`() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Doorman.Action.self)
        let rig = Rig()
        try rig.create("s", porter(stream))
        continuation.yield(.enter)
        await rig.work { !failures(rig).isEmpty }
        #expect(failures(rig) == [Self.failure])
    }
}
