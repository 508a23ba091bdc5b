import Foundation
import Testing

@Suite("Contract §4 — kill -9 loses nothing and repeats nothing", .timeLimit(.minutes(60)))
struct RestartTests {
    @Test func `acknowledged actions are there, under the same positions`() async throws {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("alerts")
            try await session.alert("one")
            try await session.post(#"{"type":"doSomeAction"}"#)
            let last = try await session.alert("two")
            let before = try await session.read()
            try await first.murder()

            let again = session.on(try await journal.start())
            #expect(try await again.read() == before)
            #expect(before["position"]?.string == last.position)
            let next = try await again.alert("three")
            #expect(next.version == last.version + 1)
            #expect(next.number == last.number + 1)
        }
    }

    @Test func `a reader resumes with its id: the rest, then live, without a snapshot`()
        async throws
    {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("alerts")
            let stream = try await session.follow("pulses")
            try await session.alert("a")
            let seen = try await stream.next()
            try await session.alert("b")
            try await session.alert("c")
            try await first.murder()

            let again = session.on(try await journal.start())
            let resumed = try await again.open("pulses", [("Last-Event-ID", seen.id)])
            #expect(try await resumed.next(2).map(\.data) == [#""b""#, #""c""#])
            try await again.alert("d")
            let live = try await resumed.next()
            #expect(live.data == #""d""#)
            #expect(live.id == "\(session.generation).4")
        }
    }

    @Test func `every stream resumes after a restart: states, events, the log`() async throws {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("chat")
            for text in ["x", "y"] {
                try await session.post(#"{"type":"say","author":"ada","text":"\#(text)"}"#)
                try await session.post(#"{"type":"typing","author":"ada"}"#)
            }
            func told(_ session: SessionHandle) async throws -> [[Event]] {
                var told: [[Event]] = []
                for (path, count) in [("states", 2), ("events", 6), ("log", 8)] {
                    let stream = try await session.open(
                        "\(path)?after=\(session.created)", [("Accept", "text/event-stream")])
                    told.append(try await stream.next(count))
                }
                return told
            }
            let before = try await told(session)
            try await first.murder()
            let after = try await told(session.on(try await journal.start()))
            #expect(after == before)
        }
    }

    @Test func `case 17: a restart is no assignment; the next one is the first event`()
        async throws
    {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("alerts")
            try await session.alert("x")
            let last = try await session.alert("x")
            try await first.murder()

            let again = session.on(try await journal.start())
            let resumed = try await again.open("pulses", [("Last-Event-ID", last.position)])
            let fresh = try await again.open("pulses")
            #expect(
                try await fresh.next()
                    == Event(
                        name: "snapshot", data: #"{"alertMessage":"x"}"#, id: last.position))
            // Another field, then a sentinel: no other event may come first.
            try await again.post(#"{"type":"doSomeAction"}"#)
            try await again.alert("sentinel")
            for stream in [resumed, fresh] {
                #expect(try await stream.next().data == #""sentinel""#)
            }
        }
    }

    @Test func `case 58: the log's mutations, replayed, are the state, at every version`()
        async throws
    {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("alerts")
            for number in 1...30 {
                if number % 3 == 0 {
                    try await session.post(#"{"type":"doSomeAction"}"#)
                } else {
                    try await session.alert("m\(number)")
                }
            }
            try await first.murder()

            let again = session.on(try await journal.start())
            var message = JSONValue.null
            var actions = 0
            let mutations = try await again.entries().filter { $0["kind"] == "mutation" }
            #expect(mutations.count == 30)
            for (index, entry) in mutations.enumerated() {
                #expect(entry["version"] == .integer(index + 1))
                let content = try #require(entry["content"])
                if content["type"] == "countAction" {
                    actions += 1
                } else {
                    message = content["message"] ?? nil
                }
                let folded: JSONValue = .object(
                    ["alertMessage": message, "actions": .integer(actions)])
                let past = try await again.client.get("\(again.path)?version=\(index + 1)")
                #expect(try past.json["state"] == folded)
                if index == 29 { #expect(try await again.state() == folded) }
            }
        }
    }

    @Test func `a request with a key gets the same reply, and is applied once`() async throws {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("alerts")
            func send(_ session: SessionHandle) async throws -> Response {
                var request = Request.json(
                    "POST", "\(session.path)/actions", #"{"type":"alert","message":"once"}"#)
                request.fields.append(("Idempotency-Key", "k1"))
                return try await session.client.send(request)
            }
            let answer = try await send(session)
            #expect(answer.status == 200)
            #expect(answer["Idempotency-Replayed"] == nil)
            try await first.murder()

            let again = session.on(try await journal.start())
            let repeated = try await send(again)
            #expect(repeated.status == 200)
            #expect(repeated["Idempotency-Replayed"] == "true")
            #expect(repeated.body == answer.body)
            #expect(try await again.read()["version"] == 1)
        }
    }

    @Test func `a fork begins where the other session was and continues independently`()
        async throws
    {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("alerts")
            for text in ["one", "two", "three"] { try await session.alert(text) }
            try await first.murder()

            let client = try await journal.start().client()
            let made = try await client.post(
                "/v1/sessions",
                #"{"reactor":"alerts","from":{"session":"\#(session.id)","version":2}}"#)
            #expect(made.status == 201)
            let fork = SessionHandle(
                client: client, id: try #require(try made.json["id"]?.string),
                created: try #require(try made.json["position"]?.string))
            #expect(try await fork.state()["alertMessage"] == "two")
            try await fork.alert("other")
            let origin = try await client.get(session.path).json
            #expect(origin["version"] == 3)
            #expect(origin["state"]?["alertMessage"] == "three")
        }
    }

    @Test func `a deleted session stays deleted`() async throws {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("alerts")
            try await session.alert("x")
            #expect(try await session.client.delete(session.path).status == 204)
            try await first.murder()

            let again = session.on(try await journal.start())
            #expect(try await again.client.get(again.path).status == 410)
            #expect(try await again.client.get("\(again.path)/pulses").status == 204)
            try expectProblem(
                try await again.client.put(again.path, #"{"reactor":"alerts"}"#), 410,
                "session_ended")
            try expectProblem(
                try await again.client.post("\(again.path)/actions", #"{"type":"doSomeAction"}"#),
                410, "session_ended")
        }
    }

    @Test func `effects that ran are abandoned, and the log says so`() async throws {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("job")
            let stream = try await session.follow("pulses?pulse=progress")
            try await session.post(#"{"type":"start","steps":1000}"#)
            _ = try await stream.next(2)
            try await first.murder()

            let again = session.on(try await journal.start())
            let version = try await again.read()["version"]
            let failures = try await again.entries().filter { $0["kind"] == "effect.failed" }
            #expect(failures.count == 1)
            #expect(failures.first?["action"] == 1)
            #expect(failures.first?["content"]?["error"]?.string?.contains("abandoned") == true)
            // It does not continue by itself, and another can be started.
            #expect(try await again.read()["version"] == version)
            let receipt = try await again.post(
                #"{"type":"start","steps":1}"#, query: SessionHandle.settled)
            #expect(receipt.version > (version?.integer ?? 0))
            #expect(try await again.state()["phase"] == "finished")
        }
    }

    @Test func `a second server on the same file is refused with a message`() async throws {
        try await withJournal { journal in
            let first = try await journal.start()
            let second = try await ServerProcess.run(.server, journal.options + ["--port", "0"])
            #expect(second.exit == .code(1))
            #expect(second.errors.contains("is in use by another process (\(first.pid))"))
            #expect(try await first.client().get("/readyz").status == 200)
        }
    }

    @Test func `case 152: a hard link or another spelling of the path is the same file`()
        async throws
    {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("alerts")
            try await session.alert("one")
            let folder = (journal.path as NSString).deletingLastPathComponent
            let link = folder + "/link.sqlite"
            try FileManager.default.linkItem(atPath: journal.path, toPath: link)
            for path in [link, folder + "/./journal.sqlite"] {
                let second = try await ServerProcess.run(
                    .server, ["--journal", "file:" + path, "--port", "0"])
                #expect(second.exit == .code(1))
                #expect(second.errors.contains("is in use"))
            }
            #expect(try await session.alert("two").version == 2)
            try await first.murder()
            let again = session.on(try await journal.start())
            #expect(try await again.state()["alertMessage"] == "two")
        }
    }
}
