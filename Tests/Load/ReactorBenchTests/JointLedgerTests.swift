import Testing

@testable import reactor_bench

@Suite("Delivery ledger — streams of several sessions", .timeLimit(.minutes(60)))
struct JointLedgerTests {
    /// Two subscribers of two sessions each, of three: 0 and 1, and 2 and 0.
    private func ledger(_ texts: [String]) -> DeliveryLedger {
        var ledger = DeliveryLedger(
            subscribers: 2, streams: 3, sessionsPerStream: 2, publishers: 1,
            checks: DeliveryChecks())
        for (index, text) in texts.enumerated() {
            var scanner = EventScanner()
            ledger.begin(subscriber: index, at: 9000)
            let bytes = Array(text.utf8)
            let isKept = scanner.scan(bytes.span, range: 0..<bytes.count, into: &ledger)
            #expect(isKept)
        }
        return ledger
    }

    private func event(_ session: Int, id: String, _ sequence: Int) -> String {
        var mark: [UInt8] = []
        Mark(microseconds: 7, publisher: 0, sequence: UInt32(sequence)).append(to: &mark)
        let data = String(decoding: mark, as: UTF8.self)
        return "event: run-3-\(session)/alertMessage\nid: \(id)\ndata: \"\(data)\"\n\n"
    }

    private func text(of ledger: DeliveryLedger, _ subscriber: Int) -> String {
        var bytes: [UInt8] = []
        ledger.appendPosition(of: subscriber, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `each session of a stream has an order of its own`() {
        let ledger = ledger([
            "retry: 2000\n\nid: aaaaaaaa.0,-\n\n" + event(1, id: "aaaaaaaa.0,bbbbbbbb.1", 0)
                + event(0, id: "aaaaaaaa.1,bbbbbbbb.1", 0)
                + event(1, id: "aaaaaaaa.1,bbbbbbbb.2", 1),
            event(2, id: "cccccccc.1,-", 0) + event(0, id: "cccccccc.1,aaaaaaaa.1", 0),
        ])
        #expect(ledger.tally.problems == [])
        #expect(ledger.tally.deliveries == 5)
        #expect(ledger.received == [1, 2, 1, 1])
        #expect(ledger.streams(of: 0) == [0, 1])
        #expect(ledger.streams(of: 1) == [2, 0])
        #expect(text(of: ledger, 0) == "aaaaaaaa.1,bbbbbbbb.2")
        #expect(text(of: ledger, 1) == "cccccccc.1,aaaaaaaa.1")
    }

    @Test func `a stream has begun when each of its sessions has`() {
        let first = "id: aaaaaaaa.7,-\n\n"
        #expect(!ledger([first]).hasBegun(subscriber: 0))
        let both = first + "id: aaaaaaaa.7,bbbbbbbb.3\n\n"
        #expect(ledger([both]).hasBegun(subscriber: 0))
        #expect(ledger([both + event(1, id: "aaaaaaaa.7,bbbbbbbb.4", 0)]).tally.problems == [])
        #expect(ledger([both + event(1, id: "aaaaaaaa.7,bbbbbbbb.5", 0)]).tally.gaps == 1)
    }

    @Test func `an id may be that of its session alone`() {
        let ledger = ledger([
            event(0, id: "run-3-0/aaaaaaaa.1", 0) + event(0, id: "run-3-0/aaaaaaaa.2", 1)
        ])
        #expect(ledger.tally.problems == [])
        #expect(text(of: ledger, 0) == "aaaaaaaa.2,-")
        #expect(ledger.hasPosition(subscriber: 0))
        #expect(!ledger.hasPosition(subscriber: 1))
    }

    @Test(arguments: [
        ("aaaaaaaa.1,bbbbbbbb.3", 1, "1 gaps"), ("aaaaaaaa.1,bbbbbbbb.1", 1, "twice"),
        ("aaaaaaaa.1,-", 1, "1 events"), ("aaaaaaaa.1", 1, "1 events"),
        ("aaaaaaaa.1,bbbbbbbb.2", 2, "1 gaps"), ("aaaaaaaa.1,bbbbbbbb.2", 0, "twice"),
    ])
    func `a fault of one session is found`(id: String, sequence: Int, problem: String) throws {
        let ledger = ledger([
            event(0, id: "aaaaaaaa.1,-", 0) + event(1, id: "aaaaaaaa.1,bbbbbbbb.1", 0)
                + event(1, id: id, sequence)
        ])
        let found = try #require(ledger.tally.problems.first)
        #expect(found.contains(problem))
        #expect(ledger.tally.problems.count == 1)
    }

    @Test(arguments: ["run-3-2/alertMessage", "run-3-7/alertMessage", "alertMessage", "a/b"])
    func `an event of another session is malformed`(name: String) {
        let ledger = ledger(["event: \(name)\nid: aaaaaaaa.1,-\ndata: 1\n\n"])
        #expect(ledger.tally.malformed == 1)
        #expect(ledger.tally.deliveries == 0)
    }

    @Test func `a stream ends with its last session`() {
        let end = "event: run-3-0/end\nid: x,-\ndata: {}\n\n"
        #expect(!ledger([end]).hasEnded(subscriber: 0))
        #expect(text(of: ledger([end]), 0) == "x,-")
        let both = ledger([end + "event: run-3-1/end\nid: x,x\ndata: {}\n\n"])
        #expect(both.hasEnded(subscriber: 0))
        #expect(both.tally.problems == [])
    }

    @Test func `a template names the sessions of a stream`() {
        let template = Template("/v1/events?{sessions}&from=now", run: "run-3")
        let values = TemplateValues(sessions: [2, 0])
        #expect(template.text(values) == "/v1/events?session=run-3-2&session=run-3-0&from=now")
    }
}
