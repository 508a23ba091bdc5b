import Cyclers
import Reactors
import Testing

@Suite(
    "case 133: a part forwards actions to its parent cycler", .timeLimit(.minutes(60)))
struct ModularCyclerTests {
    private final class Row: ModularCycler {
        struct State: Sendable { var isMarked = false }
        let state: Storage<State> = .init(.init())
        let parent: CyclerParent<Tally>

        init(of parent: Tally? = nil) { self.parent = CyclerParent(parent) }

        func count() throws -> Int {
            try forward { tally in
                tally.add(1)
                return tally.state.value.a
            }
        }
    }

    @Test func `case 133: forward reaches the parent's commit`() throws {
        let tally = Tally()
        #expect(try Row(of: tally).count() == 1)
        #expect(tally.version == 1)
    }

    @Test func `case 133: a forwarded action is received by the parent`() async throws {
        let tally = Tally()
        try await Row(of: tally).forward(.add(3))
        #expect(tally.state.value.a == 3)
        await #expect(throws: Tally.Refused.self) {
            try await Row(of: tally).forward(.fail(after: 1))
        }
    }

    @Test func `case 133: without a parent it is an error, both ways`() async {
        let orphan = Row()
        #expect(throws: CyclerParentMissing.self) { try orphan.count() }
        await #expect(throws: CyclerParentMissing.self) { try await orphan.forward(.add(1)) }
    }

    @Test func `case 133: a part does not retain its parent, which may be released and replaced`()
        throws
    {
        var tally: Tally? = Tally()
        weak let gone = tally
        let row = Row(of: tally)
        tally = nil
        #expect(gone == nil)
        #expect(throws: CyclerParentMissing.self) { try row.count() }
        let other = Tally()
        row.parent.link(to: other)
        #expect(try row.count() == 1)
    }

    @Test func `a parent on another loop is reached through its mailbox`() async throws {
        let row = Row(of: Tally())
        let (actions, continuation) = AsyncStream<Tally.Action>.makeStream()
        row.parent.link(
            through: ParentMailbox { action, _ in
                guard action != .failLater else { throw CyclerParentMissing() }
                continuation.yield(action)
            })
        try await row.forward(.add(1))
        await #expect(throws: CyclerParentMissing.self) { try await row.forward(.failLater) }
        #expect(throws: CyclerParentMissing.self) { try row.count() }
        var iterator = actions.makeAsyncIterator()
        #expect(await iterator.next() == .add(1))
    }
}
