import Cyclers
import Feeds
import Reactors
import Sessions
import Storage
import Testing

@Suite("The client that has sent an action is beside it", .timeLimit(.minutes(60)))
struct SubjectTests {
    private struct Guestbook: Reactor {
        enum Action: TaggedCodable, Sendable { case sign, stay }
        enum Mutation: TaggedCodable, Sendable { case signed(name: String?) }
        struct State: Codable, Sendable { var names: [String?] = [] }
        let initialState = State()

        func transform(action: Action, subject: String?) -> Action? {
            subject == "barred" ? nil : action
        }

        func mutate(state: State, action: Action, subject: String?) -> Effect<Mutation> {
            guard case .stay = action else { return .just(.signed(name: subject)) }
            return .concat(
                .just(.signed(name: subject)),
                .run { _ in
                    let never = AsyncStream<Void> { _ in }
                    for await _ in never {}
                })
        }

        func reduce(state: inout State, mutation: Mutation) {
            if case .signed(let name) = mutation { state.names.append(name) }
        }

        func recovery(of action: Action) -> Recovery { .runAgain }
    }

    private final class Whole: ActionCycler {
        enum Action: TaggedCodable, Sendable { case sign, stay }
        struct State: Codable, Sendable { var names: [String?] = [] }
        let state: Storage<State> = .init(.init())

        func receive(_ action: Action) async throws { throw CancellationError() }

        func receive(_ action: Action, subject: String?) async throws {
            commit { $0.update($0.value.names + [subject], \.names) }
            guard case .stay = action else { return }
            let never = AsyncStream<Void> { _ in }
            for await _ in never {}
        }

        func recovery(of action: Action) -> Recovery { .runAgain }
    }

    private final class Part: ActionCycler, ModularCycler {
        enum Action: TaggedCodable, Sendable { case sign }
        struct State: Codable, Sendable {}
        let state: Storage<State> = .init(.init())
        let parent = CyclerParent<Whole>()

        func receive(_ action: Action) async throws { throw CancellationError() }

        func receive(_ action: Action, subject: String?) async throws {
            try await forward(.sign, subject: subject)
        }
    }

    private static func registration(_ isCycler: Bool) throws -> Registration {
        guard isCycler else { return try .of { Guestbook() } }
        return try Registration(
            name: "fixture", activities: [], examples: [], makeCycler: { Whole() })
    }

    private let sign = #"{"type":"sign"}"#

    @discardableResult
    private func post(
        _ body: String, by subject: String?, key: String? = nil, to session: Session, _ rig: Rig
    ) throws -> UInt64 {
        let token = rig.nextToken()
        var post = ActionPost(body: ActionBody(Array(body.utf8)), token: token)
        post.subject = subject
        post.key = key
        try session.post(post)
        rig.endRound()
        return token
    }

