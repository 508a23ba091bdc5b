import Testing

@Suite(
    "A browser's EventSource with a ticket",
    .enabled(if: Browser.program != nil, "chromium is not installed: apt-get install chromium"),
    .timeLimit(.minutes(60)))
struct TicketPageTests {
    /// Makes a ticket and opens a stream with it, as Tokens.md shows. The server's address is after
    /// the `#` of the page's own.
    private static let page = """
        <!doctype html><meta charset="utf-8"><title>EventSource</title><script>
        const server = location.hash.slice(1);
        const token = "ada;read;-;-;-;-;600";
        let chain = Promise.resolve();
        const report = (what) => {
            const body = JSON.stringify(what);
            chain = chain.then(() => fetch("/report", {method: "POST", body}));
        };
        const open = async (stream) => {
            const response = await fetch(server + "/v1/tickets", {
                method: "POST",
                headers: {"Authorization": "Bearer " + token, "Content-Type": "application/json"},
                body: JSON.stringify({stream}),
            });
            const {ticket} = await response.json();
            return server + stream + "?ticket=" + ticket;
        };
        (async () => {
            const url = await open("/v1/sessions/s/pulses");
            const source = new EventSource(url);
            source.onopen = () => report({kind: "open"});
            for (const kind of ["snapshot", "reset", "a", "problem"]) {
                source.addEventListener(kind, (event) => report({kind, data: event.data}));
            }
            const other = new EventSource(url.replace("pulses", "states"));
            other.onerror = () => report({kind: "refused", readyState: other.readyState});
            const bare = new EventSource(server + "/v1/sessions/s/pulses");
            bare.onerror = () => report({kind: "bare", readyState: bare.readyState});
        })();
        </script>
        """

    private func reports(_ host: PageHost) throws -> [JSONValue] {
        try host.log.present.output.split(separator: "\n").map { try JSONValue(text: String($0)) }
    }

    @Test func `a used ticket resumes its stream over all reconnections, and opens nothing else`()
        async throws
    {
        let program = try #require(Browser.program)
        let host = try PageHost(page: Self.page)
        try await withServer(
            .fixtures, "--allow-origin", "http://127.0.0.1:\(host.port)", "--connection-age",
            "700ms", "--retry", "50ms", environment: ["FIXTURE_TOKENS": "1"]
        ) { server in
            let client = server.client()
            let root = [("Authorization", "Bearer root;-;-;-;-;-;600")]
            var create = Request.json("PUT", "/v1/sessions/s", #"{"reactor":"pulses"}"#)
            create.fields += root
            #expect(try await client.send(create).status == 201)
            let browser = try Browser(
                program, opening: "http://127.0.0.1:\(host.port)/#\(server.address)")
            try await host.log.wait { $0.output.contains(#""kind":"snapshot""#) }
            var sent = 0
            while try sent < 3 || reports(host).count(where: { $0["kind"] == "open" }) < 4 {
                sent += 1
                var post = Request.json(
                    "POST", "/v1/sessions/s/actions", #"{"type":"setA","number":\#(sent)}"#)
                post.fields += root
                #expect(try await client.send(post).status == 200)
                try await host.log.wait { [sent] in
                    $0.output.contains(#"{"kind":"a","data":"\#(sent)"}"#)
                }
            }
            // 401: EventSource gives up, which is readyState 2.
            for kind in ["refused", "bare"] {
                try await host.log.wait {
                    $0.output.contains(#"{"kind":"\#(kind)","readyState":2}"#)
                }
            }
            let seen = try reports(host)
            let values = seen.filter { $0["kind"] == "a" }.map { $0["data"]?.string }
            #expect(values == (1...sent).map { "\($0)" })
            #expect(seen.count(where: { $0["kind"] == "snapshot" }) == 1)
            #expect(!seen.contains { $0["kind"] == "reset" || $0["kind"] == "problem" })
            try await browser.quit()
        }
    }
}
