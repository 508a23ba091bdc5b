import Testing

@testable import reactor_bench

@Suite("Every event once, in order — checked by ids", .timeLimit(.minutes(60)))
struct OrderTests {
    /// The verdicts over a sequence of ids.
    private func verdicts(_ ids: [String], _ scheme: IDScheme) -> [OrderVerdict] {
        var checker = OrderChecker()
        return ids.map { text in
            let bytes = Array(text.utf8)
            let id = EventID(bytes.span, range: 0..<bytes.count, scheme: scheme)
            return checker.receive(id, scheme: scheme)
        }
    }

    @Test func `consecutive positions are in order`() {
        let ids = ["abcd1234.9", "abcd1234.10", "abcd1234.11"]
        #expect(verdicts(ids, .consecutive) == [.inOrder, .inOrder, .inOrder])
    }

    @Test func `the parts of a record come before its bare position`() {
        let ids = ["a0b1c2d3.1", "a0b1c2d3.2.1", "a0b1c2d3.2.2", "a0b1c2d3.2", "a0b1c2d3.3"]
        #expect(verdicts(ids, .consecutive) == [OrderVerdict](repeating: .inOrder, count: 5))
        #expect(verdicts(ids, .rising) == [OrderVerdict](repeating: .inOrder, count: 5))
    }

    @Test func `a skipped number is one gap, unless numbers may skip`() {
        let ids = ["abcd1234.1", "abcd1234.4", "abcd1234.5"]
        #expect(verdicts(ids, .consecutive) == [.inOrder, .gap, .inOrder])
        #expect(verdicts(ids, .rising) == [.inOrder, .inOrder, .inOrder])
    }

    @Test func `a skipped part and a record without its end are gaps`() {
        #expect(verdicts(["abcd1234.1", "abcd1234.2.2"], .consecutive) == [.inOrder, .gap])
        #expect(verdicts(["abcd1234.2.1", "abcd1234.2.3"], .rising) == [.inOrder, .gap])
        #expect(verdicts(["abcd1234.2.1", "abcd1234.3"], .rising) == [.inOrder, .gap])
    }

    @Test func `duplicates and reorderings are distinguished and keep the position`() {
        let ids = ["abcd1234.5", "abcd1234.5", "abcd1234.3", "abcd1234.6", "abcd1234.6.1"]
        #expect(
            verdicts(ids, .consecutive) == [.inOrder, .double, .reordered, .inOrder, .reordered])
    }

    @Test func `another generation is noticed`() {
        let ids = ["abcd1234.5", "zzzz9999.6", "zzzz9999.7"]
        #expect(verdicts(ids, .consecutive) == [.inOrder, .otherEpoch, .inOrder])
    }

    @Test func `nchan counts within a second and begins again with the next`() {
        let ids = ["1700000000:3", "1700000000:4", "1700000001:0", "1700000002:1"]
        #expect(verdicts(ids, .nchan) == [.inOrder, .inOrder, .inOrder, .gap])
        #expect(verdicts(["5:1", "5:3", "4:9"], .nchan) == [.inOrder, .gap, .reordered])
    }

    @Test func `numbers rise by one`() {
        #expect(verdicts(["7", "8", "10", "10"], .number) == [.inOrder, .inOrder, .gap, .double])
    }

    @Test(arguments: [
        ("", IDScheme.consecutive), ("abcd1234", .consecutive), ("abcd1234.", .consecutive),
        ("ABCD1234.1", .consecutive), ("abcd1234.1.", .consecutive), ("abcd1234.x", .rising),
        ("abcd1234.1.2.3", .rising), ("17:", .nchan), (":3", .nchan), ("17", .nchan),
        ("-1", .number), ("99999999999999999999", .number),
    ])
    func `an id of another scheme is malformed`(_ text: String, _ scheme: IDScheme) {
        #expect(verdicts([text], scheme) == [.malformed])
    }

    @Test(arguments: [
        ("abcd1234.17", IDScheme.consecutive), ("abcd1234.17.2", .rising),
        ("1700000000:12", .nchan), ("0", .number), ("18446744073709551", .number),
    ])
    func `an id is written as read`(_ text: String, _ scheme: IDScheme) throws {
        let bytes = Array(text.utf8)
        let read = EventID(bytes.span, range: 0..<bytes.count, scheme: scheme)
        let id = try #require(read)
        var written: [UInt8] = []
        id.append(to: &written, scheme: scheme)
        #expect(written == bytes)
    }
}

@Suite("Every event once, in order — checked by marks", .timeLimit(.minutes(60)))
struct MarkTests {
    @Test func `a mark is found in JSON and read as written`() {
        let mark = Mark(microseconds: 0xFEDC_BA98, publisher: 0x0123, sequence: 0x4567_89AB)
        var bytes = Array(##"{"a":"#x"##.utf8)
        let start = bytes.count
        mark.append(to: &bytes)
        #expect(bytes.count - start == Mark.length)
        bytes += Array(#""}"#.utf8)
        #expect(Mark.find(in: bytes.span, range: 0..<bytes.count) == mark)
        // A mark that lacks one byte is none, and the range is respected.
        #expect(Mark.find(in: bytes.span, range: 0..<start + Mark.length - 1) == nil)
        #expect(Mark.find(in: bytes.span, range: start + 1..<bytes.count) == nil)
    }

    @Test func `an age survives the wrap of the clock`() {
        let mark = Mark(microseconds: UInt32.max - 9, publisher: 0, sequence: 0)
        let now = (UInt64(UInt32.max) + 1 + 20) * 1000
        #expect(mark.age(atNanoseconds: now) == 30_000)
    }

    @Test func `each subscriber must see each publisher's events from 0 on`() {
        var ledger = MarkLedger(subscribers: 2, publishers: 2)
        let mark = { (publisher: UInt16, sequence: UInt32) in
            Mark(microseconds: 0, publisher: publisher, sequence: sequence)
        }
        let steps: [(Int, Mark, OrderVerdict)] = [
            (0, mark(0, 0), .inOrder), (0, mark(1, 0), .inOrder), (1, mark(0, 0), .inOrder),
            (0, mark(0, 1), .inOrder), (0, mark(0, 1), .double), (0, mark(0, 0), .reordered),
            (0, mark(0, 4), .gap), (0, mark(0, 5), .inOrder), (1, mark(1, 1), .gap),
            (1, mark(2, 0), .malformed),
        ]
        for (index, (subscriber, mark, verdict)) in steps.enumerated() {
            #expect(ledger.receive(mark, subscriber: subscriber) == verdict, "step \(index)")
        }
    }
}
