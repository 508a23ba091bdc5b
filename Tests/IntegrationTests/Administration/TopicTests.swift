import Foundation
import Glibc
import Testing

@Suite("Case 95 — a topic reaches every session that listens", .timeLimit(.minutes(60)))
struct TopicTests {
    private let topic = "/v1/topics/currentUser"

    @Test func `case 95: one post is one mutation in every session, on every loop`() async throws {
        try await withServer(.fixtures, "--admin", "on", "--loops", "3") { server in
            let client = server.client()
            var sessions: [SessionHandle] = []
            var streams: [EventStream] = []
            for _ in 1...8 {
                let session = try await client.session("profile")
                sessions.append(session)
                streams.append(try await session.follow("pulses"))
            }
            let other = try await client.session("pulses")
            for name in ["ada", "grace"] {
                let answer = try await client.post(topic, #"{"name":"\#(name)"}"#)
                #expect(answer.status == 200)
                #expect(try answer.json == ["sessions": 8])
                // The reply means that the value is committed in all of them.
                for session in sessions {
                    #expect(try await session.state()["user"] == ["name": .string(name)])
                }
            }
            for stream in streams {
                let events = try await stream.next(2)
                #expect(events.map(\.data) == [#"{"name":"ada"}"#, #"{"name":"grace"}"#])
            }
            for session in sessions { #expect(try await session.read()["version"] == 2) }
            #expect(try await other.read()["version"] == 0)
        }
    }

    @Test func `case 97: a deleted session stops listening, the others do not`() async throws {
        try await withServer(.fixtures, "--admin", "on", "--loops", "2") { server in
            let client = server.client()
            let gone = try await client.session("profile")
            let stays = try await client.session("profile")
            #expect(try await client.post(topic, "null").json == ["sessions": 2])
            #expect(try await client.delete(gone.path).status == 204)
            #expect(try await client.post(topic, #"{"name":"ada"}"#).json == ["sessions": 1])
            #expect(try await stays.post(#"{"type":"touch"}"#).version == 3)
            #expect(try await client.delete(stays.path).status == 204)
            #expect(try await client.post(topic, "null").json == ["sessions": 0])
        }
    }

    @Test func `case 95: a topic reaches Cyclers too, as an action`() async throws {
        try await withServer(.fixtures, "--admin", "on", "--loops", "3") { server in
            let client = server.client()
            var streams: [EventStream] = []
            for _ in 1...3 { streams.append(try await client.session("cycle").follow("pulses")) }
            #expect(
                try await client.post("/v1/topics/shouts", #""hey""#).json == ["sessions": 3])
            for stream in streams { #expect(try await stream.next().data == #""hey""#) }
        }
    }

    @Test func `case 96: a session created later has the value before it is visible`()
        async throws
    {
        try await withServer(.fixtures, "--admin", "on", "--loops", "3") { server in
            let client = server.client()
            let member = "/v1/topics/member"
            // No session listens yet, and a value that does not decode is refused all the same.
            try expectProblem(
                try await client.post(member, #"{"nome":"ada"}"#), 422, "not_a_value",
                detail: "name")
            let answer = try await client.post(member, #"{"name":"ada"}"#)
            #expect(try answer.json == ["sessions": 0])
            for _ in 1...20 {
                let session = try await client.session("member")
                #expect(session.created.hasSuffix(".1"))
                let read = try await session.read()
                #expect(read["version"] == 1)
                #expect(read["state"]?["user"] == ["name": "ada"])
            }
            #expect(try await client.post(member, #"{"name":"bob"}"#).json == ["sessions": 20])
        }
    }

    @Test func `case 96: a woken session has the present value and no record for older ones`()
        async throws
    {
        try await withJournal { journal in
            // Otherwise it is awake by the time of the post, and gets the value like every other
            // session.
            let options = journal.options + ["--admin", "on", "--wake-on-demand"]
            let member = "/v1/topics/member"
            let server = try await ServerProcess.start(.fixtures, options)
            _ = try await server.client().post(member, #"{"name":"ada"}"#)
            let session = try await server.client().session("member")
            server.signal(SIGTERM)
            #expect(try await server.exit() == .code(0))
            let second = try await ServerProcess.start(.fixtures, options)
            _ = try await second.client().post(member, #"{"name":"ada"}"#)
            #expect(try await session.on(second).read()["position"]?.string == session.created)
            try await second.murder()
            let third = try await ServerProcess.start(.fixtures, options)
            _ = try await third.client().post(member, #"{"name":"bob"}"#)
            let read = try await session.on(third).read()
            #expect(read["state"]?["user"] == ["name": "bob"])
            #expect(read["version"] == 2)
        }
    }

    @Test func `case 95: after a restart a session gets values before anybody has asked for it`()
        async throws
    {
        try await withJournal { journal in
            let options = journal.options + ["--admin", "on", "--loops", "2"]
            let first = try await ServerProcess.start(.fixtures, options)
            let session = try await first.client().session("profile")
            try await first.murder()
            let second = try await ServerProcess.start(.fixtures, options)
            // It is woken in the background.
            while try await !second.client().get("/metrics").text.contains(
                "reactor_woken_sessions_total 1\n")
            {}
            let answer = try await second.client().post(topic, #"{"name":"ada"}"#)
            #expect(try answer.json == ["sessions": 1])
            #expect(try await session.on(second).state()["user"] == ["name": "ada"])
        }
    }

    @Test func `a session that was not in memory gets every value that it has missed, once`()
        async throws
    {
        try await withJournal { journal in
            let options = journal.options + ["--admin", "on", "--wake-on-demand"]
            let first = try await ServerProcess.start(.fixtures, options)
            let session = try await first.client().session("profile")
            #expect(try await first.client().post(topic, #"{"name":"a"}"#).json == ["sessions": 1])
            try await first.murder()
            let second = try await ServerProcess.start(.fixtures, options)
            for name in ["b", "c"] {
                let answer = try await second.client().post(topic, #"{"name":"\#(name)"}"#)
                #expect(try answer.json == ["sessions": 0])
            }
            // The first request wakes it.
            while try await session.on(second).read()["version"] != 3 {}
            #expect(try await session.on(second).state()["user"] == ["name": "c"])
            #expect(
                try await second.client().post(topic, #"{"name":"d"}"#).json == ["sessions": 1])
            #expect(try await session.on(second).read()["version"] == 4)
        }
    }

    @Test func `case 96: a topic remembers its newest value over a kill`() async throws {
        try await withJournal { journal in
            let options = journal.options + ["--admin", "on"]
            let first = try await ServerProcess.start(.fixtures, options)
            let posted = try await first.client().post("/v1/topics/member", #"{"name":"ada"}"#)
            #expect(posted.status == 200)
            try await first.murder()
            let second = try await ServerProcess.start(.fixtures, options)
            let session = try await second.client().session("member")
            #expect(session.created.hasSuffix(".1"))
            #expect(try await session.state()["user"] == ["name": "ada"])
        }
    }

    @Test func `case 95: a value that the journal does not accept is in no session`() async throws {
        try await withJournal { journal in
            let options = journal.options + ["--admin", "on"]
            let server = try await ServerProcess.start(.fixtures, options)
            let session = try await server.client().session("profile")
            let elsewhere = journal.path + ".moved"
            try FileManager.default.moveItem(atPath: journal.path, toPath: elsewhere)
            try expectProblem(
                try await server.client().post(topic, #"{"name":"a"}"#), 503, "journal_unavailable")
            try FileManager.default.moveItem(atPath: elsewhere, toPath: journal.path)
            try await untilReady(server.client())
            let answer = try await server.client().post(topic, #"{"name":"b"}"#)
            #expect(try answer.json == ["sessions": 1])
            #expect(try await session.read()["version"] == 1)
            #expect(try await session.state()["user"] == ["name": "b"])
        }
    }

    @Test func `a topic of which no reactor is hosted any more is unknown`() async throws {
        try await withJournal { journal in
            let options = journal.options + ["--admin", "on"]
            let first = try await ServerProcess.start(.fixtures, options)
            #expect(try await first.client().post(topic, "null").status == 200)
            try await first.murder()
            let second = try await ServerProcess.start(.server, options)
            try expectProblem(
                try await second.client().post(topic, "null"), 404, "unknown_topic")
        }
    }

    @Test func `a publication that is sent again with its key is published once`() async throws {
        try await withServer(.fixtures, "--admin", "on") { server in
            let client = server.client()
            let session = try await client.session("profile")
            for _ in 1...2 {
                var request = Request.json("POST", topic, #"{"name":"ada"}"#)
                request.fields.append(("Idempotency-Key", "k"))
                let answer = try await client.send(request)
                #expect(answer.status == 200, "\(answer.text)")
            }
            #expect(try await session.read()["version"] == 1)
        }
    }

    @Test func `the session of a topic is in no list, and no request names it`() async throws {
        try await withServer(.fixtures, "--admin", "on") { server in
            let client = server.client()
            #expect(try await client.post(topic, "null").status == 200)
            #expect(try await client.get("/v1/sessions").json["sessions"] == [])
            for answer in [
                try await client.get("/v1/sessions/$currentUser"),
                try await client.delete("/v1/sessions/$currentUser"),
            ] {
                try expectProblem(answer, 400, "bad_session_id")
            }
            try expectProblem(try await client.post("/v1/topics/a%20b", "1"), 400, "bad_topic")
        }
    }

    @Test func `a value that does not decode is refused and reaches no session`() async throws {
        try await withServer(.fixtures, "--admin", "on") { server in
            let client = server.client()
            let session = try await client.session("profile")
            try expectProblem(
                try await client.post(topic, #"{"nome":"ada"}"#), 422, "not_a_value",
                detail: "name")
            try expectProblem(try await client.post(topic, "{"), 400, "malformed_json")
            #expect(try await session.read()["version"] == 0)
            try expectProblem(
                try await client.post("/v1/topics/weather", "null"), 404, "unknown_topic",
                detail: "weather")
        }
    }

    @Test func `topics and stubs are refused where there are no administrators`() async throws {
        let client = try await sharedFixtures()
        let session = try await client.session("profile")
        for answer in [
            try await client.post(topic, "null"),
            try await client.put("\(session.path)/stub", #"{"enabled":true}"#),
            try await client.get("\(session.path)/stub"),
        ] {
            try expectProblem(answer, 403, "administration_off", detail: "--admin on")
        }
        #expect(try await session.read()["version"] == 0)
    }
}
