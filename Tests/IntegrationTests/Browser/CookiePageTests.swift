import Foundation
import Testing

@Suite(
    "A browser with a cookie",
    .enabled(if: Browser.program != nil, "chromium is not installed: apt-get install chromium"),
    .timeLimit(.minutes(60)))
struct CookiePageTests {
    /// Sets the cookie, follows a stream without a token, posts, and removes the cookie. The
    /// server's address is after the `#` of the page's own: another port, which is the same site.
    private static let page = """
        <!doctype html><meta charset="utf-8"><title>Cookie</title><script>
        const server = location.hash.slice(1);
        let chain = Promise.resolve();
        const report = (what) => {
            const body = JSON.stringify(what);
            chain = chain.then(() => fetch("/report", {method: "POST", body}));
        };
        const call = (method, path, more = {}) =>
            fetch(server + path, {method, credentials: "include", ...more});
        const json = {"Content-Type": "application/json"};
        (async () => {
            const before = await call("GET", "/v1/reactors");
            report({kind: "before", status: before.status});
            const set = await call("PUT", "/v1/cookie", {headers: {Authorization: "Bearer TOKEN"}});
            report({kind: "set", status: set.status, cookie: document.cookie});
            const made = await call("PUT", "/v1/sessions/s", {headers: json, body: '{"reactor":"alerts"}'});
            report({kind: "made", status: made.status});
            const source = new EventSource(server + "/v1/sessions/s/pulses", {withCredentials: true});
            source.addEventListener("alertMessage", (event) =>
                report({kind: "alert", data: event.data}));
            source.addEventListener("snapshot", async () => {
                const posted = await call("POST", "/v1/sessions/s/actions",
                    {headers: json, body: '{"type":"alert","message":"m"}'});
                report({kind: "posted", status: posted.status});
                const removed = await call("DELETE", "/v1/cookie");
                report({kind: "removed", status: removed.status});
                const after = await call("GET", "/v1/reactors");
                report({kind: "after", status: after.status});
            });
        })();
        </script>
        """

    private static let token = """
        eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJmaXJzdCIsImV4cCI6NDEwMjQ0NDgwMCwicmVhY3RvciI6\
        eyJ2ZXJicyI6WyJjcmVhdGUiLCJhY3QiLCJyZWFkIl0sInNlc3Npb25zIjpbIioiXX19.\
        olyD6sQFf-rpn_lpW4pMETBLq1oqCBDdJEhQGjem1CI
        """

    @Test func `the browser keeps the cookie, sends it, and removes it`() async throws {
        let program = try #require(Browser.program)
        let host = try PageHost(page: Self.page.replacing("TOKEN", with: Self.token))
        let secret = "\(TemporaryFolder.shared.path)/\(UUID().uuidString)"
        try "0123456789abcdef0123456789abcdef".write(
            toFile: secret, atomically: true, encoding: .utf8)
        try await withServer(
            .server, "--auth", "jwt", "--jwt-secret-file", secret, "--allow-origin",
            "http://127.0.0.1:\(host.port)"
        ) { server in
            let browser = try Browser(
                program, opening: "http://127.0.0.1:\(host.port)/#\(server.address)")
            for report in [
                #"{"kind":"before","status":401}"#, #"{"kind":"set","status":204,"cookie":""}"#,
                #"{"kind":"made","status":201}"#, #"{"kind":"posted","status":200}"#,
                #"{"kind":"alert","data":"\"m\""}"#, #"{"kind":"removed","status":204}"#,
                #"{"kind":"after","status":401}"#,
            ] {
                try await host.log.wait { $0.output.contains(report) }
            }
            try await browser.quit()
        }
    }
}
