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
