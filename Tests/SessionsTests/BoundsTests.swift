import Reactors
import Sessions
import Storage
import Testing

@Suite("Case 153 — actions of a Cycler that wait are bounded")
struct RunningActionsTests {
    private let gate = Gate()

    private func registration(_ stream: AsyncStream<Teller.Action>? = nil) throws -> Registration {
        let gate = gate
        return try Registration(
            name: "teller", activities: ["said"], examples: [],
            makeCycler: { Teller(gate: gate, stream: stream) })
    }

    private func refusal(_ body: String, _ session: Session, _ rig: Rig) throws -> Int? {
        do {
            try rig.act(body, on: session)
            return nil
        } catch let refusal as ActionRefusal {
            guard case .tooManyRunning(let limit) = refusal else { throw refusal }
            return limit
        }
    }

    @Test func `1000 may wait, and one more is refused without a trace`() async throws {
        let rig = Rig()
        let session = try rig.create("s", try registration())
        for _ in 1...999 { try rig.act(Teller.addLater(1), on: session) }
        let last = try rig.post(Teller.addLater(1), to: session, waits: true)
        rig.endRound()
        let position = session.position
        #expect(try refusal(Teller.addLater(1), session, rig) == 1_000)
        #expect(try refusal(Teller.add(1), session, rig) == 1_000)
        #expect(session.position == position)
        #expect(rig.state(session) == #"{"sum":1000,"text":null}"#)
        gate.open()
        await rig.work { rig.answer(last) != nil }
        #expect(rig.state(session) == #"{"sum":2000,"text":null}"#)
        #expect(try refusal(Teller.add(1), session, rig) == nil)
    }

    @Test func `of a batch, those that find the session full are rejected`() throws {
        let rig = Rig(runningActions: 2)
        let session = try rig.create("s", try registration())
        let batch = Post.all(Teller.addLater(1), Teller.add(1), Teller.addLater(1), Teller.add(1))
        #expect(rig.line(try rig.act(batch, on: session)) == "rejected [3] v3 n3")
        #expect(rig.state(session) == #"{"sum":3,"text":null}"#)
        #expect(try refusal(batch, session, rig) == 2)
    }

    @Test func `what a source brings to a full session is a failure record`() async throws {
        let (stream, feed) = AsyncStream<Teller.Action>.makeStream()
        let rig = Rig(runningActions: 1)
        let session = try rig.create("s", try registration(stream))
        try rig.act(Teller.addLater(1), on: session)
        feed.yield(.add(number: 5))
        await rig.work { session.position.number == 2 }
        #expect(rig.journal.kept.map(\.kind) == [.created, .mutation, .failure])
        #expect(rig.state(session) == #"{"sum":1,"text":null}"#)
    }
}

@Suite("Case 153 — selections of a session that are read at once are bounded")
struct SelectionLimitTests {
    /// Distinct selections without end.
    private func selection(_ number: Int) throws -> Selection { try .part("/x\(number)") }

    @Test func `256 are read, and one more is turned away until another has no reader`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let first = rig.subscribe(session, try selection(0))
        for number in 1..<256 { rig.subscribe(session, try selection(number)) }
        let surplus = rig.subscribe(session, try selection(256))
        #expect(rig.line(surplus) == "tooManySelections 256 v0 n0")
        let same = rig.subscribe(session, try selection(255))
        #expect(rig.line(same) == "subscribed v0 n0")
        rig.output.disconnect(first)
        #expect(rig.line(rig.subscribe(session, try selection(256))) == "subscribed v0 n0")
        #expect(rig.line(rig.subscribe(session, try selection(0))) == "tooManySelections 256 v0 n0")
    }

    @Test func `those that wait for the same commit are counted too`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        try rig.act(Post.set(1), on: session)
        let readers = try (0...256).map { rig.subscribe(session, try selection($0)) }
        rig.settleAll()
        #expect(readers.dropLast().allSatisfy { rig.line($0) == "subscribed v1 n1" })
        #expect(rig.line(readers[256]) == "tooManySelections 256 v1 n1")
    }

    @Test(arguments: [16, 64])
    func `many selections keep no more together than 16 do`(count: Int) throws {
        let rig = Rig(retention: Retention(records: 1_000, bytes: 8_000))
        let session = try rig.create("s", .ledger())
        // Pulses that the reactor has not make them distinct.
        let selections = (0..<count).map { Selection(pulses: 1 | UInt64($0) << 32) }
        for selection in selections.dropLast() { rig.subscribe(session, selection, .now) }
        let stalled = rig.subscribe(session, selections[count - 1], .now, capacity: 0)
        for a in 1...100 { try rig.act(Post.set(a), on: session) }
        rig.output.setCapacity(nil, of: stalled)
        let seen = rig.lines(stalled)
        if count == 16 {
            #expect(seen == (1...100).map { "a \($0) \($0)" })
        } else {
            // 2 000 bytes each: less than 100 events.
            #expect(seen.first == #"reset 100 {"reason":"trimmed"}"#)
        }
    }
}
