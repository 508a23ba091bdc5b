import Testing
import WireFeeds

@testable import Wire

/// Decodes whole, byte by byte, cut in two everywhere, and with a further event trailing.
func decodeEveryWay(
    _ bytes: [UInt8], lastEventID: String = "", limit: Int = 1_000_000,
    at location: SourceLocation = #_sourceLocation
) -> StreamReading {
    let whole = decode(bytes, lastEventID: lastEventID, limit: limit)
    func check(_ cuts: [Int]) {
        let cut = decode(bytes, cutAt: cuts, lastEventID: lastEventID, limit: limit)
        #expect(cut == whole, "cut at \(cuts.count == 1 ? cuts[0] : -1)", sourceLocation: location)
    }
    check(Array(0..<bytes.count))
    for cut in 0...bytes.count { check([cut]) }
    let more = Array("\n\nid: last\ndata: trailing\n\n".utf8)
    let trailing = decode(bytes + more, lastEventID: lastEventID, limit: limit)
    if !whole.failed {
        #expect(trailing.events.starts(with: whole.events), sourceLocation: location)
        #expect(trailing.events.last?.data == "trailing", sourceLocation: location)
    }
    return whole
}

@Suite("HTML §9.2.6 — reading an event stream", .timeLimit(.minutes(60)))
struct EventStreamDecoderTests {
    private func events(_ text: String, at location: SourceLocation = #_sourceLocation) -> [String]
    {
        decodeEveryWay(Array(text.utf8), at: location).events.map {
            "\($0.name)|\($0.data)|\($0.lastEventID)"
        }
    }

    @Test(arguments: [
        ("data: a\n\n", ["message|a|"]), ("data:a\n\n", ["message|a|"]),
        ("data:  a\n\n", ["message| a|"]), ("data\n\n", ["message||"]),
        ("data:\n\n", ["message||"]), ("data\ndata\n\n", ["message|\n|"]),
        ("data: a\ndata: b\n\n", ["message|a\nb|"]), ("event: x\ndata: a\n\n", ["x|a|"]),
        ("data: a\nevent: x\n\n", ["x|a|"]), ("event: x\n\ndata: a\n\n", ["message|a|"]),
        ("event: x\nevent:\ndata: a\n\n", ["message|a|"]),
        ("event: x\ndata: a\n\ndata: b\n\n", ["x|a|", "message|b|"]),
        ("data: a\r\n\r\n", ["message|a|"]), ("data: a\r\r", ["message|a|"]),
        ("data: a\r\n\rdata: b\n\r", ["message|a|", "message|b|"]),
        ("data: a\n\n\n\ndata: b\n\n", ["message|a|", "message|b|"]),
        (": comment\ndata: a\n:\n\n", ["message|a|"]), ("Data: a\n\n", []),
        (" data: a\n\n", []), ("data : a\n\n", []), ("dataa: a\n\n", []), ("\n\n", []),
        ("data: a\n", []), ("data: a", []), ("data: a: b\n\n", ["message|a: b|"]),
        ("data: \u{2028}\u{85}\u{b}\n\n", ["message|\u{2028}\u{85}\u{b}|"]),
        ("\u{feff}data: a\n\n", ["message|a|"]), ("\u{feff}\u{feff}data: a\n\n", []),
        ("data: a\n\n\u{feff}data: b\n\n", ["message|a|"]),
        ("\u{feff}\ndata: a\n\n", ["message|a|"]),
    ])
    func `lines make events`(stream: String, expected: [String]) {
        #expect(events(stream) == expected)
    }

    @Test(
        arguments: [
            ("cause: k\ndata: a\n\ndata: b\n\n", ["k", nil]), ("cause:k\ndata: a\n\n", ["k"]),
            ("cause: k\n\ndata: a\n\n", [nil]), ("data: a\ncause: k\n\n", ["k"]),
            ("cause: k\ncause: l\ndata: a\n\n", ["l"]), ("cause\ndata: a\n\n", [""]),
            ("Cause: k\ndata: a\n\n", [nil]), ("causes: k\ndata: a\n\n", [nil]),
            ("cause: k\0\ndata: a\n\n", [nil]), ("cause: a: b\ndata: a\n\n", ["a: b"]),
        ] as [(String, [String?])])
    func `a cause belongs to its own event`(stream: String, causes: [String?]) {
        #expect(decodeEveryWay(Array(stream.utf8)).events.map(\.cause) == causes)
    }

    @Test(arguments: [
        ("id: 1\n\nid: 2\n\n", ["||1", "||2"]), ("id: 1\ndata: a\n\n", ["message|a|1"]),
        ("id: 1\n\n\n: c\n\n", ["||1"]),
        ("id: 1\nevent: x\n\ndata: a\n\n", ["||1", "message|a|1"]),
        ("id: x\u{0}y\n\n", []), ("event: x\n\n", []), ("retry: 5\n\n", []), ("id: 1\n", []),
    ])
    func `a reader of ids gets each of them`(stream: String, expected: [String]) throws {
        var decoder = EventStreamDecoder(reportsIDs: true)
        var events: [String] = []
        for byte in stream.utf8 {
            try decoder.receive([byte].span) {
                events.append("\($0.name)|\($0.data)|\($0.lastEventID)")
            }
        }
        #expect(events == expected)
    }

    @Test(arguments: [
        ("id: 1\ndata: a\n\ndata: b\n\n", ["message|a|1", "message|b|1"]),
        ("id: 1\n\ndata: b\n\n", ["message|b|1"]), ("id: 1\nid: 2\ndata: a\n\n", ["message|a|2"]),
        ("id: 1\ndata: a\n\nid\ndata: b\n\n", ["message|a|1", "message|b|"]),
        ("id: 1\ndata: a\n\nid: x\u{0}y\ndata: b\n\n", ["message|a|1", "message|b|1"]),
        ("data: a\nid: é 1\n\n", ["message|a|é 1"]),
    ])
    func `an id lasts until the next one`(stream: String, expected: [String]) {
        #expect(events(stream) == expected)
    }

    @Test func `an id counts when its block ends, with or without an event`() {
        #expect(decodeEveryWay(Array("id: 1\n\n".utf8)).lastEventID == "1")
        #expect(decodeEveryWay(Array("id: 1\n\nid: 2\n".utf8)).lastEventID == "1")
        #expect(decodeEveryWay(Array("id: 1\n\nid: 2\ndata: x".utf8)).lastEventID == "1")
    }

    @Test func `an id from the connection before holds until another comes`() {
        let reading = decodeEveryWay(Array("data: a\n\nid: 6\ndata: b\n\n".utf8), lastEventID: "5")
        #expect(reading.events.map(\.lastEventID) == ["5", "6"])
    }

    @Test(
        arguments: [
            ("retry: 2000\n", 2_000), ("retry:7\n", 7), ("retry: 10\nretry: x\n", 10),
            ("retry: -1\n", nil), ("retry: 1.5\n", nil), ("retry: 1s\n", nil), ("retry\n", nil),
            ("retry: \n", nil), ("retry:  1\n", nil), ("retry: 99999999999999999999\n", Int.max),
        ] as [(String, Int?)])
    func `a reconnection time is digits only`(stream: String, retry: Int?) {
        #expect(decodeEveryWay(Array(stream.utf8)).retry == retry)
    }

    @Test func `a block that the connection's end cuts off is no event, and its id does not count`()
        throws
    {
        var decoder = EventStreamDecoder()
        var events: [ServerSentEvent] = []
        func receive(_ text: String) throws {
            try decoder.receive(Array(text.utf8).span) { events.append($0) }
        }
        try receive("retry: 5\nid: 1\ndata: a\n\nid: 2\nevent: x\ndata: lost\nda")
        #expect(decoder.lastEventID == "1")
        #expect(decoder.retryMilliseconds == 5)
        #expect(events.map(\.data) == ["a"])
    }

    @Test func `after a failure every call fails`() throws {
        var decoder = EventStreamDecoder(eventLimitBytes: 10)
        let long = Array("data: 0123456789\n\n".utf8)
        let short = Array("data: a\n\n".utf8)
        var events: [String] = []
        let failure = EventStreamFailure.eventTooLarge(limit: 10)
        for bytes in [long, short] {
            #expect(throws: failure) {
                try decoder.receive(bytes.span) { events.append($0.data) }
            }
        }
        #expect(events.isEmpty)
    }

