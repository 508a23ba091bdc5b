import ArgumentParser
import Testing

@testable import reactor_bench

@Suite("Templates — placeholders are filled in, other text is unchanged", .timeLimit(.minutes(60)))
struct TemplateTests {
    private let values = TemplateValues(
        connection: 3, number: 41, stream: 7,
        mark: Mark(microseconds: 1, publisher: 2, sequence: 3))

    private func text(_ template: String) -> String {
        Template(template, run: "run1").text(values)
    }

    @Test func `all placeholders are filled`() {
        #expect(
            text("{i} {n} {session} {stream} {index} {publisher} {run}")
                == "3 41 run1-7 run1-7 7 3 run1")
        #expect(text("{mark}") == "#00000001000200000003")
    }

    @Test func `braces of JSON stay`() {
        #expect(text(#"{"a":{"b":{}},"n":{n}}"#) == #"{"a":{"b":{}},"n":41}"#)
        #expect(text("{") == "{")
        #expect(text("}{unknown}{n") == "}{unknown}{n")
        #expect(text("{{n}}") == "{41}")
    }

    @Test func `a template without placeholders is constant`() {
        #expect(Template(#"{"a":1}"#, run: "r").isConstant)
        #expect(!Template("{n}", run: "r").isConstant)
        #expect(Template("x{mark}", run: "r").names(.mark))
        #expect(!Template("x{n}", run: "r").names(.mark))
    }

    @Test func `a request has a length that fits its filled-in body`() {
        let template = RequestTemplate(
            method: "POST", path: "/s/{session}", headers: ["X-N: {n}"], body: #"{"n":{n}}"#,
            authority: "h:1", run: "r")
        var bytes: [UInt8] = []
        var scratch: [UInt8] = []
        template.append(to: &bytes, values, scratch: &scratch)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "POST /s/r-7 HTTP/1.1\r\nHost: h:1\r\nX-N: 41\r\n"
                + "Content-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"n\":41}")
    }

    @Test func `a constant request is the same bytes, and a body's type can be chosen`() {
        let template = RequestTemplate(
            method: "GET", path: "/", headers: [], body: nil, authority: "h:1", run: "r")
        var bytes: [UInt8] = []
        var scratch: [UInt8] = []
        template.append(to: &bytes, values, scratch: &scratch)
        #expect(String(decoding: bytes, as: UTF8.self) == "GET / HTTP/1.1\r\nHost: h:1\r\n\r\n")
        let typed = RequestTemplate(
            method: "PUT", path: "/", headers: ["content-type: text/plain"], body: "",
            authority: "h:1", run: "r")
        bytes = []
        typed.append(to: &bytes, values, scratch: &scratch)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "PUT / HTTP/1.1\r\nHost: h:1\r\ncontent-type: text/plain\r\n"
                + "Content-Length: 0\r\n\r\n")
    }

    @Test func `hostile requests go out as they are`() {
        let templates = HostileRequests.templates(path: "/p/{session}", authority: "h", run: "r")
        var scratch: [UInt8] = []
        for template in templates {
            var bytes: [UInt8] = []
            template.append(to: &bytes, values, scratch: &scratch)
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.contains("\r\n\r\n"))
            #expect(!text.contains("{session}"))
        }
    }

    @Test func `request lines`() {
        let line = RequestLine(#"PUT /s/{session} {"reactor": "alerts"}"#)
        #expect(line?.method == "PUT")
        #expect(line?.path == "/s/{session}")
        #expect(line?.body == #"{"reactor": "alerts"}"#)
        #expect(RequestLine("GET /")?.body == nil)
        #expect(RequestLine("GET") == nil)
        #expect(RequestLine("GET nowhere") == nil)
    }

    @Test(
        arguments: [
            ("http://a:1", "a", 1, "", "a:1"), ("http://a", "a", 80, "", "a:80"),
            ("http://a:1/x/y/", "a", 1, "/x/y", "a:1"), ("http://[::1]:9", "::1", 9, "", "[::1]:9"),
            ("http://[::1]/", "::1", 80, "", "[::1]:80"),
        ] as [(String, String, UInt16, String, String)])
    func `endpoints`(
        _ url: String, _ host: String, _ port: UInt16, _ prefix: String, _ authority: String
    ) throws {
        let endpoint = try #require(Endpoint(url))
        #expect(endpoint.host == host)
        #expect(endpoint.port == port)
        #expect(endpoint.prefix == prefix)
        #expect(endpoint.authority == authority)
    }

    @Test(arguments: [
        "https://a", "a:1", "http://", "http://:1", "http://a:0", "http://a:x",
        "http://a:65536", "http://a:", "http://[::1]x",
    ])
    func `an invalid endpoint is refused`(_ url: String) {
        #expect(Endpoint(url) == nil)
    }

    @Test func `words`() {
        #expect(
            ShellWords.split(#" a  'b c' "d \" e" f\ g '' "#) == [
                "a", "b c", #"d " e"#, "f g", "",
            ])
        #expect(ShellWords.split(#"--body '{"a":1}'"#) == ["--body", #"{"a":1}"#])
        #expect(ShellWords.split("a 'b") == nil)
        #expect(ShellWords.split("a\\") == nil)
        #expect(ShellWords.split("") == [])
    }

    @Test(
        arguments: [
            ("500ms", 500_000_000), ("10s", 10_000_000_000), ("2m", 120_000_000_000),
            ("1.5", 1_500_000_000), ("0", 0), ("250us", 250_000),
        ] as [(String, UInt64)])
    func `spans`(_ text: String, _ nanoseconds: UInt64) {
        #expect(TimeSpan(argument: text)?.nanoseconds == nanoseconds)
    }

    @Test(arguments: ["", "s", "-1s", "1h", "nan", "inf", "1e9"])
    func `an invalid span is refused`(_ text: String) {
        #expect(TimeSpan(argument: text) == nil)
    }
}

