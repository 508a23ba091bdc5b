import Foundation
import Testing

@Suite("Sessions are found by their tags, and lists are followed", .timeLimit(.minutes(60)))
struct TagTests: ProcessCluster {
    private static let open = "/v1/sessions?reactor=order&tag=status:open"
    private static let stream = [(name: "Accept", value: "text/event-stream")]

    /// Both journals of one process.
    private func withOrders(
        _ journal: String, _ body: (ServerProcess) async throws -> Void
    ) async throws {
        let folder = TemporaryFolder()
        let path = journal == "file" ? "file:\(folder.path)/journal.sqlite" : journal
        try await withServer(.fixtures, "--journal", path, "--loops", "3", do: body)
    }

    private func create(_ client: Client, _ ids: String...) async throws {
        for id in ids {
            let made = try await client.put("/v1/sessions/\(id)", #"{"reactor":"order"}"#)
            #expect(made.status == 201, "\(made.text)")
        }
    }

    private func set(_ client: Client, _ id: String, _ status: String) async throws {
        let answer = try await client.post(
            "/v1/sessions/\(id)/actions", #"{"type":"set","status":"\#(status)"}"#)
        #expect(answer.status == 200, "\(answer.text)")
    }

    private func ids(_ page: JSONValue) -> [String] {
        page["sessions"]?.array?.compactMap { $0["id"]?.string } ?? []
    }

    private func list(_ client: Client, _ path: String = open) async throws -> [String] {
        ids(try await client.get(path).json)
    }

    @Test(arguments: ["file", "memory"])
    func `a list includes every acknowledged change`(journal: String) async throws {
        try await withOrders(journal) { server in
            let client = server.client()
            try await create(client, "a", "b", "c", "d")
            #expect(Set(try await list(client)) == ["a", "b", "c", "d"])
            for (id, status) in [("b", "paid"), ("d", "paid"), ("b", "sent"), ("b", "open")] {
                try await set(client, id, status)
                let has = try await list(client, "/v1/sessions?tag=status:\(status)").contains(id)
                #expect(has, "\(id) \(status)")
            }
            #expect(try await list(client).first == "b")
            let found = try await client.get("/v1/sessions?tag=status:paid").json
            let line = try #require(found["sessions"]?.array?.first)
            #expect(line["id"] == "d")
            #expect(line["tags"] == ["status": "paid"])
            #expect(line["changed"]?.string?.hasSuffix("Z") ?? false)
            #expect(line["version"] == 1)
            #expect(try await client.get("/v1/sessions/d").json["tags"] == ["status": "paid"])
            let all = try await client.get("/v1/sessions?prefix=d").json
            #expect(all["sessions"]?.array?.first?["tags"] == ["status": "paid"])
            _ = try await client.delete("/v1/sessions/d")
            #expect(try await list(client, "/v1/sessions?tag=status:paid") == [])
            #expect(
                try await list(client, "/v1/sessions?reactor=order&sort=changed").sorted()
                    == ["a", "b", "c"])
            var (seen, place): ([String], String?) = ([], nil)
            repeat {
                let page = try await client.get(
                    "\(Self.open)&limit=2\(place.map { "&after=\($0)" } ?? "")"
                ).json
                seen += ids(page)
                place = page["next"]?.string
            } while place != nil
            #expect(seen.count == 3 && Set(seen) == ["a", "b", "c"], "\(seen)")
        }
    }

    @Test func `a value may begin with a mark that the colon would carry`() async throws {
        try await withOrders("memory") { server in
            let client = server.client()
            try await create(client, "a")
            try await set(client, "a", "\u{301}a:b")
            #expect(try await list(client, "/v1/sessions?tag=status:%CC%81a:b") == ["a"])
        }
    }

    @Test(arguments: [
        ("tag=status", "bad_tag", "a name, a colon and a value"),
        ("tag=Status:open", "bad_tag", "1 to 32 of a-z 0-9 _"),
        ("tag=status:", "bad_tag", "1 to 64 bytes"), ("tag=status:%00", "bad_tag", "control"),
        (
            Array(repeating: "tag=a:b", count: 9).joined(separator: "&"), "bad_tag",
            "the limit is 8"
        ),
        ("sort=changed", "bad_sort", "name a tag or a reactor"),
        ("sort=id&tag=a:b", "bad_sort", "with tag, the only order is sort=changed"),
        ("sort=up&tag=a:b", "bad_sort", "send id or changed"),
        ("tag=a:b&after=c", "bad_after", "after is c"),
    ])
    func `a malformed query is refused`(
        query: String, code: String, detail: String
    ) async throws {
        try expectProblem(
            try await sharedServer().get("/v1/sessions?\(query)"), 400, code, detail: detail)
    }

    @Test func `a list that cannot be followed is refused`() async throws {
        let client = try await sharedServer()
        for (query, code) in [("reactor=alerts", "bad_sort"), ("tag=a:b&after=1.1", "bad_after")] {
            try expectProblem(
                try await client.get("/v1/sessions?\(query)", Self.stream), 400, code)
        }
    }

    /// Applies events to a client's list until it has exactly these sessions.
    ///
    /// - Returns: the name of the last event.
    @discardableResult
    private func follow(
        _ stream: EventStream, _ list: inout Set<String>, to end: Set<String>
    ) async throws -> String {
        while true {
            let event = try await stream.next()
            let id = try JSONValue(text: event.data)["id"]?.string ?? ""
            let wasThere = event.name == "left" ? list.remove(id) != nil : !list.insert(id).inserted
            #expect(wasThere == (event.name != "entered"), "\(event.name) \(id)")
            if list == end { return event.name }
        }
    }

    @Test(arguments: ["file", "memory"])
    func `a stream follows the first page of a list`(journal: String) async throws {
        try await withOrders(journal) { server in
            let client = server.client()
            try await create(client, "a", "b", "c")
            try await set(client, "c", "paid")
            let stream = try await client.open("\(Self.open)&limit=2", Self.stream)
            let snapshot = try await stream.next()
            #expect(snapshot.name == "snapshot" && snapshot.id == "")
            let page = try JSONValue(text: snapshot.data)
            #expect(ids(page) == ["b", "a"])
            #expect(page["more"] == false)
            try await set(client, "b", "paid")
            let left = try await stream.next()
            #expect(left.name == "left")
            let gone = try JSONValue(text: left.data)
            #expect(gone["id"] == "b")
            try await set(client, "c", "open")
            let entered = try await stream.next()
            #expect(entered.name == "entered")
            let line = try JSONValue(text: entered.data)
            #expect(line["id"] == "c")
            #expect(line["tags"] == ["status": "open"])
            #expect(line["position"]?.string?.hasSuffix(".2") ?? false)
            var list: Set = ["c", "a"]
            // An action that changes no tag sends no event: the next event is for a later session.
            _ = try await client.post("/v1/sessions/a/actions", #"{"type":"note"}"#)
            try await create(client, "d")
            try await follow(stream, &list, to: ["d", "c"])
            _ = try await client.delete("/v1/sessions/d")
            // This session was the third, and is on the page again.
            try await follow(stream, &list, to: ["c", "a"])
            for status in ["paid", "open"] { try await set(client, "a", status) }
            // One event or two.
            var name = try await stream.next().name
            if name == "left" { name = try await stream.next().name }
            #expect(name == "changed" || name == "entered")
        }
    }

    @Test func `a reader that connects again begins with a new snapshot`() async throws {
        try await withOrders("file") { server in
            let client = server.client()
            for number in 0..<20 {
                try await create(client, "s\(number)")
                let stream = try await client.open(Self.open, Self.stream)
                let page = try JSONValue(text: try await stream.next().data)
                #expect(ids(page).first == "s\(number)", "never behind a 2xx")
            }
        }
    }

    @Test func `nodes show and follow the commits of other nodes`() async throws {
        try await withNodes { nodes in
            let (one, two) = (try await nodes.start(.fixtures), try await nodes.start(.fixtures))
            let (here, there) = (one.client(), two.client())
            try await create(here, "a", "b")
            #expect(Set(try await list(there)) == ["a", "b"])
            let stream = try await there.open(Self.open, Self.stream)
            var list = Set(ids(try JSONValue(text: try await stream.next().data)))
            #expect(list == ["a", "b"])
            try await set(here, "a", "paid")
            try await follow(stream, &list, to: ["b"])
            try await create(here, "c")
            try await follow(stream, &list, to: ["c", "b"])
            try await set(there, "a", "open")
            #expect(try await self.list(here).first == "a")
            try await follow(stream, &list, to: ["a", "c", "b"])
            for server in [one, two] { try? await server.murder() }
        }
    }

    @Test func `retag recomputes the tags of all sessions`() async throws {
        let folder = TemporaryFolder()
        let path = "\(folder.path)/journal.sqlite"
        try await Turnstile.servers.pass {
            let first = try await ServerProcess.start(.fixtures, ["--journal", "file:\(path)"])
            let client = first.client()
            try await create(client, "a", "b", "c")
            _ = try await client.post("/v1/sessions/b/actions", #"{"type":"note"}"#)
            let retag: (String) async throws -> ProcessLog.Present = { file in
                try await ServerProcess.run(
                    .fixtures, ["journal", "retag", file], environment: ["FIXTURE_RETAG": "1"])
            }
            let refused = try await retag(path)
            #expect(refused.exit == .code(1) && refused.errors.contains("in use"))
            try await first.murder()
            let none = try await retag(folder.path + "/none.sqlite")
            #expect(none.exit == .code(1) && none.errors.contains("there is no such file"))
            let done = try await retag(path)
            #expect(done.exit == .code(0), "\(done.errors)")
            #expect(
                done.output
                    == "3 sessions of reactors with tags: 3 have other tags now\n")
            #expect(try await retag(path).output.contains(": 0 have other tags now"))
            let check = try await ServerProcess.run(.fixtures, ["journal", "check", path])
            #expect(check.exit == .code(0), "\(check.output)")
            let next = try await ServerProcess.start(
                .fixtures, ["--journal", "file:\(path)"], environment: ["FIXTURE_RETAG": "1"])
            #expect(
                try await list(next.client(), "/v1/sessions?tag=noted:yes&tag=status:open")
                    == ["b"])
            try await next.murder()
        }
    }
}
