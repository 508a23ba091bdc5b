import Foundation
import ReactorTesting
import Reactors
import Testing

// The code of the guides to writing a reactor and of `Reactors.md`, compiled.

enum WritingPage {
    // swift-format-ignore
    struct Alerts: Reactor {
        enum Action { case alert(String?) }
        struct State { @Pulse var alertMessage: String? }

        let initialState = State()

        func reduce(state: inout State, mutation: Action) {
            switch mutation {
            case .alert(let message): state.alertMessage = message
            }
        }
    }

    struct Download: Reactor {
        enum Action: TaggedCodable {
            case start(url: String)
            case cancel
        }

        enum Mutation: TaggedCodable {
            case begin
            case advance(percent: Int)
            case fail(reason: String)
        }

        struct State: Codable {
            var percent: Int?
            @Pulse var problem: String?
        }

        let initialState = State()

        func reduce(state: inout State, mutation: Mutation) {
            switch mutation {
            case .begin: state.percent = 0
            case .advance(let percent): state.percent = percent
            case .fail(let reason):
                state.percent = nil
                state.problem = reason
            }
        }
    }

    struct FoundOrder: Reactor {
        typealias Action = Never
        typealias Mutation = Never
        struct State {
            var isPaid = false
            var table: String?
        }

        let initialState = State()

        static func tags(of state: State) -> Tags {
            ["status": state.isPaid ? "paid" : "open", "table": state.table]
        }
    }

    struct User: Decodable, Sendable {}

    struct Battery: Sendable {
        let levels = AsyncStream<Int> { $0.finish() }
    }

    struct Charging: Reactor {
        typealias Action = Never
        typealias Mutation = Int
        let battery = Battery()
        let initialState = 0
        var sources: [Source] { [.mutations(battery.levels, name: "battery")] }
    }

    struct Room: Reactor {
        enum Action: Sendable { case enter, close }
        enum Mutation: Sendable { case entered(String?), closed }
        struct State: Sendable { var log: [String] = [] }
        let initialState = State()

        func transform(action: Action, subject: String?) -> Action? {
            guard case .close = action else { return action }
            return subject == "host" ? action : nil
        }

        func mutate(state: State, action: Action, subject: String?) -> Effect<Mutation> {
            switch action {
            case .enter: .just(.entered(subject))
            case .close: .just(.closed)
            }
        }

        func reduce(state: inout State, mutation: Mutation) {
            switch mutation {
            case .entered(let name): state.log.append(name ?? "somebody")
            case .closed: state.log.append("closed")
            }
        }
    }

    struct Auction: Reactor {
        enum Action: Sendable { case bid(amount: Int) }
        enum Mutation: Sendable { case accept(amount: Int) }
        struct State: Sendable { var highest = 12 }
        let initialState = State()

        func mutate(state: State, action: Action) -> Effect<Mutation> {
            switch action {
            case .bid(let amount) where amount <= state.highest:
                .refuse("bid_too_low", "The highest bid is \(state.highest).")
            case .bid(let amount): .just(.accept(amount: amount))
            }
        }

        func reduce(state: inout State, mutation: Mutation) {
            switch mutation {
            case .accept(let amount): state.highest = amount
            }
        }
    }

    struct Round: Reactor {
        enum Action: Sendable { case open, extend, sell, close }
        enum Mutation: Sendable { case open, close }
        struct State: Sendable, Equatable { var isOpen = false }
        let initialState = State()

        func mutate(state: State, action: Action) -> Effect<Mutation> {
            switch action {
            case .open: .concat(.just(.open), .schedule("close", after: .seconds(60), .close))
            case .extend: .schedule("close", after: .seconds(60), .close)
            case .sell: .concat(.just(.close), .cancel("close"))
            case .close: .just(.close)
            }
        }

        func reduce(state: inout State, mutation: Mutation) { state.isOpen = mutation == .open }
    }

