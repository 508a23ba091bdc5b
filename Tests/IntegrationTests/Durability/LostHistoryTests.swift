import Foundation
import PostgresRig
import Synchronization
import Testing

@Suite(
    "ADR-0047 — a standby that lacks acknowledged commits is promoted", .timeLimit(.minutes(60)))
struct LostHistoryTests {
    /// The events of a stream up to the snapshot after a `reset`; of the action log, up
    /// to the `reset`.
    private func eventsThroughReset(_ stream: EventStream, hasSnapshot: Bool) async throws
        -> [Event]
    {
        var events: [Event] = []
        while events.last?.name != "reset" { events.append(try await stream.next()) }
        if hasSnapshot { events.append(try await stream.next()) }
        return events
    }

    /// A session, and a reader of each kind.
    private struct Watched {
        var session: SessionHandle
        var streams: [(name: String, stream: EventStream)] = []

        static let names = ["pulses", "states", "log", "events"]
    }

    private func watched(_ client: Client) async throws -> Watched {
        var watched = Watched(session: try await client.session("alerts"))
        try await watched.session.alert("kept")
        for name in Watched.names {
            let stream =
                name == "log"
                ? try await watched.session.openLog()
                : try await watched.session.follow(name)
            watched.streams.append((name, stream))
        }
        return watched
    }

    private func post(
        _ message: String, to session: SessionHandle, _ fields: [(name: String, value: String)]
    ) async throws -> Response {
        var request = Request.json(
            "POST", "\(session.path)/actions", #"{"type":"alert","message":"\#(message)"}"#)
        request.fields += fields
        return try await session.client.send(request)
    }

    @Test func `each stream gets a reset, each If-Match 412, and no id has two contents`()
        async throws
    {
        try await Turnstile.servers.pass {
            let primary = try PostgresServer()
            let place = PostgresServer.newFolder()
            let server = try await ServerProcess.start(
                .server,
                ["--journal", primary.address("reactor", by: "\(primary.folder),\(place)")])
            var all: [Watched] = []
            for _ in 0..<6 { all.append(try await watched(server.client())) }
            let standby = try PostgresServer(standbyOf: primary, in: place)
            try standby.stop("fast")

            // Acknowledged, and not on the standby.
            for one in all {
                #expect(try await one.session.alert("lost").version == 2)
                let keyed = try await post(
                    "keyed", to: one.session, [("Idempotency-Key", "k")])
                #expect(keyed.status == 200)
            }
            let late = try await server.client().session("alerts")
            let orphan = try await late.follow("pulses")
            var tags: [String] = []
            for one in all {
                tags.append(try #require(try await server.client().get(one.session.path)["ETag"]))
            }
            try primary.stop("immediate")
            let first = all[0].session
            let answered = Atomic(false)
            async let waiting = {
                defer { answered.store(true, ordering: .relaxed) }
                return try await post("waiting", to: first, [])
            }()
            // Sent after the promotion, it would succeed.
            while try await !server.client().get("/metrics").text.contains(
                "\nreactor_replies_waiting 1\n"), !answered.load(ordering: .relaxed)
            {}
            try standby.start()
            try standby.promote()

            var contents: [String: String] = [:]
            for (one, tag) in zip(all, tags) {
                try await expectReset(one, &contents)
                let stale = try await post("stale", to: one.session, [("If-Match", tag)])
                #expect(stale.status == 412)
                let again = try await post("keyed", to: one.session, [("Idempotency-Key", "k")])
                #expect(again.status == 200)
                try await expectContinuation(one, &contents)
            }
            #expect(try await orphan.rest().isEmpty)
            #expect(try await server.client().get(late.path).status == 404)
            // Nobody knows whether it was applied, or the wait for the database was over before.
            #expect([503, 504].contains(try await waiting.status))
            let metrics = try await server.client().get("/metrics").text
            #expect(metrics.contains("\nreactor_journal_history_losses_total 1\n"))
            #expect(server.log.present.errors.contains("the database has lost history"))
            server.signal(SIGTERM)
            #expect(try await server.exit() == .code(0))
        }
    }

    private func record(_ events: [Event], _ contents: inout [String: String], _ name: String) {
        for event in events where event.name != "reset" {
            let before = contents.updateValue(
                event.data, forKey: "\(name) \(event.name) \(event.id)")
            #expect(before == nil || before == event.data, "\(event)")
        }
    }

    private func expectReset(_ one: Watched, _ contents: inout [String: String]) async throws {
        for (name, stream) in one.streams {
            let events = try await eventsThroughReset(stream, hasSnapshot: name != "log")
            record(events, &contents, "\(one.session.id) \(name)")
            let reset = try #require(events.first { $0.name == "reset" })
            #expect(reset.data == #"{"reason":"generation"}"#)
            #expect(events.filter { $0.name == "reset" }.count == 1)
            guard name != "log" else { continue }
            #expect(events.dropLast(2).allSatisfy { $0.id.hasPrefix(one.session.generation) })
            #expect(events.dropLast(2).contains { $0.data.contains("lost") })
            let snapshot = try #require(events.last)
            #expect(snapshot.name == "snapshot")
            #expect(snapshot.data.contains("kept"))
            #expect(!snapshot.id.hasPrefix(one.session.generation))
        }
    }

    /// Events of the new era follow on the same connections, and a client that resumes with an id
    /// of the previous era gets a `reset`.
    private func expectContinuation(
        _ one: Watched, _ contents: inout [String: String]
    ) async throws {
        try await one.session.alert("last")
        for (name, stream) in one.streams {
            var events: [Event] = []
            while !(events.last?.data.contains("last") ?? false) {
                events.append(try await stream.next())
            }
            record(events, &contents, "\(one.session.id) \(name)")
            #expect(!events.contains { $0.data.contains("lost") || $0.data.contains("stale") })
        }
        let resumed = try await one.session.open(
            "pulses", [("Last-Event-ID", "\(one.session.generation).2")])
        let events = try await resumed.next(2)
        #expect(events.map(\.name) == ["reset", "snapshot"])
        #expect(events[0].data == #"{"reason":"generation"}"#)
        #expect(events[1].data.contains("last"))
        record(events, &contents, "\(one.session.id) pulses")
    }
}
