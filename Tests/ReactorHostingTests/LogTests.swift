import Dispatch
import Logging
import Synchronization
import Testing

@testable import ReactorHosting

@Suite("Log lines", .timeLimit(.minutes(60)))
struct LogTests {
    /// Accepts writes one call at a time, each only when permitted.
    private final class Reader: Sendable {
        private let text = Mutex("")
        private let began = DispatchSemaphore(value: 0)
        private let turn = DispatchSemaphore(value: 0)

        var read: String { text.withLock { $0 } }

        func receive(_ bytes: [UInt8]) {
            began.signal()
            turn.wait()
            text.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
        }

        func untilAsked() { began.wait() }
        func allow(_ count: Int) { for _ in 0..<count { turn.signal() } }
    }

    @Test func `lines beyond the limit are dropped and counted, and others keep their order`()
        async throws
    {
        let reader = Reader()
        let output = LogOutput(limitBytes: 10) { reader.receive($0) }
        output.append(Array("first\n".utf8))
        reader.untilAsked()
        // No call waits for the reader.
        for line in ["a\n", "bb\n", "too long\n", "ccc\n", "no\n"] {
            output.append(Array(line.utf8))
        }
        reader.allow(2)
        await output.flush()
        #expect(try lines(reader) == ["first", "a", "bb", "1 dropped", "ccc", "1 dropped"])
        output.append(Array("last\n".utf8))
        reader.allow(1)
        await output.flush()
        #expect(
            try lines(reader) == ["first", "a", "bb", "1 dropped", "ccc", "1 dropped", "last"])
    }

    /// The lines, with a short text for each that counts dropped ones.
    private func lines(_ reader: Reader) throws -> [String] {
        try reader.read.split(separator: "\n").map { line in
            guard line.contains("=") else { return String(line) }
            let fields = try LogFields.logfmt(line.utf8)
            #expect(fields.map(\.key) == ["time", "level", "logger", "message", "dropped"])
            #expect(fields[1].value == "warning")
            return "\(fields[4].value) dropped"
        }
    }

    @Test func `an event is one line, whatever its content`() async throws {
        let reader = Reader()
        reader.allow(3)
        let output = LogOutput { reader.receive($0) }
        var logger = Logger(label: "test") { LogLineHandler(label: $0, output: output) }
        logger.logLevel = .debug
        logger[metadataKey: "b"] = "of the logger"
        logger.debug("request", metadata: ["a": "1\r\n2", "c": "é"])
        logger.trace("nobody asked for this")
        output.format = .json
        logger.error("\u{1B}[31mred\u{9B}\nline")
        await output.flush()
        let lines = reader.read.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3)
        #expect(
            lines[0].dropFirst(29)
                == #" level=debug logger=test message=request a="1\r\n2" b="of the logger" c="é""#)
        #expect(
            lines[1].dropFirst(35)
                == #""level":"error","logger":"test","#
                + #""message":"\u001b[31mred\u009b\nline","b":"of the logger"}"#)
        let time = lines[0].prefix(29).wholeMatch(
            of: /time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/)
        #expect(time != nil)
        #expect(try LogFields.json(lines[1].utf8)["message"] == "\u{1B}[31mred\u{9B}\nline")
    }
}
