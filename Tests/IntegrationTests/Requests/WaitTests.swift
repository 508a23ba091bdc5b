import Testing

@Suite("Contract §3.1 — wait=settled", .timeLimit(.minutes(60)))
struct WaitTests {
    @Test func `case 90: the reply comes when the effects have ended`() async throws {
        let session = try await sharedFixtures().session("held")
        async let waiting = session.post(
            #"{"type":"hold","text":"late"}"#, query: SessionHandle.settled)
        let stream = try await session.open("states")
        // Its synchronous part is visible before the reply.
        while try await JSONValue(text: stream.next().data)["holding"] != 1 {}
        try await session.post(#"{"type":"release"}"#)
        let receipt = try await waiting
        #expect(receipt.version == 2)
        #expect(try await session.state()["text"] == "late")
    }

    @Test func `case 91: an effect that does not end in time is 202, and continues`() async throws {
        let session = try await sharedFixtures().session("held")
        let response = try await session.client.post(
            "\(session.path)/actions?wait=settled&timeout=100ms",
            #"{"type":"hold","text":"later"}"#)
        #expect(response.status == 202)
        #expect(try response.json["version"] == 1)
        let stream = try await session.follow("pulses")
        try await session.post(#"{"type":"release"}"#)
        #expect(try await stream.next().data == #""later""#)
    }

    @Test func `an action without effects is answered at once`() async throws {
        let session = try await sharedServer().session("alerts")
        #expect(
            try await session.post(#"{"type":"doSomeAction"}"#, query: SessionHandle.settled)
                .version
                == 1)
    }

    @Test func `case 71: a slow effect does not block its session`() async throws {
        let session = try await sharedFixtures().session("held")
        try await session.post(#"{"type":"hold","text":"slow"}"#)
        for count in 1...10 {
            #expect(try await session.post(#"{"type":"touch"}"#).version == 1 + count)
        }
        #expect(try await session.state()["touches"] == 10)
    }

    @Test func `a waiting client that disconnects cancels nothing`() async throws {
        let session = try await sharedFixtures().session("held")
        let stream = try await session.follow("pulses")
        let states = try await session.follow("states")
        let waiting = Task {
            try await session.post(#"{"type":"hold","text":"kept"}"#, query: SessionHandle.settled)
        }
        _ = try await states.next()
        waiting.cancel()
        await #expect(throws: (any Error).self) { try await waiting.value }
        try await session.post(#"{"type":"release"}"#)
        #expect(try await stream.next().data == #""kept""#)
    }

    @Test func `other values of wait and timeout are refused`() async throws {
        let session = try await sharedServer().session("alerts")
        let body = #"{"type":"doSomeAction"}"#
        for query in ["wait=", "wait=everything"] {
            try expectProblem(
                try await session.client.post("\(session.path)/actions?\(query)", body), 400,
                "bad_wait", detail: "wait")
        }
        for time in ["", "10", "s", "-1s", "601s", "99999999999999999999s"] {
            try expectProblem(
                try await session.client.post(
                    "\(session.path)/actions?wait=settled&timeout=\(time)", body), 400,
                "bad_timeout", detail: "timeout")
        }
        #expect(try await session.read()["version"] == 0)
    }
}
