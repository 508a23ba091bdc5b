import Foundation
import ReactorReplay
import ReactorTesting
import Reactors
import Testing
import XCTest

// The code of `TestingAReactor.md`, compiled and run.

struct Counter: Reactor {
    enum Action: Equatable { case increase }
    enum Mutation: Equatable { case setLoading(Bool), increaseValue, setAlert(String) }

    struct State: Equatable {
        var value = 0
        var isLoading = false
        @Pulse var alert: String?
    }

    let initialState = State()

    func mutate(action: Action) -> Effect<Mutation> {
        .concat(
            .just(.setLoading(true)),
            .run { send in
                try await send.clock.sleep(for: .milliseconds(500))
                await send(.increaseValue)
            },
            .just(.setLoading(false)),
            .just(.setAlert("increased!")))
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .setLoading(let isLoading): state.isLoading = isLoading
        case .increaseValue: state.value += 1
        case .setAlert(let alert): state.alert = alert
        }
    }
}

extension TestDriver {
    convenience init(_ reactor: sending R, clock: ManualClock = ManualClock()) {
        self.init(reactor, clock: clock) { failure in
            let place = failure.place
            Issue.record(
                Comment(rawValue: failure.message),
                sourceLocation: SourceLocation(
                    fileID: place.fileID, filePath: "\(place.filePath)", line: place.line,
                    column: place.column))
        }
    }
}

// Only compiled: inside a test of Swift Testing XCTest records nothing.
private struct ForXCTest {
    func report(_ failure: DriverFailure) {
        XCTFail(failure.message, file: failure.place.filePath, line: UInt(failure.place.line))
    }
}

@Suite("The guide to testing a reactor", .timeLimit(.minutes(60)))
struct TestingAReactorTests {
    @Test(.timeLimit(.minutes(5)))
    func `increasing loads, increases, and says so`() async {
        let driver = TestDriver(Counter())
        await driver.send(.increase) { $0.isLoading = true }
        await driver.advance(by: .milliseconds(500))
        await driver.receive(.increaseValue) { $0.value = 1 }
        await driver.receive(.setLoading(false)) { $0.isLoading = false }
        await driver.receive(.setAlert("increased!")) { $0.alert = "increased!" }
        await driver.finish()
    }

    @Test func `a report is an issue of the test, at the line of the call`() async {
        let line = #line + 3
        await withKnownIssue {
            let driver = TestDriver(Counter())
            await driver.receive(.increaseValue)
            await driver.finish()
        } matching: { issue in
            issue.sourceLocation?.line == line && issue.sourceLocation?.fileID == #fileID
                && issue.comments == [
                    "Expected the mutation increaseValue, but nothing running can produce it."
                ]
        }
    }

    @Test func `time passes only when the test advances it`() async {
        let clock = ManualClock()
        let host = ReactorHost(Counter(), clock: clock)
        await host.send(.increase)
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(500))
        await host.settled()
        #expect(await host.currentState.value == 1)
    }

    @Test func `a stub stands in`() async throws {
        let host = ReactorHost(Counter())
        let stub = Stub(host)
        await stub.enable()
        try await stub.inject { $0.value = 30 }
        #expect(await host.currentState.value == 30)
        await host.send(.increase)
        #expect(await stub.actions == [.increase])
        await stub.disable()
        #expect(await host.currentState.value == 0)
    }

    @Test(arguments: [("TestingAReactor", 7), ("ReactorTesting", 1)])
    func `the document's code is in this file, word for word`(_ name: String, _ count: Int) throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let page = try String(
            contentsOf: root.appending(
                path: "Sources/ReactorTesting/ReactorTesting.docc/\(name).md"),
            encoding: .utf8)
        let compiled = Self.lines(try String(contentsOfFile: #filePath, encoding: .utf8))
        let blocks = page.split(separator: "```swift\n").dropFirst().compactMap {
            $0.split(separator: "```").first.map(Self.lines)
        }
        #expect(blocks.count == count)
        for block in blocks { #expect(compiled.contains(block), "\(block)") }
    }

    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }
}

private struct Lamp: Reactor {
    enum Action: TaggedCodable, Sendable { case turn(level: Int) }

    struct State: Codable, Sendable {
        var level = 0
    }

    let initialState = State()

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .turn(let level): state.level = level
        }
    }
}

@Suite("Testing a reactor — production's history", .timeLimit(.minutes(60)))
struct ProductionTests {
    private let fixture = NSTemporaryDirectory() + "replay-" + UUID().uuidString

    init() throws {
        let action = #"{"type":"turn","level":3}"#
        let lines = [
            #"{"session":"lamp-7","reactor":"lamp","generation":"abcdefgh","created":0,"#
                + #""keptAfter":0,"keptVersion":0}"#,
            #"{"record":1,"part":1,"kind":"note","version":0,"action":1,"time":0,"#
                + #""content":{"kind":"action.received","content":{"received":\#(action)}}}"#,
            #"{"record":1,"kind":"mutation","version":1,"action":1,"time":0,"content":\#(action)}"#,
        ]
        try lines.joined(separator: "\n").write(
            toFile: fixture, atomically: true, encoding: .utf8)
    }

    @Test func `a session of production does today what it did`() throws {
        let export = try String(contentsOfFile: fixture, encoding: .utf8)
        let session = try ExportedSession("lamp-7", of: export)
        let difference = try session.replay(with: Lamp())
        #expect(difference == nil, "\(difference.map(String.init(describing:)) ?? "")")
    }
}
