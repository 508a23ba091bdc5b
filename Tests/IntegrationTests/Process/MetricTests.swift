import Testing

@Suite("Metrics — a server's numbers follow its work", .timeLimit(.minutes(60)))
struct MetricTests {
    @Test func `responses are counted by route and status, and refusals by code`() async throws {
        try await withServer { server in
            let session = try await server.client().session("alerts")
            let client = session.client
            for number in 1...3 { try await session.alert("\(number)") }
            _ = try await client.post("\(session.path)/actions", "{")
            _ = try await client.get("/nothing")
            _ = try await client.get("/v1/sessions/missing")
            let responses = { (route: String, status: Int) in
                try await client.metric(
                    "responses_total{route=\"\(route)\",status=\"\(status)\"}")
            }
            #expect(try await responses("postActions", 200) == 3)
            #expect(try await responses("postActions", 400) == 1)
            #expect(try await responses("putSession", 201) == 1)
            #expect(try await responses("none", 404) == 1)
            #expect(try await responses("readSession", 404) == 1)
            #expect(
                try await client.metric("response_seconds_count{route=\"postActions\"}") == 4)
            #expect(try await client.metric("refusals_total{code=\"malformed_json\"}") == 1)
            #expect(try await client.metric("refusals_total{code=\"unknown_path\"}") == 1)
            #expect(try await client.metric("refusals_total{code=\"unknown_session\"}") == 1)
        }
    }

    @Test func `resets are counted by reason`() async throws {
        try await withServer { server in
            let session = try await server.client().session("alerts")
            for id in ["x", "\(session.generation).9", "0000000000000000.0"] {
                let stream = try await session.open("pulses", [("Last-Event-ID", id)])
                #expect(try await stream.next().name == "reset")
            }
            var sum = 0
            for reason in ["malformed", "ahead", "generation", "trimmed"] {
                sum += try await session.client.metric("resets_total{reason=\"\(reason)\"}") ?? 0
            }
            #expect(sum == 3)
            #expect(try await session.client.metric("resets_total{reason=\"ahead\"}") == 1)
        }
    }

    @Test func `running effects and failures are counted by reactor`() async throws {
        try await withServer(.fixtures) { server in
            let session = try await server.client().session("held")
            let client = session.client
            try await session.post(#"{"type":"hold","text":"a"}"#)
            #expect(try await client.metric("effects_running{reactor=\"held\"}") == 1)
            let states = try await session.follow("states")
            try await session.post(#"{"type":"release"}"#)
            _ = try await states.next()
            // The step ends after its last mutation, in a job of its own.
            while try await client.metric("effects_running{reactor=\"held\"}") != 0 {}
            try await session.post(#"{"type":"hold","text":"b"}"#)
            _ = try await client.delete(session.path)
            while try await client.metric("effects_running{reactor=\"held\"}") != 0 {}
            let failing = try await client.session("failing")
            try await failing.post(#"{"type":"addThenFail","number":1}"#)
            #expect(try await client.metric("failures_total{reactor=\"failing\"}") == 1)
            #expect(try await client.metric("failures_total{reactor=\"held\"}") == nil)
        }
    }
}
