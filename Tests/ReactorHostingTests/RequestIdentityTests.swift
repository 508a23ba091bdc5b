import Sockets
import Testing

@testable import ReactorHosting

@Suite("The id and the trace of a request in log lines", .timeLimit(.minutes(60)))
struct RequestIdentityTests {
    static let trace = "0af7651916cd43dd8448eb211c80319c"
    static let traceparent = "00-\(trace)-b7ad6b7169203331-01"

    private func fields(_ identity: inout RequestIdentity) -> [String: String] {
        identity.metadata { "generated" }.mapValues { "\($0)" }
    }

    @Test(arguments: [
        ("a", true), ("0", true), (String(repeating: "x", count: 128), true),
        (String(repeating: "x", count: 129), false), ("", false), ("a b", false), ("é", false),
        ("a\tb", false), (#"!"=\~"#, true), ("a,b", true),
        (String(repeating: "x", count: 9_000), false),
    ])
    func `an id that is 1 to 128 visible ASCII characters is used`(id: String, isUsed: Bool) throws
    {
        var identity = RequestIdentity()
        identity.record(try HeadOf("GET", "/", "X-Request-Id: \(id)").head, withLine: false)
        #expect(
            fields(&identity) == [
                "peer": "local", "client": "local", "request_id": isUsed ? id : "generated",
            ])
    }

    @Test(arguments: ["a", "a b", ""])
    func `a trace is logged beside any id`(id: String) throws {
        var identity = RequestIdentity()
        identity.peer = .ipv4(0x7F00_0001, port: 80)
        identity.record(
            try HeadOf("GET", "/", "traceparent: \(Self.traceparent)", "X-Request-Id: \(id)").head,
            withLine: false)
        for _ in 1...2 {
            #expect(
                fields(&identity) == [
                    "peer": "127.0.0.1:80", "client": "127.0.0.1",
                    "request_id": id == "a" ? "a" : "generated",
                    "trace_id": Self.trace,
                ])
        }
    }

    @Test func `the client is the one that a trusted proxy names`() throws {
        let proxies = ClientAddress(behind: ["127.0.0.1"])
        let head = try HeadOf("GET", "/", "X-Forwarded-For: 192.0.2.7").head
        var identity = RequestIdentity()
        identity.peer = .ipv4(0x7F00_0001, port: 80)
        identity.record(head, withLine: false, behind: proxies)
        #expect(fields(&identity)["client"] == "192.0.2.7")
        #expect(fields(&identity)["peer"] == "127.0.0.1:80")
        // The next request of the connection may be another client's.
        identity.record(try HeadOf("GET", "/").head, withLine: false, behind: proxies)
        #expect(fields(&identity)["client"] == "127.0.0.1")
        identity.record(head, withLine: false, behind: proxies)
        identity.reset()
        #expect(fields(&identity)["client"] == "127.0.0.1")
        identity.peer = .ipv4(0x0A00_0001, port: 80)
        identity.record(head, withLine: false, behind: proxies)
        #expect(fields(&identity)["client"] == "10.0.0.1")
    }

    @Test func `a malformed trace is left out, and a later version's is read`() throws {
        for (field, isRead) in [
            ("00-\(Self.trace)-b7ad6b7169203331-01-more", false), ("x", false),
            ("cc-\(Self.trace)-b7ad6b7169203331-01-more", true),
        ] {
            var identity = RequestIdentity()
            identity.record(try HeadOf("GET", "/", "traceparent: \(field)").head, withLine: false)
            #expect(fields(&identity)["trace_id"] == (isRead ? Self.trace : nil), "\(field)")
        }
    }

    @Test func `a generated id stays for the request, and the next request has another`() throws {
        var identity = RequestIdentity()
        var count = 0
        func id() -> String? {
            identity.metadata {
                count += 1
                return "n\(count)"
            }["request_id"].map { "\($0)" }
        }
        identity.record(try HeadOf("GET", "/").head, withLine: false)
        #expect(id() == "n1")
        #expect(id() == "n1")
        identity.record(try HeadOf("GET", "/").head, withLine: false)
        #expect(id() == "n2")
        identity.record(try HeadOf("GET", "/", "X-Request-Id: own").head, withLine: false)
        #expect(id() == "own")
        identity.reset()
        #expect(id() == "n3")
    }
}
