import Foundation
import Logging
import TestRandomness
import Testing

@testable import ReactorHosting

@Suite("Lines of the log, for parsers of JSON and logfmt", .timeLimit(.minutes(60)))
struct LogLineTests {
    /// The fields that a parser reads from a line; it is checked to be one line.
    private func read(_ line: [UInt8], _ format: LogFormat) throws -> [String: String] {
        #expect(line.last == 0x0A)
        #expect(line.count <= LogLine.limitBytes)
        let content = line.dropLast()
        #expect(!content.contains { $0 < 0x20 || $0 == 0x7F })
        // The strictest reader of lines: it splits at U+0085 and U+2028, too.
        let isOneLine = !String(decoding: content, as: UTF8.self).contains { $0.isNewline }
        #expect(isOneLine)
        switch format {
        case .json: return try LogFields.json(content)
        case .logfmt:
            return Dictionary(try LogFields.logfmt(content).map { ($0.key, $0.value) }) {
                Issue.record("a key occurs twice")
                return $1
            }
        }
    }

    static let texts: [String] = [
        "", " ", "plain", "two words", "a=b", "=", "\"", "\\", "\\\"", "a\"b", "\\n", "\n", "\r\n",
        "a\tb", "\0", "\u{1}\u{1F}\u{7F}\u{80}\u{9F}", "\u{1B}[31mred\u{1B}[0m", "é", "日本",
        "👩‍👩‍👧", "\u{202E}txt.exe", "\u{FEFF}", "\u{2028}\u{2029}\u{85}", "null", "true", "12", "1e5",
        "{\"a\":1}", "key=value other=\"x\"", "level=critical\nlevel=info", "\u{FFFD}", "\u{FFFF}",
        "\u{10FFFF}", "\u{E000}", "e\u{301}", "...[cut]", "'", "`", ",", ":", "#", "//", "\u{AD}",
        String(decoding: [0xFF, 0xFE, 0x41], as: UTF8.self),
        String(decoding: [0xED, 0xA0, 0x80, 0xC3], as: UTF8.self),
        String(decoding: [0x80, 0x22, 0xC0, 0x0A], as: UTF8.self),
    ]

    @Test(arguments: texts, LogFormat.allCases)
    func `a parser reads every value as it was`(text: String, format: LogFormat) throws {
        var line = LogLine(format)
        line.append("before", "1")
        line.append("value", text)
        line.append("after", number: "2")
        let fields = try read(line.ended(), format)
        #expect(fields.count == 3)
        #expect(fields["before"] == "1")
        #expect(Array((fields["value"] ?? "?").utf8) == Array(text.utf8))
        #expect(fields["after"] == "2")
    }

    @Test(arguments: texts) func `any key is a valid key`(key: String) throws {
        var json = LogLine(.json)
        json.append(key, "value")
        let fields = try read(json.ended(), .json)
        #expect(fields.count == 1)
        #expect(Array(try #require(fields.keys.first).utf8) == Array(key.utf8))
        var logfmt = LogLine(.logfmt)
        logfmt.append(key, "value")
        #expect(Array(try read(logfmt.ended(), .logfmt).values) == ["value"])
    }

    @Test(arguments: LogFormat.allCases)
    func `random bytes in random fields are read as they were`(format: LogFormat) throws {
        var random = SeededGenerator(seed: 12)
        for _ in 0..<2_000 {
            let values = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                    Bool.random(using: &random)
                        ? UInt8.random(in: .min ... .max, using: &random)
                        : Array("\"\\= \n\r{}[]:,u0".utf8).randomElement(using: &random) ?? 0
                }
                return String(decoding: bytes, as: UTF8.self)
            }
            var line = LogLine(format)
            for (index, value) in values.enumerated() { line.append("k\(index)", value) }
            let fields = try read(line.ended(), format)
            #expect(fields.count == values.count)
            for (index, value) in values.enumerated() {
                #expect(Array((fields["k\(index)"] ?? "?").utf8) == Array(value.utf8))
            }
        }
    }

    @Test(arguments: LogFormat.allCases)
    func `a value that is too long is cut, with a mark`(format: LogFormat) throws {
        for character in ["a", " ", "\n", "日", "👩", "\u{1D173}"] {
            var line = LogLine(format)
            line.append("value", String(repeating: character, count: 100_000))
            line.append("after", "2")
            let fields = try read(line.ended(), format)
            let value = try #require(fields["value"])
            #expect(value.hasSuffix(LogLine.cutMark))
            #expect(value.utf8.count <= LogLine.valueLimitBytes + LogLine.cutMark.utf8.count)
            #expect(value.dropLast(LogLine.cutMark.count).allSatisfy { String($0) == character })
            #expect(fields["after"] == "2")
        }
        var exact = LogLine(format)
        exact.append("value", String(repeating: "a", count: LogLine.valueLimitBytes))
        #expect(try read(exact.ended(), format)["value"]?.utf8.count == LogLine.valueLimitBytes)
    }

    @Test(arguments: LogFormat.allCases)
    func `a line that is too long leaves out fields, and says how many`(format: LogFormat) throws {
        var line = LogLine(format)
        line.append("first", "1")
        for number in 0..<1_000 {
            line.append("key\(number)", String(repeating: "\"", count: 3_000))
        }
        line.append("small", "2")
        let fields = try read(line.ended(), format)
        #expect(fields["first"] == "1")
        #expect(fields["small"] == "2")
        #expect(fields["omitted_fields"] == String(1_003 - fields.count))
        #expect(fields.count < 20)
    }

    @Test(arguments: LogFormat.allCases)
    func `metadata never replace the line's own fields`(format: LogFormat) throws {
        let line = LogLine.bytes(
            format, .error, "app", "message",
            [
                ("level", "info"), ("message", "other"), ("message", "third"),
                ("list", ["a b", "c"]), ("count", .stringConvertible(-7)),
                ("took", .stringConvertible(LogMilliseconds(.microseconds(1_500)))),
            ])
        let fields = try read(line, format)
        #expect(fields["level"] == "error")
        #expect(fields["logger"] == "app")
        #expect(fields["message"] == "message")
        #expect(fields["level_"] == "info")
        #expect(fields["message_"] == "other")
        #expect(fields["message__"] == "third")
        #expect(fields["count"] == "-7")
        #expect(fields["took"] == (format == .json ? "1.5" : "1.500"))
        #expect(fields["list"]?.contains("a b") == true)
        if format == .json {
            #expect(String(decoding: line, as: UTF8.self).contains(#""count":-7,"took":1.500"#))
        }
    }

    @Test(arguments: [
        (Duration.zero, "0.000"), (.microseconds(7), "0.007"), (.milliseconds(-5), "0.000"),
        (.seconds(3_600), "3600000.000"), (.nanoseconds(1_999), "0.001"),
        (.seconds(Int64.max), "9000000000000.000"),
    ])
    func `a duration is a number of milliseconds`(duration: Duration, expected: String) {
        #expect(LogMilliseconds(duration).description == expected)
    }
}
