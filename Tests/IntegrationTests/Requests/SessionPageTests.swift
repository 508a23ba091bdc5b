import Testing

@Suite("Contract §3 — pages of sessions", .timeLimit(.minutes(15)))
struct SessionPageTests {
    @Test func `pages follow each other without gaps, duplicates or disorder`() async throws {
        let client = try await sharedServer()
        let prefix = "page-\(UInt64.random(in: 0 ... .max))-"
        let ids = (10..<35).map { "\(prefix)\($0)" }
        for id in ids.shuffled() {
            _ = try await client.put("/v1/sessions/\(id)", #"{"reactor":"alerts"}"#)
        }
        var seen: [String] = []
        var after: String? = "\(prefix)0"
        while let place = after, seen.last != ids.last {
            let page = try await client.get("/v1/sessions?after=\(place)&limit=7").json
            let found = try #require(page["sessions"]?.array).compactMap { $0["id"]?.string }
            #expect(found.count <= 7)
            seen += found.filter { $0.hasPrefix(prefix) }
            after = page["next"]?.string
            #expect(after == nil || after == found.last)
        }
        #expect(seen == ids)
    }

    @Test func `a page can be limited to one reactor`() async throws {
        try await withServer { server in
            let client = server.client()
            let counter = try await client.session("counter")
            for _ in 1...3 { _ = try await client.session("alerts") }
            try await counter.post(#"{"type":"increment","number":1}"#)
            let page = try await client.get("/v1/sessions?reactor=counter").json
            #expect(
                page == [
                    "sessions": [
                        [
                            "id": .string(counter.id), "reactor": "counter", "version": 1,
                            "position": .string("\(counter.generation).1"),
                        ]
                    ]
                ])
            #expect(try await client.get("/v1/sessions?reactor=none").json == ["sessions": []])
            #expect(try await client.get("/v1/sessions").json["sessions"]?.array?.count == 4)
        }
    }

    @Test(arguments: ["0", "-1", "1001", "x", "", "1.5"])
    func `a limit is a whole number from 1 to 1000`(limit: String) async throws {
        try expectProblem(
            try await sharedServer().get("/v1/sessions?limit=\(limit)"), 400, "bad_limit",
            detail: "limit")
    }
}
