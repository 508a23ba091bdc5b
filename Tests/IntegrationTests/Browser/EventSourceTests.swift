import Testing

@Suite(
    "A browser's EventSource",
    .enabled(if: Browser.program != nil, "chromium is not installed: apt-get install chromium"),
    .timeLimit(.minutes(60)))
struct EventSourceTests {
    /// Reports every event of the EventSource, in order.
    private func page(_ url: String) -> String {
        """
        <!doctype html><meta charset="utf-8"><title>EventSource</title><script>
        let chain = Promise.resolve();
        const report = (what) => {
            const body = JSON.stringify(what);
            chain = chain.then(() => fetch("/report", {method: "POST", body}));
        };
        const source = new EventSource("\(url)");
        source.onopen = () => report({kind: "open"});
        source.onerror = () => report({kind: "error", readyState: source.readyState});
        for (const kind of ["message", "snapshot", "reset", "alertMessage", "end", "ping"]) {
            source.addEventListener(kind, (event) =>
                report({kind, data: event.data, id: event.lastEventId}));
        }
        </script>
        """
    }

    /// The reports of the page so far.
    private func reports(_ host: PageHost) throws -> [JSONValue] {
        try host.log.present.output.split(separator: "\n").map { try JSONValue(text: String($0)) }
    }

    private func kinds(_ host: PageHost) throws -> [String] {
        try reports(host).compactMap { $0["kind"]?.string }
    }

    @Test func `a client gets every pulse once over all reconnections, and stops at the end`()
        async throws
    {
        // One that is away when the session ends has the status alone.
        while try await !readsToTheEnd() { try Task.checkCancellation() }
    }

    /// Returns whether the end has come as an event.
    private func readsToTheEnd() async throws -> Bool {
        var hasEnded = false
        let program = try #require(Browser.program)
        try await withServer(
            .server, "--allow-origin", "*", "--connection-age", "700ms", "--retry", "50ms"
        ) { server in
            let session = try await server.client().session("alerts")
            let host = try PageHost(page: page("\(server.address)\(session.path)/pulses"))
            let browser = try Browser(program, opening: "http://127.0.0.1:\(host.port)/")
            try await host.log.wait { $0.output.contains(#""kind":"snapshot""#) }
            var sent: [String] = []
            // Each message is posted after the previous one was received; the connection ends about
            // every 700 ms, and the test continues until it has ended three times. A slow browser
            // may have gone through all of that before it reported the snapshot.
            while try sent.count < 3 || kinds(host).count(where: { $0 == "open" }) < 4 {
                let message = "message \(sent.count) — “é”\n"
                sent.append(message)
                let position = try await session.alert(message).position
                try await host.log.wait { $0.output.contains(#""id":"\#(position)""#) }
            }
            _ = try await session.client.delete(session.path)
            // 204 after the end: EventSource gives up for good, which is readyState 2.
            try await host.log.wait { $0.output.contains(#""kind":"error","readyState":2"#) }
            let seen = try reports(host)
            let alerts = seen.filter { $0["kind"] == "alertMessage" }
            let texts = try alerts.map { try JSONValue(text: $0["data"]?.string ?? "").string }
            #expect(texts == sent)
            #expect(
                alerts.map { $0["id"]?.string }
                    == (1...sent.count).map { "\(session.generation).\($0)" })
            let kinds = try kinds(host)
            // It resumed with Last-Event-ID: no second snapshot, and never a reset.
            #expect(kinds.count(where: { $0 == "snapshot" }) == 1)
            #expect(!kinds.contains("reset"))
            #expect(kinds.count(where: { $0 == "end" }) <= 1)
            #expect(kinds.last == "error")
            hasEnded = kinds.contains("end")
            try await browser.quit()
        }
        return hasEnded
    }

    @Test func `a client that was away too long gets a reset`() async throws {
        let program = try #require(Browser.program)
        try await withServer(
            .server, "--allow-origin", "*", "--connection-age", "500ms", "--retry", "4s",
            "--keep-records", "5", "--journal", "memory"
        ) { server in
            let session = try await server.client().session("alerts")
            let host = try PageHost(page: page("\(server.address)\(session.path)/pulses"))
            let browser = try Browser(program, opening: "http://127.0.0.1:\(host.port)/")
            let alerts = (1...50).map { #"{"type":"alert","message":"\#($0)"}"# }
            var ends = 0
            // Each connection ends; the browser reconnects after three seconds or more,
            // and meanwhile more happens than is kept. A machine that needs longer for
            // that tries again.
            while true {
                let (end, seen) = (#""kind":"error","readyState":0"#, ends)
                try await host.log.wait {
                    ends = $0.output.split(separator: "\n").count(where: { $0.contains(end) })
                    return ends > seen || $0.output.contains(#""kind":"reset""#)
                }
                if try kinds(host).contains("reset") { break }
                try await session.post("[\(alerts.joined(separator: ","))]")
            }
            try await host.log.wait {
                $0.output.contains(#""kind":"snapshot","data":"{\"alertMessage\":\"50\"}""#)
            }
            // It gets no event of a batch that was posted while it was away, and every event of the
            // others.
            let kinds = try kinds(host)
            let reset = try #require(kinds.firstIndex(of: "reset"))
            #expect(kinds[..<reset].count(where: { $0 == "alertMessage" }) % 50 == 0)
            #expect(kinds[(reset + 1)...].first == "snapshot")
            try await browser.quit()
        }
    }
}
