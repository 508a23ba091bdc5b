import Testing

@testable import reactor_bench

@Suite(
    "Delivery ledger — a remembered event is checked like a parsed one", .timeLimit(.minutes(60)))
struct DeliveryLedgerTests {
    private func event(_ number: Int, publisher: Int = 0, sequence: Int) -> String {
        var mark: [UInt8] = []
        Mark(microseconds: 7, publisher: UInt16(publisher), sequence: UInt32(sequence))
            .append(to: &mark)
        let text = String(decoding: mark, as: UTF8.self)
        return "event: alertMessage\nid: abcd1234.\(number)\ndata: \"\(text)\"\n\n"
    }

    /// Two subscribers of one stream; the first reads `first`, then the second `second`.
    private func tally(
        _ first: String, _ second: String, pieces: (String) -> [[UInt8]] = { [Array($0.utf8)] }
    ) -> DeliveryTally {
        var ledger = DeliveryLedger(
            subscribers: 2, streams: 1, publishers: 1, checks: DeliveryChecks())
        for (index, text) in [first, second].enumerated() {
            var scanner = EventScanner()
            for piece in pieces("retry: 2000\n\nid: abcd1234.0\n\n" + text) {
                ledger.begin(subscriber: index, at: 9000)
                let isKept = scanner.scan(piece.span, range: 0..<piece.count, into: &ledger)
                #expect(isKept)
            }
        }
        return ledger.tally
    }

    @Test func `equal streams are in order, whole or in pieces`() {
        let stream = (1...100).map { event($0, sequence: $0 - 1) }.joined()
        let whole = tally(stream, stream)
        #expect(whole.deliveries == 200)
        #expect(whole.problems == [])
        #expect(whole.latency.count == 200)
        #expect(whole.latency.max == 2000)
        let bytewise = tally(stream, stream) { $0.utf8.map { [$0] } }
        #expect(bytewise.deliveries == 200)
        #expect(bytewise.problems == [])
    }

    @Test func `a loss is detected for the first and the second subscriber`() {
        let all = [1, 2, 3, 4].map { event($0, sequence: $0 - 1) }
        let lossy = all[0] + all[1] + all[3]
        for tally in [tally(all.joined(), lossy), tally(lossy, all.joined())] {
            #expect(tally.gaps == 1)
            #expect(tally.problems == ["1 gaps"])
            #expect(tally.deliveries == 7)
        }
    }

    @Test func `a repeated event is detected although its bytes are known`() {
        let all = [1, 2, 3].map { event($0, sequence: $0 - 1) }
        let doubled = tally(all.joined(), all[0] + all[1] + all[1] + all[2])
        #expect(doubled.doubles == 1)
        #expect(doubled.problems == ["1 events received twice"])
    }

    @Test func `known bytes after another position are checked again`() {
        let all = [1, 2].map { event($0, sequence: $0 - 1) }.joined()
        let ahead = tally(all, "id: abcd1234.5\n\n" + all)
        #expect(ahead.reorderings == 2)
        #expect(ahead.deliveries == 4)
    }

    @Test func `exchanged events are detected`() {
        let all = [1, 2, 3].map { event($0, sequence: $0 - 1) }
        let swapped = tally(all.joined(), all[0] + all[2] + all[1])
        #expect(swapped.gaps == 1)
        #expect(swapped.reorderings == 1)
    }

    @Test func `right ids on wrong data are detected by the marks`() {
        let wrong = tally(
            event(1, sequence: 0) + event(2, sequence: 1),
            event(1, sequence: 0) + event(2, sequence: 0))
        #expect(wrong.doubles == 1)
    }

    @Test func `snapshots, resets and ends do not count as deliveries`() {
        let tally = tally(
            "event: snapshot\nid: abcd1234.0\ndata: {}\n\n" + event(1, sequence: 0),
            event(1, sequence: 0)
                + "event: reset\ndata: {}\n\nevent: snapshot\nid: abcd1234.9\ndata: {}\n\n"
                + event(10, sequence: 1) + "event: ping\ndata: {}\n\nevent: end\ndata: {}\n\n")
        #expect(tally.deliveries == 3)
        #expect(tally.snapshots == 2)
        #expect(tally.ends == 1)
        #expect(tally.problems == ["1 resets"])
    }

    @Test func `an event without an id or a mark is malformed`() {
        let bare = tally("data: \"x\"\n\n", "")
        #expect(bare.malformed == 1)
        #expect(bare.deliveries == 1)
    }

    @Test func `long events are checked though they are not remembered`() {
        let filler = String(repeating: "x", count: EventMemo.lengthLimitBytes)
        let long = event(1, sequence: 0).replacingLast("\"\n\n", with: filler + "\"\n\n")
        let tally = tally(long + event(2, sequence: 1), long + event(3, sequence: 1))
        #expect(tally.deliveries == 4)
        #expect(tally.gaps == 1)
    }
}

extension String {
    fileprivate func replacingLast(_ suffix: String, with other: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) + other : self
    }
}