@Suite("Options — a bad one is refused with its name", .timeLimit(.minutes(60)))
struct OptionTests {
    @Test(
        arguments: [
            (["requests", "--url", "ftp://x"], "--url"), (["requests", "--depth", "0"], "--depth"),
            (["requests", "--rate", "-1"], "--rate"),
            (["requests", "--rate", "5", "--depth", "2"], "--depth"),
            (["requests", "--header", "no colon"], "--header"),
            (["requests", "--setup", "GET"], "--setup"), (["requests", "--pid", "0"], "--pid"),
            (["fanout", "--publishers", "65537"], "--publishers"),
            (["fanout", "--subscribers", "100000", "--publishers", "1000"], "--subscribers"),
            (["fanout", "--body", "x"], "{mark}"), (["idle"], "--pid"),
            (["stall", "--stalled", "0"], "--stalled"), (["mixed", "--churn", "-1"], "--churn"),
            (["mixed", "--sample", "1ms"], "--sample"),
            (["fanout", "--duration", "x"], "duration"),
            (["fanout", "--subscribe-url", "http://x/y"], "--subscribe-url"),
            (["ramp", "--subscribe-url", "x"], "--subscribe-url"),
            (["compare", "--run", "a: requests"], "two"),
            (["compare", "--run", "requests", "--run", "b: requests"], "expected 'name"),
            (["compare", "--run", "a: requests --depth 0", "--run", "b: requests"], "--depth"),
            (["compare", "--run", "a: compare", "--run", "b: requests"], "'a'"),
        ] as [([String], String)])
    func `invalid options are refused`(_ arguments: [String], _ named: String) {
        do {
            _ = try ReactorBench.parseAsRoot(arguments)
            Issue.record("\(arguments) was accepted")
        } catch {
            #expect(ReactorBench.message(for: error).contains(named))
        }
    }

    @Test func `the defaults are this project's server`() throws {
        let parsed = try ReactorBench.parseAsRoot(["fanout"])
        let command = try #require(parsed as? FanoutCommand)
        #expect(command.target.preset == .reactor)
        #expect(command.target.setupLines.map(\.path) == ["/v1/sessions/{session}"])
        #expect(command.target.resolvedRunName().count == 8)
        #expect(command.target.resolvedRunName() != command.target.resolvedRunName())
    }

    @Test func `set-up requests replace the preset's, and none sends nothing`() throws {
        let own = try ReactorBench.parseAsRoot(["requests", "--setup", "POST /a x"])
        #expect((own as? RequestsCommand)?.target.setupLines.map(\.path) == ["/a"])
        let none = try ReactorBench.parseAsRoot(["requests", "--setup", "none"])
        #expect((none as? RequestsCommand)?.target.setupLines.isEmpty == true)
    }
}
