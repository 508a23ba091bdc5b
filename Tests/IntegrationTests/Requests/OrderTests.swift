import Testing

@Suite(
    "Contract §2 — one order per session, and no session waits for another",
    .timeLimit(.minutes(60)))
struct OrderTests {
    @Test func `case 70: a session with a slow action blocks no other`() async throws {
        let fixtures = try await sharedFixtures()
        let slow = try await fixtures.session("held")
        let other = try await fixtures.session("held")
        async let waiting = slow.post(
            #"{"type":"hold","text":"slow"}"#, query: SessionHandle.settled)
        let stream = try await slow.open("states")
        while try await JSONValue(text: stream.next().data)["holding"] != 1 {}
        // All of these are answered before the first one, which is released after them.
        for count in 1...50 {
            #expect(try await other.post(#"{"type":"touch"}"#).version == count)
        }
        try await slow.post(#"{"type":"release"}"#)
        #expect(try await waiting.version == 2)
    }

    @Test func `case 69: no priority reorders what is sent`() async throws {
        let server = try await sharedServer()
        let session = try await server.session("alerts")
        let stream = try await session.follow("pulses")
        for number in 1...200 {
            // Each is sent from a task of another priority, after the previous response.
            let priority: TaskPriority = number.isMultiple(of: 2) ? .background : .high
            let sent = try await Task(priority: priority) {
                try await session.alert("\(number)")
            }.value
            #expect(sent.version == number)
        }
        #expect(try await stream.next(200).map(\.data) == (1...200).map { "\"\($0)\"" })
    }

    @Test func `case 69: actions pipelined on one connection are applied in order`() async throws {
        let server = try await Servers.shared.process(.server)
        let session = try await server.client().session("alerts")
        let stream = try await session.follow("pulses")
        let connection = try RawConnection(port: server.port)
        var requests = ""
        for number in 1...200 {
            let body = #"{"type":"alert","message":"\#(number)"}"#
            requests += "POST \(session.path)/actions HTTP/1.1\r\nHost: x\r\n"
            requests += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
            requests += "\r\n\(body)"
        }
        #expect(await connection.send(requests))
        #expect(await connection.answers(200).count == 200)
        #expect(try await stream.next(200).map(\.data) == (1...200).map { "\"\($0)\"" })
    }
}