    @Test func `bytes that are not UTF-8 become replacement characters`() {
        let bytes = Array("data: a".utf8) + [0xff, 0xc3] + Array("\n\n".utf8)
        #expect(decodeEveryWay(bytes).events.map(\.data) == ["a\u{fffd}\u{fffd}"])
    }

    @Test func `an event is read up to the limit and fails beyond it`() {
        let fits = "data: " + String(repeating: "a", count: 14) + "\n\n"
        #expect(decodeEveryWay(Array(fits.utf8), limit: 20).events.count == 1)
        let longLine = "data: " + String(repeating: "a", count: 15) + "\n\n"
        #expect(decodeEveryWay(Array(longLine.utf8), limit: 20).failed)
        let manyLines = String(repeating: "data: aaaa\n", count: 5) + "\n"
        #expect(decodeEveryWay(Array(manyLines.utf8), limit: 20).failed)
        let endless = "data: a\n\n:" + String(repeating: "c", count: 30)
        let reading = decodeEveryWay(Array(endless.utf8), limit: 20)
        #expect(reading.failed)
        #expect(reading.events.count == 1)
    }

    @Test(arguments: [
        "", " leading", "a\nb", "tail\n", "\n", "emoji 😀", "\u{2028}", ":colon", "data: x",
        "\"json\\n\"", String(repeating: "x", count: 100_000),
    ])
    func `what the encoder writes the decoder reads`(data: String) throws {
        var out: [UInt8] = []
        EventEncoder.appendRetry(milliseconds: 2_000, to: &out)
        out.append(contentsOf: "id: g.1\n\n".utf8)
        EventEncoder.appendEvent(name: "pulse", id: "g.2", data: data, to: &out)
        out.append(contentsOf: ": heartbeat\n\n".utf8)
        let reading = decode(out, cutAt: [1, 8, out.count / 2])
        #expect(reading.events == [ServerSentEvent(name: "pulse", data: data, lastEventID: "g.2")])
        #expect(reading.retry == 2_000)
        #expect(reading.lastEventID == "g.2")
    }
}
