import Dispatch
import Logging
import Synchronization
import Testing

@testable import ReactorHosting

@Suite("Log lines", .timeLimit(.minutes(5)))
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
        async
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
        let note = "[1 log lines dropped: the log reader was too slow]\n"
        #expect(reader.read == "first\na\nbb\n\(note)ccc\n\(note)")
        output.append(Array("last\n".utf8))
        reader.allow(1)
        await output.flush()
        #expect(reader.read == "first\na\nbb\n\(note)ccc\n\(note)last\n")
    }

    @Test func `an event is one line, whatever its content`() async {
        let reader = Reader()
        reader.allow(3)
        let output = LogOutput { reader.receive($0) }
        var logger = Logger(label: "test") { LogLineHandler(label: $0, output: output) }
        logger.logLevel = .debug
        logger[metadataKey: "b"] = "of the logger"
        logger.debug("request", metadata: ["a": "1\r\n2", "c": "é"])
        logger.trace("nobody asked for this")
        logger.error("\u{1B}[31mred\u{9B}\nline")
        await output.flush()
        let lines = reader.read.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3)
        #expect(lines[0].dropFirst(24) == #" debug test a=1\r\n2 b=of the logger c=é: request"#)
        #expect(
            lines[1].dropFirst(24) == #" error test b=of the logger: \u{1B}[31mred\u{009B}\nline"#)
        let time = lines[0].prefix(24).wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/)
        #expect(time != nil)
    }
}