    @Test(arguments: [false, true])
    func `the reactor gets it with each action, and the log shows it`(isCycler: Bool) throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", try Self.registration(isCycler))
        let reader = rig.subscribe(session, .log, .start)
        try post(sign, by: "ada", to: session, rig)
        try post("[\(sign),\(sign)]", by: "e\"ve", to: session, rig)
        try post(sign, by: nil, to: session, rig)
        #expect(
            rig.state(session).contains(#"["ada","e\"ve","e\"ve",null]"#), "\(rig.state(session))")
        let received = rig.transcript(reader).events.filter { $0.name == "action.received" }
        let action = #"{"received":{"type":"sign"}"#
        #expect(
            received.map { $0.data.split(separator: "\"content\":", maxSplits: 1).last } == [
                #"\#(action),"subject":"ada"}}"#, #"\#(action),"subject":"e\"ve"}}"#,
                #"\#(action),"subject":"e\"ve"}}"#, #"\#(action)}}"#,
            ])
    }

    @Test(arguments: [false, true])
    func `a key is its client's own, and the log has it without the client`(isCycler: Bool) throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", try Self.registration(isCycler))
        let reader = rig.subscribe(session, .log, .start)
        for subject in ["ada", "eve", "ada", nil] {
            try post(sign, by: subject, key: "k", to: session, rig)
        }
        try post(sign, by: "ada", to: session, rig)
        #expect(rig.state(session).contains(#"["ada","eve",null,"ada"]"#))
        let received = rig.transcript(reader).events.filter { $0.name == "action.received" }
        let action = #"{"received":{"type":"sign"}"#
        #expect(
            received.map { $0.data.split(separator: "\"content\":", maxSplits: 1).last } == [
                #"\#(action),"subject":"ada","key":"k"}}"#,
                #"\#(action),"subject":"eve","key":"k"}}"#, #"\#(action),"key":"k"}}"#,
                #"\#(action),"subject":"ada"}}"#,
            ])
    }

    @Test func `a reactor rejects an action of a client, and the log shows whose it was`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", try Self.registration(false))
        let reader = rig.subscribe(session, .log, .start)
        try post(sign, by: "barred", to: session, rig)
        #expect(session.version == 0)
        let rejected = try #require(rig.transcript(reader).events.first)
        #expect(rejected.name == "action.rejected")
        #expect(rejected.data.hasSuffix(#""subject":"barred"}}"#))
    }

    @Test(arguments: [false, true])
    func `an action that is run again after a restart has the same client`(isCycler: Bool) throws {
        let registration = try Self.registration(isCycler)
        let first = Rig(answers: true)
        try post(
            #"{"type":"stay"}"#, by: "ada", to: first.create("s", registration), first)
        #expect(first.journal.keptBatch.started.map(\.subject) == ["ada"])
        first.table.stop()
        let second = Rig(journal: first.journal, registrations: [registration])
        guard case .session(let session) = try second.wake("s") else {
            throw Rig.NoSession(id: "s")
        }
        second.settleAll()
        #expect(
            second.state(session).contains(#"["ada","ada"]"#), "\(second.state(session))")
    }

    @Test func `a part acts for its client on its parent`() async throws {
        let rig = Rig()
        let parent = try rig.create("p", try Self.registration(true))
        let reader = rig.subscribe(parent, .log, .start)
        let part = try rig.create(
            "p--a",
            try Registration(name: "part", activities: [], examples: [], makePart: { Part() }))
        try post(sign, by: "ada", to: part, rig)
        await rig.work { parent.version == 1 }
        #expect(rig.state(parent).contains(#"["ada"]"#))
        let received = rig.transcript(reader).events.first { $0.name == "action.received" }
        #expect(received?.data.hasSuffix(#""subject":"ada"}}"#) == true)
        // The next action of the parent is another client's.
        try post(sign, by: nil, to: parent, rig)
        #expect(rig.state(parent).contains(#"["ada",null]"#))
    }

    @Test func `the owner of a session is the client that has created it`() throws {
        let registration = try Self.registration(false)
        let rig = Rig(answers: true)
        for (id, owner) in [("a", "ada"), ("n", nil)] as [(String, ExactText?)] {
            let name = try #require(SessionID(id))
            try rig.table.create(
                name, registration, for: rig.nextToken(), with: SessionCreation(owner: owner))
            rig.endRound()
            #expect(try rig.session(id).feed.owner == owner)
        }
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [registration])
        for (id, owner) in [("a", "ada"), ("n", nil)] as [(String, ExactText?)] {
            guard case .session(let session) = try next.wake(id) else {
                throw Rig.NoSession(id: id)
            }
            #expect(session.feed.owner == owner)
        }
    }

    /// The journal may have counted a session whose creation is under way here, on a loop that does
    /// not know yet that it is committed.
    @Test func `among several nodes a client is refused only by what the journal has`() {
        let owners = SessionOwners(limit: 2, counts: nil)
        #expect(owners.admit("ada", besides: 0) == .admitted)
        #expect(owners.admit("ada", besides: 1) == .unclear)
        #expect(owners.admit("ada", besides: 2) == .refused)
        #expect(owners.admit("eve", besides: 1) == .admitted)
        owners.remove("ada")
        #expect(owners.admit("ada", besides: 1) == .admitted)
        let alone = SessionOwners(limit: 1, counts: [:])
        #expect(alone.admit("ada") == .admitted)
        #expect(alone.admit("ada") == .refused)
    }

    // The journal may have the session after an unknown outcome: then it counts until
    // the next start.
    @Test(arguments: [
        (JournalFailure.Reason.unavailable, 0), (.full, 0), (.outcomeUnknown, 1),
    ])
    func `a session that was not created does not count`(
        reason: JournalFailure.Reason, count: Int
    ) throws {
        let owners = SessionOwners(limit: 2, counts: [:])
        let rig = Rig(slow: true, answers: true, owners: owners)
        #expect(owners.admit("ada") == .admitted)
        let name = try #require(SessionID("s"))
        try rig.table.create(
            name, try Self.registration(false), for: rig.nextToken(),
            with: SessionCreation(owner: "ada"))
        rig.endRound()
        rig.settle(JournalFailure(reason: reason, detail: "test"))
        #expect(owners.count(of: "ada") == count)
    }

    @Test(arguments: [false, true])
    func `a session that has ended does not count`(isQuarantined: Bool) throws {
        let owners = SessionOwners(limit: 2, counts: [:])
        var rig = Rig(answers: true, owners: owners)
        #expect(owners.admit("ada") == .admitted)
        let name = try #require(SessionID("s"))
        let registration = try Self.registration(false)
        try rig.table.create(
            name, registration, for: rig.nextToken(), with: SessionCreation(owner: "ada"))
        rig.endRound()
        if isQuarantined {
            rig.table.stop()
            // Its reactor is not hosted any more.
            rig = Rig(journal: rig.journal, registrations: [], owners: owners)
            guard case .quarantined = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
            rig.table.delete(name) { _ in }
            rig.drainInbox()
            rig.settleAll()
        } else {
            _ = rig.end(try rig.session("s"))
            rig.settleAll()
        }
        #expect(owners.count(of: "ada") == 0)
    }
}