    struct Payments: Sendable {
        func pay(_ amount: Int, idempotencyKey: String) async throws -> String { idempotencyKey }
    }

    struct Order: Reactor {
        enum Action: Sendable { case pay(amount: Int) }
        enum Mutation: Sendable { case setPaying(Int), setPaid(String) }
        let initialState: [String] = []
        let payments = Payments()

        func mutate(state: State, action: Action) -> Effect<Mutation> {
            switch action {
            case .pay(let amount):
                .concat(
                    .just(.setPaying(amount)),
                    .run { [payments] send in
                        let receipt = try await payments.pay(amount, idempotencyKey: send.key)
                        await send(.setPaid(receipt))
                    })
            }
        }

        func recovery(of action: Action, after interruption: Interruption) -> Recovery {
            guard interruption.attempts < 8 else { return .abandon }
            return .runAgain(after: .seconds(1 << interruption.attempts))
        }

        func reduce(state: inout [String], mutation: Mutation) {
            switch mutation {
            case .setPaying(let amount): state.append("\(amount)")
            case .setPaid(let receipt): state.append(receipt)
            }
        }
    }

    struct Closing: Reactor {
        enum Action: Sendable { case close }
        enum Mutation: Sendable { case setResult(Int) }
        struct State: Sendable { var highest = 12 }
        let initialState = State()

        static let expiresAfter: Duration? = .seconds(30 * 24 * 60 * 60)

        func mutate(state: State, action: Action) -> Effect<Mutation> {
            switch action {
            case .close: .concat(.just(.setResult(state.highest)), .end)
            }
        }

        func reduce(state: inout State, mutation: Mutation) {
            switch mutation {
            case .setResult(let result): state.highest = result
            }
        }
    }

    struct Profile: Reactor {
        enum Mutation: Sendable { case setUser(User) }
        typealias Action = Never
        let initialState = 0
        var sources: [Source] { [.mutations(topic: .currentUser) { .setUser($0) }] }
    }

    struct Lobby: Reactor {
        enum Mutation: Sendable { case setPresent([String]) }
        typealias Action = Never
        let initialState = 0
        var sources: [Source] { [.mutations(presence: \.present) { .setPresent($0) }] }
    }

    struct Printer<R: Reactor>: ActionLogger {
        func log(_ entry: ActionLogEntry<R>) { print(entry.position, entry.event) }
    }
}

extension Topic<WritingPage.User> {
    fileprivate static let currentUser = Topic("currentUser")
}

extension WritingPage.Download {
    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .start:
            .concat(
                .just(.begin),
                .run(id: "download", policy: .latest) { send in
                    for percent in 1...100 {
                        try await send.clock.sleep(for: .milliseconds(50))
                        await send(.advance(percent: percent))
                    }
                })
        case .cancel:
            .concat(.cancel("download"), .just(.fail(reason: "cancelled")))
        }
    }
}

extension WritingPage.Download {
    static let stateVersion = 2

    static func migrate(state saved: SavedValue) throws -> State {
        struct Before: Decodable { var done: Double? }  // version 1: from 0 to 1
        var state = State()
        state.percent = try saved.decode(Before.self).done.map { Int($0 * 100) }
        return state
    }

    static func migrate(mutation saved: SavedValue) throws -> Mutation {
        struct Before: Decodable {
            var type: String
            var done: Double?
        }
        let before = try saved.decode(Before.self)
        guard before.type == "advance", let done = before.done else {
            return try saved.decode(Mutation.self)
        }
        return .advance(percent: Int(done * 100))
    }
}

/// A saved value of version 1, as the journal would provide it.
private struct Saved: SavedValueDecoder {
    let json: String

    var value: SavedValue { SavedValue(stateVersion: 1, decoder: self) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(json.utf8))
    }
}

@Suite("The guides to writing a reactor", .timeLimit(.minutes(60)))
struct WritingAReactorTests {
    private typealias Alerts = WritingPage.Alerts
    private typealias Download = WritingPage.Download
    private typealias Printer = WritingPage.Printer
    private typealias Round = WritingPage.Round

