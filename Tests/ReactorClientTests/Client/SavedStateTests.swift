import ClientMachine
import Foundation
import Reactors
import Testing

@testable import ReactorClient

/// A folder of its own, removed at the end.
private func withFile(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("saved-states-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.appendingPathComponent("outbox").path)
}

private func openRig(_ path: String, keepsStates: Bool = true) throws -> Rig {
    try Rig(ClientConfiguration(outbox: .file(path, keepsStates: keepsStates)))
}

@Suite("a client shows the last known state after a restart", .timeLimit(.minutes(60)))
struct SavedStateTests {
    /// A life of a program: `room` has the count 3 and the note "a", and an action is not done.
    private func live(_ path: String) async throws {
        let rig = try openRig(path)
        let (room, stream) = try await rig.room()
        var counts = Reading(await room.state(\.count))
        stream.event("newestNote", at(3) + ".1", #""a""#)
        stream.event("state", at(3), tally(3, note: "a"))
        #expect(try await counts.next(2) == [0, 3])
        try room.submit(.add(number: 10))
        _ = await rig.transport.request()
        await rig.client.close()
    }

    @Test func `without a network it is there at once, then the present takes its place`()
        async throws
    {
        try await withFile { path in
            try await live(path)
            let rig = try openRig(path)
            let room: RemoteReactor<Tally> = try await rig.client.session(
                "room", of: "tally", predicting: Tally())
            #expect(await room.currentState.count == 13)
            #expect(await room.confirmedState.count == 3)
            #expect(room.pending == 1)
            #expect(await room.position?.text == at(3))
            #expect(room.status != .live)
            var notes = Reading(await room.pulse(\.$note))
            var events = Reading(await room.events())
            #expect(try await notes.next() == "a")
            let post = await rig.transport.request()
            #expect(post.request.method == "POST")
            await rig.transport.request().answer(200)
            let stream = await rig.transport.open(
                tally(17, note: "b"), pulses: #"{"newestNote":"b"}"#, position: at(8))
            // Assignments in between are not known, so the present value comes once.
            #expect(try await notes.next() == "b")
            guard case .present(let state, _)? = try await events.next() else {
                throw SendFailure.empty
            }
            #expect(state.count == 17)
            post.answer(200, receipt(8))
            stream.event("newestNote", at(9) + ".1", "null")
            #expect(try await notes.next() == .some(nil))
            #expect(await room.currentState.count == 17)
            await rig.client.close()
        }
    }

    @Test func `events continue a saved state, each once`() async throws {
        try await withFile { path in
            try await live(path)
            let rig = try openRig(path)
            let room: RemoteReactor<Tally> = try await rig.client.session(
                "room", of: "tally", from: .saved)
            #expect(await room.currentState.count == 3)
            // The action of the life before. A state that may have its effect would not be saved.
            await rig.transport.request().answer(200, receipt(4))
            await rig.transport.request().answer(200)
            let stream = await rig.transport.stream()
            #expect(stream.target.hasSuffix("after=\(at(3))"))
            stream.head()
            stream.event("newestNote", at(4) + ".1", #""missed""#)
            stream.event("state", at(4), tally(4, note: "missed"))
            var counts = Reading(await room.state(\.count))
            while try await counts.next() != 4 {}
            var events = Reading(await room.events())
            guard case .pulse(let pulse)? = try await events.next() else {
                throw SendFailure.empty
            }
            #expect(try pulse.value(as: String.self) == "missed")
            await rig.client.close()
            // The position of the newest event is saved, not that of the oldest state.
            let next = try openRig(path)
            async let again: RemoteReactor<Tally> = next.client.join("room", from: .saved)
            #expect(await next.transport.stream().target.hasSuffix("after=\(at(4))"))
            #expect(try await again.currentState.count == 4)
            await next.client.close()
        }
    }

    @Test func `a session that is over, left or of other types`() async throws {
        struct Other: Codable, Sendable { let title: String }
        try await withFile { path in
            try await live(path)
            let first = try openRig(path)
            let task = Task {
                try await first.client.session(
                    "room", of: "tally", actions: Tally.Action.self, state: Other.self)
            }
            // A state that this program cannot decode is as none.
            await first.transport.request().answer(200, receipt(4))
            await first.transport.request().answer(200)
            _ = await first.transport.open(#"{"title":"x"}"#)
            let other = try await task.value
            #expect(await other.currentState.title == "x")
            await other.leave()
            let (room, stream) = try await first.room(tally(5))
            stream.send("event: end\ndata: {\"reason\":\"deleted\"}\n\n")
            var statuses = Reading(await room.statuses)
            while try await statuses.next() != nil {}
            await first.client.close()
            let second = try openRig(path)
            let gone: Task<RemoteReactor<Tally>, any Error> = Task {
                try await second.client.join("room")
            }
            await second.transport.stream().problem(404, "unknown_session")
            await #expect(throws: ClientFailure.ended(.unknown)) { try await gone.value }
            await second.client.close()
        }
    }

    @Test func `a file without states has none`() async throws {
        try await withFile { path in
            try await live(path)
            let without = try Rig(
                ClientConfiguration(outbox: .file(path, keepsStates: false)))
            let waiting: Task<RemoteReactor<Tally>, any Error> = Task {
                try await without.client.join("room")
            }
            await without.transport.stream().problem(403, "forbidden")
            await #expect(throws: ClientFailure.refused(problem(403, "forbidden"))) {
                try await waiting.value
            }
            await without.client.close()
        }
    }

    @Test func `states are bounded by their number`() throws {
        var contents = OutboxContents()
        let position = StreamPosition("aaaaaaaa", 1)
        for number in 0..<OutboxContents.stateLimit + 10 {
            contents.apply(
                SavedState(position: position, state: [1]), of: try name("s\(number)"))
        }
        #expect(contents.states.count == OutboxContents.stateLimit)
        #expect(contents.states[try name("s9")] == nil)
        #expect(contents.states[try name("s10")] != nil)
    }
}

@Suite("a client that is killed shows what it knew", .serialized, .timeLimit(.minutes(60)))
struct KilledClientTests {
    @Test func `kill -9 loses no action, and leaves a state that fits to the actions`() async throws
    {
        try await withFile { path in
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                try await Self.liveUntilKilled(path)
            }
            // Its last whole line is the last one that was durable.
            let rig = try Rig(ClientConfiguration(outbox: .file(path)))
            let room: RemoteReactor<Tally> = try await rig.client.session(
                "room", of: "tally", predicting: Tally())
            #expect(await room.confirmedState.count == 3)
            #expect(await room.currentState.count == 13)
            await rig.client.close()
        }
    }

    private static func liveUntilKilled(_ path: String) async throws {
        let outbox = ClientOutbox {
            FileOutbox(path, keepsStates: true, stateInterval: .zero)
        }
        let rig = try Rig(ClientConfiguration(outbox: outbox))
        let (room, stream) = try await rig.room()
        var counts = Reading(await room.state(\.count))
        stream.event("state", at(3), tally(3))
        _ = try await counts.next(2)
        await Self.wait(for: path) { contents in
            contents.states[room.session.name]?.state == Array(tally(3).utf8)
        }
        try room.submit(.add(number: 10))
        let post = await rig.transport.request()
        // Its effect arrives, and its answer does not: this state must not be saved.
        stream.event(
            "state", at(4), tally(13), cause: post.field("Idempotency-Key"))
        _ = try await counts.next(1)
        let other = try room.submit(.add(number: 0))
        var progress = Reading(other.outcomes)
        // It is in the file then, after everything that was saved before.
        #expect(try await progress.next() == .queued)
        _ = raise(SIGKILL)
    }

    /// Waits until the file has something, as another program would read it.
    private static func wait(
        for path: String, _ isThere: (OutboxContents) -> Bool
    ) async {
        while true {
            let bytes = FileManager.default.contents(atPath: path).map(Array.init) ?? []
            let read = try? OutboxContents.read(bytes, account: nil, keepsStates: true)
            if let (contents, _) = read, isThere(contents) { return }
            await Task.yield()
        }
    }
}
