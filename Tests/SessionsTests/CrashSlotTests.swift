import Cyclers
import Reactors
import Storage
import Testing

@testable import Sessions

@Suite("Case 151 — a loop names a session no longer than it works", .timeLimit(.minutes(60)))
struct CrashSlotTests {
    private final class Whole: ActionCycler {
        enum Action: TaggedCodable, Sendable { case count }
        struct State: Codable, Sendable { var count = 0 }
        let state: Storage<State> = .init(.init())
        let hasSource: Bool

        init(hasSource: Bool = false) { self.hasSource = hasSource }

        var sources: [Source] {
            hasSource
                ? [.actions(topic: Topic<String>("user", remembers: true)) { _ in .count }] : []
        }

        func receive(_ action: Action) async throws {
            commit { $0.update($0.value.count + 1, \.count) }
        }
    }

    private final class Part: ActionCycler, ModularCycler {
        enum Action: TaggedCodable, Sendable { case forward }
        struct State: Codable, Sendable { var isMarked = false }
        let state: Storage<State> = .init(.init())
        let parent = CyclerParent<Whole>()

        func receive(_ action: Action) async throws { try await forward(.count) }
    }

    private func whole(hasSource: Bool = false) throws -> Registration {
        try Registration(
            name: "whole", activities: [], examples: [],
            makeCycler: { Whole(hasSource: hasSource) })
    }

    @Test func `an action of a part that the parent has carried out is over`() async throws {
        let rig = Rig()
        let parent = try rig.create("p", try whole())
        let part = try rig.create(
            "p--a",
            try Registration(name: "part", activities: [], examples: [], makePart: { Part() }))
        try rig.act(#"{"type":"forward"}"#, on: part)
        await rig.work { parent.version == 1 }
        #expect(!rig.table.turns.slot.isBusy)
    }

    @Test func `a new session has its sources' present values, and is made`() throws {
        let topics = TopicBus()
        topics.publish("u0", to: Topic<String>("user", remembers: true))
        let rig = Rig(topics: topics)
        let session = try rig.create("s", try whole(hasSource: true))
        #expect(session.version == 1)
        #expect(!rig.table.turns.slot.isBusy)
    }
}
