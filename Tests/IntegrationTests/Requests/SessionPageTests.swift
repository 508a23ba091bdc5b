import Testing

@Suite("Contract §3 — pages of sessions", .timeLimit(.minutes(60)))
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

    @Test(arguments: ["file", "memory"])
    func `a page can be limited to ids that begin with a text`(journal: String) async throws {
        try await withServer(journal: journal) { server in
            let client = server.client()
            for id in ["meet", "meet-1", "meet-2", "meet-3", "meeu", "me", "Meet", "meet_"] {
                let reactor = id == "meet-2" ? "counter" : "alerts"
                _ = try await client.put("/v1/sessions/\(id)", #"{"reactor":"\#(reactor)"}"#)
            }
            func page(_ query: String) async throws -> (ids: [String], next: String?) {
                let page = try await client.get("/v1/sessions?\(query)").json
                let ids = page["sessions"]?.array?.compactMap { $0["id"]?.string } ?? []
                return (ids, page["next"]?.string)
            }
            let all = try await page("prefix=meet")
            #expect(all.ids == ["meet", "meet-1", "meet-2", "meet-3", "meet_"])
            #expect(all.next == nil)
            let first = try await page("prefix=meet-&limit=2")
            #expect(first.ids == ["meet-1", "meet-2"])
            #expect(first.next == "meet-2")
            let second = try await page("prefix=meet-&limit=2&after=meet-2")
            #expect(second.ids == ["meet-3"])
            #expect(second.next == nil)
            #expect(try await page("prefix=meet-&reactor=counter").ids == ["meet-2"])
            #expect(try await page("prefix=meet&after=a").ids == all.ids)
            #expect(try await page("prefix=meet&after=meeu").ids == [])
            #expect(try await page("prefix=meet-11").ids == [])
            #expect(try await page("prefix=").ids.count == 8)
        }
    }

    @Test(arguments: ["a.b", "%20", "a/", "%C3%A9", "a%00", String(repeating: "a", count: 129)])
    func `a prefix with which no id begins is refused`(prefix: String) async throws {
        try expectProblem(
            try await sharedServer().get("/v1/sessions?prefix=\(prefix)"), 400, "bad_prefix",
            detail: "prefix is")
    }

    @Test(arguments: ["0", "-1", "1001", "x", "", "1.5"])
    func `a limit is a whole number from 1 to 1000`(limit: String) async throws {
        try expectProblem(
            try await sharedServer().get("/v1/sessions?limit=\(limit)"), 400, "bad_limit",
            detail: "limit")
    }
}