    /// `MigrationTests` has the code of the migration, and `InputTests` that of inputs.
    @Test(
        arguments: [
            ("WritingAReactor", 5), ("RefusalsAndSources", 5), ("EffectsAndTime", 5),
            ("HostingAReactor", 4), ("Reactors", 2),
        ])
    func `the document's code is compiled, word for word`(_ page: String, _ count: Int) throws {
        let guide = try Guide(
            "Sources/Reactors/Reactors.docc/\(page).md", compiledIn: #filePath,
            "Tests/OwnReactorTests/MigrationTests.swift",
            "Tests/OwnReactorTests/InputTests.swift")
        #expect(guide.blocks.count == count)
        #expect(guide.strayBlocks.isEmpty)
    }

    @Test func `the client of an action may decide about it`() async {
        let host = ReactorHost(WritingPage.Room())
        #expect(await host.send(.enter).accepted)
        #expect(await host.send(.enter, subject: "ada").accepted)
        #expect(await !host.send(.close).accepted)
        #expect(await !host.send(.close, subject: "ada").accepted)
        #expect(await host.send(.close, subject: "host").accepted)
        #expect(await host.currentState.log == ["somebody", "ada", "closed"])
    }

    @Test func `a bid that is too low is refused`() async {
        let host = ReactorHost(WritingPage.Auction())
        let refusal = await host.send(.bid(amount: 3)).refusal
        #expect(refusal == Refusal("bid_too_low", "The highest bid is 12."))
        #expect(await host.send(.bid(amount: 13)).refusal == nil)
        #expect(await host.currentState.highest == 13)
    }

    @Test func `a round closes by itself`() async {
        let driver = TestDriver(Round()) { failure in Issue.record("\(failure)") }
        await driver.send(.open) { $0.isOpen = true }
        await driver.expectTimers(["close": .seconds(60)])
        await driver.advance(by: .seconds(60))
        await driver.receive(timer: "close")
        await driver.receive(.close) { $0.isOpen = false }
        await driver.finish()
    }

    @Test func `a cancelled download says so`() async throws {
        let host = ReactorHost(Download())
        await host.send(.start(url: "https://example.org"))
        await host.send(.cancel)
        #expect(await host.currentState.problem == "cancelled")
    }

    @Test func `an alert is read`() async throws {
        let host = ReactorHost(Alerts())
        let alerts = await host.pulse(\.$alertMessage)
        await host.send(.alert("Hello"))
        for try await message in alerts {  // nil, then Hello
            if message == "Hello" { break }
        }
    }

    @Test func `a download of version 1 is migrated`() throws {
        let state = try Download.migrate(state: Saved(json: #"{"done":0.5}"#).value)
        #expect(state.percent == 50)
        let advance = Saved(json: #"{"type":"advance","done":0.25}"#).value
        guard case .advance(25) = try Download.migrate(mutation: advance) else {
            Issue.record("the mutation was not migrated")
            return
        }
        // `begin` twice: this decoder knows no tags.
        let begin = Saved(json: #"{"type":"begin","begin":{}}"#).value
        guard case .begin = try Download.migrate(mutation: begin) else {
            Issue.record("a mutation that has not changed was not read as it is")
            return
        }
    }

    @Test func `a logger is added and removed`() async {
        let host = ReactorHost(Alerts())
        let token = await host.add(Printer())
        await host.remove(token)
        #expect(await host.readerCount == 0)
    }

    @Test func `its other reactors run`() async {
        #expect(await ReactorHost(WritingPage.Charging()).currentState == 0)
        let topics = TopicBus()
        let host = ReactorHost(WritingPage.Profile(), topics: topics)
        await topics.publish(WritingPage.User(), to: .currentUser).applied()
        #expect(await host.version == 1)
    }
}
