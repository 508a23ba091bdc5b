import Testing

@Suite("Cases 102 to 106 — the stub", .timeLimit(.minutes(60)))
struct StubTests {
    private func put(_ session: SessionHandle, _ body: String) async throws -> JSONValue {
        let response = try await session.client.put("\(session.path)/stub", body)
        guard response.status == 200 else { throw UnexpectedAnswer(response: response) }
        return try response.json
    }

    @Test func `case 103: an injected state is visible at once, to GET and to streams`()
        async throws
    {
        try await withServer(.fixtures, "--admin", "on") { server in
            let session = try await server.client().session("passing")
            _ = try await put(session, #"{"enabled":true}"#)
            let states = try await session.follow("states")
            for sum in [0, 1, -10, 30] {
                _ = try await put(session, #"{"state":{"sum":\#(sum)}}"#)
                #expect(try await session.state() == ["sum": .integer(sum)])
                #expect(try await states.next().data == #"{"sum":\#(sum)}"#)
            }
            #expect(try await session.read()["version"] == 4)
            let third = try await session.client.get("\(session.path)?version=3").json
            #expect(third["state"] == ["sum": -10])
        }
    }

    @Test func `case 104: the client of case 19 gets the same events at the same paths`()
        async throws
    {
        try await withServer(.server, "--admin", "on") { server in
            let session = try await server.client().session("alerts")
            _ = try await put(session, #"{"enabled":true}"#)
            let pulses = try await session.follow("pulses?pulse=alertMessage")
            for (action, message) in [
                (true, "Hello"), (true, "Hello"), (false, "Hello"), (true, "Hello"),
                (true, "tokijh"), (false, "tokijh"), (true, "sentinel"),
            ] {
                let receipt = try await session.alert(message)
                #expect(receipt.position.hasPrefix(session.generation))
                let pulse = action ? #""alertMessage":"\#(message)","# : ""
                _ = try await put(session, #"{"state":{\#(pulse)"actions":0}}"#)
            }
            #expect(
                try await pulses.next(5).map(\.data) == [
                    #""Hello""#, #""Hello""#, #""Hello""#, #""tokijh""#, #""sentinel""#,
                ])
        }
    }

    @Test func `case 106: switching keeps the reactor's own state`() async throws {
        try await withServer(.fixtures, "--admin", "on") { server in
            let session = try await server.client().session("passing")
            let log = try await session.followLog()
            let add = #"{"type":"add","number":1}"#
            try await session.post(add)
            _ = try await put(session, #"{"enabled":true}"#)
            #expect(try await session.state() == ["sum": 1])
            try await session.post(add)
            #expect(try await session.state() == ["sum": 1])
            _ = try await put(session, #"{"state":{"sum":99}}"#)
            #expect(try await session.state() == ["sum": 99])
            let off = try await put(session, #"{"enabled":false}"#)
            #expect(off == ["enabled": false, "actions": [["type": "add", "number": 1]]])
            #expect(try await session.state() == ["sum": 1])
            try await session.post(add)
            #expect(try await session.state() == ["sum": 2])
            #expect(
                try await log.next(7).map(\.name) == [
                    "action.received", "mutation", "action.recorded", "state.replaced",
                    "state.replaced", "action.received", "mutation",
                ])
            let versions = [0, 1, 99, 1, 2]
            for (version, sum) in versions.enumerated() {
                let read = try await session.client.get("\(session.path)?version=\(version)").json
                #expect(read["state"] == ["sum": .integer(sum)])
            }
        }
    }

    @Test func `cases 102, 103, 106: a Cycler's session is stubbed like a reactor's`()
        async throws
    {
        try await withServer(.server, "--admin", "on") { server in
            let session = try await server.client().session("counter")
            let increment = #"{"type":"increment","number":5}"#
            try await session.post(increment)
            let states = try await session.follow("states")
            _ = try await put(session, #"{"enabled":true,"state":{"count":99}}"#)
            #expect(try await states.next().data == #"{"count":99}"#)
            #expect(try await session.post(increment).version == 2)
            #expect(try await session.state() == ["count": 99])
            let off = try await put(session, #"{"enabled":false}"#)
            #expect(
                off == ["enabled": false, "actions": [["type": "increment", "number": 5]]])
            #expect(try await states.next().data == #"{"count":5}"#)
            try await session.post(increment)
            #expect(try await states.next().data == #"{"count":10}"#)
        }
    }

    @Test func `a request that needs a stub is refused without one, and changes nothing`()
        async throws
    {
        try await withServer(.server, "--admin", "on") { server in
            let client = server.client()
            let session = try await client.session("alerts")
            for (body, status, code) in [
                (#"{"state":{"actions":1}}"#, 409, "not_stubbed"),
                (#"{"enabled":false,"state":{"actions":1}}"#, 409, "not_stubbed"),
                ("{}", 422, "not_a_stub"), (#"{"enabled":1}"#, 422, "not_a_stub"),
                (#"{"enabled":true,"state":{"actions":"x"}}"#, 422, "not_a_stub"),
                ("{", 400, "malformed_json"),
            ] {
                try expectProblem(
                    try await client.put("\(session.path)/stub", body), status, code)
            }
            let stub = try await client.get("\(session.path)/stub").json
            #expect(stub == ["enabled": false, "actions": []])
            #expect(try await session.read()["version"] == 0)
        }
    }
}
