import ClientMachine
import Reactors
import Testing

@testable import ReactorClient

/// A part of a program that does not know where the session runs.
private func raise(
    _ number: Int, in store: some ReactorStore<Tally>
) async throws -> (Bool, Int) {
    let accepted = try await store.send(.add(number: number)).accepted
    return (accepted, await store.currentState.count)
}

@Suite("reading a remote session", .timeLimit(.minutes(60)))
struct ReadingTests {
    @Test func `a function that knows only the protocol runs on a remote session`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room()
        async let result = raise(3, in: room)
        let post = await rig.transport.request()
        post.answer(200, receipt(1))
        stream.event("state", at(1), tally(3), cause: post.field("Idempotency-Key"))
        #expect(try await result == (true, 3))
        #expect(await room.version == 1)
        await rig.client.close()
    }

    @Test func `each assignment of a pulse is an element, and predictions are none`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room(tally(0, note: "old"))
        var notes = Reading(await room.pulse(\.$note))
        #expect(try await notes.next() == "old")
        let ticket = try room.submit(.note(text: "new"))
        let post = await rig.transport.request()
        stream.event("newestNote", at(1) + ".1", #""new""#)
        stream.event("state", at(1), tally(0, note: "new"))
        stream.event("newestNote", at(2) + ".1", #""new""#)
        stream.event("state", at(2), tally(0, note: "new"))
        stream.event("newestNote", at(3) + ".1", "null")
        #expect(try await notes.next(3) == ["new", "new", nil])
        post.answer(200, receipt(1))
        _ = try await ticket.receipt()
        // Of a record of which the state has not come, the newest value is the event's.
        #expect(try await Reading(await room.pulse(\.$note)).first(1) == [nil])
        let named = await room.session.pulse("newestNote", as: String?.self)
        #expect(try await Reading(named).first(1) == [nil])
        await rig.client.close()
    }

    @Test func `presence is the newest set that the server sent`() async throws {
        let rig = try Rig(ClientConfiguration(presence: .watching))
        let (room, stream) = try await rig.room()
        #expect(await room.presence == nil)
        var all = Reading(await room.presences)
        stream.send("event: presence\ndata: {\"present\":[\"ada\"],\"others\":2}\n\n")
        #expect(try await all.next() == Presence(present: ["ada"], others: 2))
        stream.send("event: presence\ndata: {\"count\":101,\"others\":0}\n\n")
        #expect(try await all.next() == Presence(count: 101))
        #expect(await room.presence == Presence(present: [], count: 101, others: 0))
        await rig.client.close()
    }

    @Test func `after a reset the present value of a pulse comes once more`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room(tally(0, note: "old"))
        var notes = Reading(await room.pulse(\.$note))
        var events = Reading(await room.events())
        stream.event("reset", at(9), #"{"reason":"trimmed"}"#)
        stream.event(
            "snapshot", at(9), #"{"pulses":{"newestNote":"now"},"state":\#(tally(8, note: "now"))}"#
        )
        #expect(try await notes.next(2) == ["old", "now"])
        #expect(try await events.next().map(text) == "reset trimmed")
        #expect(try await events.next().map(text) == "present 8 \(at(9))")
        #expect(await room.position?.text == at(9))
        await rig.client.close()
    }

    /// A session that shows the note "old", and a reader of it.
    private func core() async throws -> (
        core: SessionCore<Tally.Action, Tally.State, Tally.Activity>, notes: Reading<String?>
    ) {
        let core = SessionCore<Tally.Action, Tally.State, Tally.Activity>(
            Projection(), keepsEvents: false, clock: DriverClock())
        await core.receive([
            snapshot(1, state: tally(1, note: "old")), .shown(ShownChange(advancesBase: true)),
        ])
        await core.learn(1, at: StreamPosition("aaaaaaaa", 1))
        var notes = Reading(await core.pulses(\.$note, 256))
        #expect(try await notes.next() == "old")
        return (core, notes)
    }

    private func snapshot(
        _ number: UInt64, from origin: SessionSnapshot.Origin = .stream, state: String?
    ) -> Delivery {
        .snapshot(
            SessionSnapshot(
                origin, position: StreamPosition("aaaaaaaa", number),
                state: state.map { Array($0.utf8) },
                pulses: Array(#"{"newestNote":"of the snapshot"}"#.utf8)))
    }

    private func state(_ number: UInt64, _ state: String) -> Delivery {
        .state(
            StreamEvent(
                name: "state", position: StreamPosition("aaaaaaaa", number),
                data: Array(state.utf8)), isConfirmed: true)
    }

    @Test func `after a reset whose snapshot does not come the next state has the present values`()
        async throws
    {
        var (core, notes) = try await core()
        await core.receive([.reset(reason: "trimmed")])
        // Versions are lost with the events.
        #expect(await core.version == nil)
        await core.receive([state(9, tally(9, note: "now")), state(10, tally(10, note: "now"))])
        #expect(await core.version == nil)
        await core.receive([.reset(reason: "trimmed"), state(11, #"{"count":"many"}"#)])
        await core.receive([state(12, tally(12, note: "later"))])
        await core.finish()
        #expect(try await notes.next(3) == ["now", "later"])
    }

    @Test func `after a reset a state that was read has the present values, once`() async throws {
        var (core, notes) = try await core()
        // Instead of a snapshot.
        await core.receive([
            .reset(reason: "trimmed"), snapshot(9, from: .reading, state: tally(9, note: "read")),
            state(10, tally(10, note: "read")),
        ])
        // It is newer than the snapshot, which is given without its state.
        await core.receive([
            snapshot(15, from: .reading, state: tally(15, note: "newer")),
            .reset(reason: "trimmed"),
            snapshot(12, state: nil), state(16, tally(16, note: "newer")),
        ])
        // Without a reset nothing is lost.
        await core.receive([
            snapshot(20, from: .reading, state: tally(20, note: "x")), snapshot(18, state: nil),
        ])
        await core.finish()
        #expect(try await notes.next(3) == ["read", "newer"])
    }

    @Test func `a reader of events may have room for any number of them`() async throws {
        let rig = try Rig()
        let position = try #require(Position(at(4)))
        async let joined: RemoteReactor<Tally> = rig.client.join("room", from: .after(position))
        let stream = await rig.transport.stream()
        stream.head()
        stream.event("state", at(5), tally(1))
        var events = Reading(await (try await joined).events(buffer: .max))
        #expect(try await events.next().map(text) == "state 1 \(at(5))")
        await rig.client.close()
    }

    @Test func `events of the present and of changes are kept apart`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room()
        var events = Reading(await room.events())
        var hints = Reading(await room.activities())
        stream.event("hint", at(1), #"{"type":"hint","text":"soon"}"#)
        stream.event("newestNote", at(2) + ".1", #""a""#)
        stream.event("state", at(2), tally(1, note: "a"))
        #expect(
            try await events.next(3).map(text) == [
                "hint soon \(at(1))", "pulse newestNote a \(at(2)).1", "state 1 \(at(2))",
            ])
        #expect(try await hints.next() == .hint(text: "soon"))
        await rig.client.close()
    }

    @Test func `events since a position are kept for the first reader`() async throws {
        let rig = try Rig()
        let position = try #require(Position(at(4)))
        async let joined: RemoteReactor<Tally> = rig.client.join("room", from: .after(position))
        let stream = await rig.transport.stream()
        #expect(stream.target.contains("after=\(at(4))"))
        stream.head()
        stream.event("newestNote", at(5) + ".1", #""missed""#)
        stream.event("state", at(5), tally(1, note: "missed"))
        let room = try await joined
        stream.event("state", at(6), tally(2, note: "missed"))
        var events = Reading(await room.events())
        #expect(
            try await events.next(3).map(text) == [
                "pulse newestNote missed \(at(5)).1", "state 1 \(at(5))", "state 2 \(at(6))",
            ])
        await rig.client.close()
    }

    @Test func `a state that was read beside the stream is no position to continue after`()
        async throws
    {
        let rig = try Rig()
        let position = try #require(Position(at(4)))
        async let joined: RemoteReactor<Tally> = rig.client.join("room", from: .after(position))
        let stream = await rig.transport.stream()
        stream.head()
        let read = await rig.transport.request()
        #expect(read.target == "/v1/sessions/room")
        read.answer(
            200,
            #"{"id":"room","reactor":"tally","version":9,"position":"\#(at(9))","state":\#(tally(9))}"#
        )
        let room = try await joined
        #expect(await room.currentState.count == 9)
        #expect(await room.position == nil)
        var events = Reading(await room.events())
        stream.event("newestNote", at(5) + ".1", #""missed""#)
        #expect(
            try await events.next(2).map(text) == [
                "present 9 \(at(9))", "pulse newestNote missed \(at(5)).1",
            ])
        #expect(await room.position?.text == at(5) + ".1")
        await rig.client.close()
    }

    @Test func `a state of another program changes nothing but the status`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room(tally(1))
        var statuses = Reading(await room.statuses)
        #expect(try await statuses.next() == .live)
        stream.event("state", at(1), #"{"count":"many"}"#)
        let status = try await statuses.next()
        guard case .undecodable(let sentence)? = status else { throw SendFailure.empty }
        #expect(sentence.contains("/count"))
        #expect(await room.currentState.count == 1)
        stream.event("state", at(2), tally(2))
        #expect(try await statuses.next() == .live)
        #expect(await room.currentState.count == 2)
        await rig.client.close()
    }

    @Test func `a snapshot of another program changes nothing but the status`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room(tally(1, note: "old"))
        var statuses = Reading(await room.statuses)
        var events = Reading(await room.events())
        var notes = Reading(await room.pulse(\.$note))
        #expect(try await statuses.next() == .live)
        #expect(try await notes.next() == "old")
        stream.event("reset", at(8), #"{"reason":"trimmed"}"#)
        stream.event("snapshot", at(8), #"{"pulses":{"newestNote":"new"},"state":{"title":"x"}}"#)
        guard case .undecodable(let sentence)? = try await statuses.next() else {
            throw SendFailure.empty
        }
        #expect(sentence.contains("count"))
        // It keeps the last good one. The position is the snapshot's: an update of the program
        // continues there.
        #expect(await room.currentState == .init(count: 1, note: "old"))
        #expect(await room.confirmedState.count == 1)
        #expect(await room.position?.text == at(8))
        // A reader of a pulse gets its present value from the snapshot's pulses, and later events.
        #expect(try await notes.next() == "new")
        stream.event("newestNote", at(9) + ".1", #""newer""#)
        #expect(try await notes.next() == "newer")
        stream.event("state", at(9), tally(9, note: "newer"))
        #expect(try await statuses.next() == .live)
        #expect(await room.currentState.count == 9)
        #expect(
            try await events.next(3).map(text) == [
                "reset trimmed", "pulse newestNote newer \(at(9)).1", "state 9 \(at(9))",
            ])
        await rig.client.close()
    }

    @Test func `the version counts states from a receipt on, or is read`() async throws {
        let rig = try Rig()
        let (room, stream) = try await rig.room()
        var counts = Reading(await room.state(\.count))
        stream.event("state", at(1), tally(1))
        stream.event("state", at(3), tally(3))
        #expect(try await counts.next(3) == [0, 1, 3])
        async let version = room.version
        let read = await rig.transport.request()
        #expect(read.target == "/v1/sessions/room")
        let answer =
            #"{"id":"room","reactor":"tally","version":11,"position":"aaaaaaaa.1","state":\#(tally(1))}"#
        read.answer(200, answer)
        #expect(await version == 12)
        stream.event("state", at(4), tally(4))
        #expect(try await counts.next() == 4)
        #expect(await room.version == 13)
        await rig.client.close()
    }

    @Test func `a session of shapes alone reads the same events`() async throws {
        struct Shape: Codable, Sendable, Equatable {
            let count: Int
            let newestNote: String?
        }
        let rig = try Rig()
        async let stream = rig.transport.serve(tally(2, note: "x"), pulses: #"{"newestNote":"x"}"#)
        let room = try await rig.client.session(
            "room", of: "tally", actions: Tally.Action.self, state: Shape.self,
            activities: Tally.Activity.self)
        #expect(await room.currentState == Shape(count: 2, newestNote: "x"))
        var notes = Reading(await room.pulse("newestNote", as: String?.self))
        await stream.event("newestNote", at(1) + ".1", #""y""#)
        #expect(try await notes.next(2) == ["x", "y"])
        await rig.client.close()
    }
}

private func text(_ event: RemoteEvent<Tally.State, Tally.Activity>) -> String {
    switch event {
    case .present(let state, let position): "present \(state.count) \(position)"
    case .reset(let reason): "reset \(reason)"
    case .state(let state, let position): "state \(state.count) \(position)"
    case .pulse(let pulse):
        "pulse \(pulse.name) \((try? pulse.value(as: String.self)) ?? "?") \(pulse.position)"
    case .activity(.hint(let text), let position): "hint \(text) \(position)"
    case .ended(let reason): "ended \(reason)"
    }
}
