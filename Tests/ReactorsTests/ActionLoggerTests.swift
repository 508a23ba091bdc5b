import Reactors
import Synchronization
import TestStreams
import Testing

@Suite("A logger gets every entry in order, beside the session", .timeLimit(.minutes(60)))
struct ActionLoggerTests {
    private final class Recorder: ActionLogger {
        typealias R = ScriptReactor
        private let lines = Mutex<[String]>([])
        private let gate: Gate
        let done = Gate()
        let missing = Gate()
        private let last: String

        init(until last: String, gate: Gate = Gate(), isHeld: Bool = false) {
            self.last = last
            self.gate = gate
            if !isHeld { gate.open() }
            done.open()
            missing.open()
        }

        func log(_ entry: ActionLogEntry<ScriptReactor>) async {
            await gate.pass()
            lines.withLock { $0.append(entry.text) }
            if entry.text.hasPrefix(last) { await done.pass() }
        }

        func missed(_ count: Int) async {
            lines.withLock { $0.append("missed \(count)") }
            await missing.pass()
        }

        func read() async -> [String] {
            await done.hasArrivals(1)
            return lines.withLock { $0 }
        }
    }

    private let host = ReactorHost(ScriptReactor())

    @Test func `case 132: two loggers get the same lines in the same order`() async {
        let (first, second) = (Recorder(until: "last"), Recorder(until: "last"))
        await host.add(first)
        await host.add(second)
        for number in 0..<100 { await host.perform(.just("\(number)")) }
        await host.perform(.just("last"))
        let expected = (0..<100).flatMap { ["received", "\($0) \($0 + 1)"] } + ["received"]
        #expect(await first.read() == expected + ["last 101"])
        #expect(await second.read() == expected + ["last 101"])
    }

    @Test func `case 132: a slow logger delays nobody, and gets the number of missed lines`() async
    {
        let gate = Gate()
        let slow = Recorder(until: "last", gate: gate, isHeld: true)
        let quick = Recorder(until: "30")
        await host.add(slow, buffer: 4)
        await host.add(quick)
        await host.perform(.just("first"))
        await gate.hasArrivals(1)
        for number in 2...30 { #expect(await host.perform(.just("\(number)")).version == number) }
        #expect(await quick.read().count == 60)
        gate.open()
        await slow.missing.hasArrivals(1)
        await host.perform(.just("last"))
        let told = await slow.read()
        // It held one or two entries when the others came, and four more fit.
        #expect([5, 6].contains(told.count - 3))
        #expect(Array(told[0..<3]) == ["received", "first 1", "received"])
        #expect(told[told.count - 3] == "missed \(60 - (told.count - 3))")
        #expect(Array(told.suffix(2)) == ["received", "last 31"])
    }

    @Test func `case 132: adding a logger replaces none; removing one is explicit`() async {
        let (first, second) = (Recorder(until: "last"), Recorder(until: "last"))
        let token = await host.add(first)
        await host.add(second)
        await host.perform(.just("last"))
        await host.remove(token)
        await host.remove(token)
        #expect(await host.readerCount == 1)
        await host.perform(.just("after"))
        #expect(await first.read() == ["received", "last 1"])
        await second.done.hasArrivals(1)
    }

    @Test func `lines that wait for a logger are delivered after the session's end`() async {
        let gate = Gate()
        let logger = Recorder(until: "last", gate: gate, isHeld: true)
        await host.add(logger)
        await host.perform(.just("last"))
        await host.end()
        gate.open()
        #expect(await logger.read() == ["received", "last 1"])
        let late = Recorder(until: "x")
        await host.add(late)
        #expect(await host.readerCount == 0)
    }
}
