import Feeds
import Sessions
import Storage
import Testing

@Suite(
    "Work has a bound — a state that grows counts as large as it is", .timeLimit(.minutes(60)))
struct GrowingStateTests {
    private static let fill = 200_000
    /// About the bytes of a state that is filled: it has them twice.
    private static let size = 2 * fill

    /// The state before the first record that the reader needs is small, or counts already.
    @Test(arguments: [1_000, fill])
    func `a reader of the journal has its state, and the event that it has not accepted`(
        before: Int
    ) throws {
        let grown = 3 * Self.fill
        let (rig, session) = try Rig.filled([before, grown, grown + 1, grown + 2, grown + 3])
        let reader = rig.subscribe(
            session, .allStates, .after("\(session.generation.text).1"), capacity: 1)
        rig.drainInbox()
        #expect((4 * grown..<4 * grown + 10_000).contains(rig.work.used))
        rig.output.setCapacity(nil, of: reader)
        rig.drainInbox()
        #expect(rig.lines(reader).filter { $0.hasPrefix("state") }.count == 4)
        #expect(rig.work.used == 0)
    }

    @Test func `a rebuild counts what each mutation adds, up to the limit of a state`() throws {
        let (rig, session) = try Rig.filled(Array(repeating: Self.fill, count: 6))
        let limit = 3 * Self.size / 2
        rig.table.limits.stateBytes = limit
        rig.journal.setLate(true)
        let token = rig.nextToken()
        session.read(version: 4, for: token)
        var counted: [Int] = []
        while rig.journal.askedCount > 0 {
            rig.journal.answer(at: 0)
            rig.drainInbox()
            if rig.work.used != counted.last { counted.append(rig.work.used) }
        }
        #expect(rig.line(token).hasPrefix("state"))
        // The answer.
        let last = counted.popLast() ?? 0
        #expect((Self.size..<Self.size + 1_000).contains(last))
        // None before the first mutation is applied. Then the state, decoded and encoded.
        let first = RebuildQueue.factor * Self.fill
        #expect(counted.first == 0)
        #expect(counted.contains { (first..<2 * first).contains($0) })
        #expect(counted.max() == RebuildQueue.factor * limit)
        #expect(counted == counted.sorted())
        rig.output.releaseAnswers()
        #expect(rig.work.used == 0)
    }
}
