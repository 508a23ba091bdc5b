import ArgumentParser
import Testing

@testable import ReactorHosting

@Suite("What a command on sessions reads and shows", .timeLimit(.minutes(60)))
struct SessionServerTests {
    @Test(arguments: [
        "http://127.0.0.1:8080", "http://localhost", "http://[::1]:80/", "http://a.example/",
        "unix:/run/x.sock",
    ])
    func `an address has a host and perhaps a port, or a path`(text: String) {
        #expect(throws: Never.self) { try SessionServer(text, token: "a.b-c") }
    }

    @Test(arguments: [
        ("https://a.example", "ssh -L"), ("ftp://a", "expected http"), ("a.example:80", "expected"),
        ("", "expected"), ("http://", "expected"), ("http://a/prefix", "expected"),
        ("http://user:secret@a", "expected"), ("http://a?x", "expected"),
        ("http://::1", "expected"),
        ("http://a:99999", "expected"), ("http://a\r\nX: y", "expected"),
        ("http://a b", "expected"),
    ])
    func `any other text is refused`(text: String, phrase: String) {
        let error = #expect(throws: ValidationError.self) { try SessionServer(text, token: nil) }
        #expect(error?.message.contains(phrase) == true)
    }

    @Test(arguments: ["a b", "a\nb", "\u{e9}", "a\u{7f}"])
    func `a token cannot add a field to a request`(token: String) {
        let error = #expect(throws: ValidationError.self) {
            try SessionServer("unix:/x", token: token)
        }
        #expect(error?.message.contains(token) == false)
    }

    @Test(arguments: [
        ("plain \u{e9} \u{1f600}\t.", "plain \u{e9} \u{1f600}\t."),
        ("\u{1b}[2J", #"\u001b[2J"#), ("a\r\nb", #"a\u000d\u000ab"#), ("\u{0}", #"\u0000"#),
        ("\u{7f}\u{80}\u{9b}31m\u{9f}\u{a0}", "\\u007f\\u0080\\u009b31m\\u009f\u{a0}"),
    ])
    func `no text of a server controls the terminal`(text: String, shown: String) {
        #expect(CommandOutput.visible(text) == shown)
    }

    @Test func `its variables are no settings of a server`() {
        let environment = ["REACTOR_SERVER": "x", "REACTOR_TOKEN": "y", "REACTOR_TOKENS": "z"]
        let warnings = Configuration.unknownVariables(in: environment)
        #expect(warnings.map { $0.hasPrefix("REACTOR_TOKENS ") } == [true])
    }
}
