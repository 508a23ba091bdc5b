import Testing

@testable import Wire

/// A response as a reader returned it.
struct ReadResponse: Equatable {
    var status: Int
    var reason: String
    var fields: [String]
    var body: String
    var keepsAlive: Bool
}

struct ResponseReading: Equatable {
    var responses: [ReadResponse] = []
    var failure: ResponseFailure?
}

func feedResponse(
    _ bytes: [UInt8], cutAt cuts: [Int] = [], answersHead: Bool = false, headLimit: Int = 65_536
) -> ResponseReading {
    var reader = ResponseReader(headLimitBytes: headLimit, answersHead: answersHead)
    var head = ResponseHead()
    var body: [UInt8] = []
    var reading = ResponseReading()
    func collect() {
        reading.responses.append(
            ReadResponse(
                status: head.status, reason: head.reason,
                fields: head.fieldLines.map { "\($0.name): \($0.value)" },
                body: String(decoding: body, as: UTF8.self), keepsAlive: head.keepsAlive))
    }
    do {
        var start = 0
        for end in cuts + [bytes.count] {
            let piece = Array(bytes[start..<end])
            start = end
            var offset = 0
            while true {
                let progress = try reader.next(piece.span, at: &offset, head: &head, body: &body)
                if progress == .complete || progress == .interim { collect() }
                if progress == .needsMore || offset == piece.count { break }
            }
        }
        if try reader.finish() { collect() }
    } catch {
        reading.failure = error
    }
    return reading
}

func responseEveryWay(
    _ text: String, answersHead: Bool = false, headLimit: Int = 65_536,
    at location: SourceLocation = #_sourceLocation
) -> ResponseReading {
    let bytes = Array(text.utf8)
    func read(_ cuts: [Int]) -> ResponseReading {
        feedResponse(bytes, cutAt: cuts, answersHead: answersHead, headLimit: headLimit)
    }
    let whole = read([])
    #expect(read(Array(0..<bytes.count)) == whole, "byte by byte", sourceLocation: location)
    for cut in 0...bytes.count {
        #expect(read([cut]) == whole, "cut at \(cut)", sourceLocation: location)
    }
    return whole
}

@Suite("RFC 9112 §4, §6.3 — reading responses", .timeLimit(.minutes(15)))
struct ResponseReaderTests {
    @Test func `a body has the length that the head says`() {
        let sized = responseEveryWay("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b\r\n\r\nhi")
        #expect(
            sized.responses == [
                ReadResponse(
                    status: 200, reason: "OK", fields: ["Content-Length: 2", "A: b"], body: "hi",
                    keepsAlive: true)
            ])
        let chunked = responseEveryWay(
            "HTTP/1.1 201 \r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nT: u\r\n\r\n")
        #expect(chunked.responses.map(\.body) == ["a"])
        let open = responseEveryWay("HTTP/1.1 200 OK\r\n\r\nuntil the end\r\n")
        #expect(open.responses.map(\.body) == ["until the end\r\n"])
        #expect(open.responses.map(\.keepsAlive) == [false])
    }

    @Test(arguments: [204, 304])
    func `some statuses have no body`(status: Int) {
        let text = "HTTP/1.1 \(status) X\r\nContent-Length: 5\r\n\r\n"
        let two = responseEveryWay(text + text)
        #expect(two.responses.map(\.status) == [status, status])
        #expect(two.responses.map(\.body) == ["", ""])
    }

    @Test func `an answer to HEAD has no body`() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        #expect(responseEveryWay(text, answersHead: true).failure == nil)
        #expect(responseEveryWay(text).failure == .truncated)
    }

    @Test func `interim responses come before the real one`() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
        #expect(responseEveryWay(text).responses.map(\.status) == [100, 200])
        #expect(
            responseEveryWay("HTTP/1.1 101 Up\r\n\r\n").failure == .unexpectedUpgrade)
    }

    @Test func `consecutive responses are read one after another`() {
        let one = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"
        let two = "HTTP/1.0 404\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        let reading = responseEveryWay(one + two + one)
        #expect(reading.responses.map(\.status) == [200, 404, 200])
        #expect(reading.responses.map(\.keepsAlive) == [true, false, true])
    }

    @Test(
        arguments: [
            ("HTTP/1.1 20 OK\r\n\r\n", .malformedStatusLine),
            ("HTTP/1.1 2000 OK\r\n\r\n", .malformedStatusLine),
            ("HTTP/1.1  200 OK\r\n\r\n", .malformedStatusLine),
            ("HTTP/2.0 200 OK\r\n\r\n", .malformedStatusLine),
            ("http/1.1 200 OK\r\n\r\n", .malformedStatusLine),
            ("HTtP/1.1 200 OK\r\n\r\n", .malformedStatusLine),
            ("HTTP/1.1 099 OK\r\n\r\n", .malformedStatusLine),
            ("HTTP/1.1 200 O\u{1}K\r\n\r\n", .malformedStatusLine),
            ("\r\nHTTP/1.1 200 OK\r\n\r\n", .malformedStatusLine),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", .malformedLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", .malformedLength),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                .malformedLength
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", .unknownTransferCoding),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx", .chunk(.malformedSize)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh", .truncated),
            ("HTTP/1.1 200", .truncated),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", .truncated),
        ] as [(String, ResponseFailure)])
    func `a fault is named`(text: String, failure: ResponseFailure) {
        #expect(responseEveryWay(text).failure == failure)
    }

    @Test func `a bad field line and a head without end are named`() {
        let folded = responseEveryWay("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n").failure
        #expect(
            folded == .field(FieldFault(kind: .folded, location: FieldLocation(line: 2))))
        let long = "HTTP/1.1 200 OK\r\nA: " + String(repeating: "b", count: 50)
        #expect(responseEveryWay(long, headLimit: 40).failure == .headTooLarge(limit: 40))
    }

    @Test(arguments: ["8000000000000000", "fffffffffffffffe", "ffffffffffffffff"])
    func `a chunk size beyond a machine word is an error`(size: String) {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\nabc"
        #expect(responseEveryWay(text).failure == .chunk(.tooLarge))
    }

    @Test func `fields are found regardless of case`() throws {
        var reader = ResponseReader()
        var head = ResponseHead()
        var body: [UInt8] = []
        var offset = 0
        let bytes = Array("HTTP/1.1 204 X\r\nETag: \"a\"\r\nX-Own: 1\r\nx-own: 2\r\n\r\n".utf8)
        let progress = try reader.next(bytes.span, at: &offset, head: &head, body: &body)
        #expect(progress == .complete)
        #expect(head.value("etag") == "\"a\"")
        #expect(head.values("X-OWN") == ["1", "2"])
        #expect(head.value("none") == nil)
    }
}

@Suite("RFC 9112 §4 — writing responses", .timeLimit(.minutes(15)))
struct ResponseEncoderTests {
    private func encode(
        _ status: Int, fields: [(String, String)] = [], body: String = "", date: String = "",
        close: Bool = false, minorVersion: Int = 1, headOnly: Bool = false
    ) -> String {
        var out: [UInt8] = Array("before|".utf8)
        ResponseEncoder.append(
            status: status, fields: fields, body: Array(body.utf8), date: Array(date.utf8),
            close: close, minorVersion: minorVersion, headOnly: headOnly, to: &out)
        return String(String(decoding: out, as: UTF8.self).dropFirst(7))
    }

    /// On every response, whatever its fields.
    private let noSniffing = "X-Content-Type-Options: nosniff\r\n"

    @Test func `a response is line, nosniff, date, fields, length and body`() {
        #expect(
            encode(200, fields: [("Content-Type", "text/plain")], body: "hi", date: "D")
                == "HTTP/1.1 200 OK\r\n\(noSniffing)Date: D\r\nContent-Type: text/plain\r\n"
                + "Content-Length: 2\r\n\r\nhi")
        #expect(
            encode(404) == "HTTP/1.1 404 Not Found\r\n\(noSniffing)Content-Length: 0\r\n\r\n")
        #expect(encode(299) == "HTTP/1.1 299 \r\n\(noSniffing)Content-Length: 0\r\n\r\n")
    }

    @Test func `a response to HEAD has the length and no body`() {
        #expect(
            encode(200, body: "hello", headOnly: true)
                == "HTTP/1.1 200 OK\r\n\(noSniffing)Content-Length: 5\r\n\r\n")
    }

    @Test(arguments: [103, 204, 304])
    func `a status without body has neither length nor body`(status: Int) {
        let text = encode(status, body: "ignored")
        #expect(!text.contains("Content-Length"))
        #expect(text.contains("\r\n" + noSniffing))
        #expect(text.hasSuffix("\r\n\r\n"))
    }

    @Test func `the Connection field is written where the peer cannot infer it`() {
        #expect(encode(200, close: true).contains("\r\nConnection: close\r\n"))
        #expect(!encode(200).contains("Connection"))
        #expect(encode(200, minorVersion: 0).contains("\r\nConnection: keep-alive\r\n"))
        let closing = encode(200, close: true, minorVersion: 0)
        #expect(closing.contains("Connection: close") && !closing.contains("keep-alive"))
    }

    @Test func `a prepared head gives the same response`() {
        let lines = FieldLines([("Content-Type", "application/json")])
        let date = Array("D".utf8)
        var head: [UInt8] = []
        ResponseEncoder.appendHead(status: 200, lines: lines, date: date, to: &head)
        for (close, minorVersion) in [(false, 1), (true, 1), (false, 0), (true, 0)] {
            for body in ["", "{}"] {
                var out: [UInt8] = []
                ResponseEncoder.append(
                    head: head, body: Array(body.utf8).span, close: close,
                    minorVersion: minorVersion, to: &out)
                let whole = encode(
                    200, fields: [("Content-Type", "application/json")], body: body, date: "D",
                    close: close, minorVersion: minorVersion)
                #expect(String(decoding: out, as: UTF8.self) == whole)
            }
        }
    }

    @Test(arguments: [(true, "Transfer-Encoding: chunked\r\n"), (false, "")])
    func `a stream has no length; it has chunks or ends with the connection`(
        isChunked: Bool, coding: String
    ) {
        var out: [UInt8] = []
        ResponseEncoder.appendStreamHead(
            status: 200, fields: [("Content-Type", "text/event-stream")],
            date: Array("D".utf8), isChunked: isChunked, to: &out)
        #expect(
            String(decoding: out, as: UTF8.self)
                == "HTTP/1.1 200 OK\r\n\(noSniffing)Date: D\r\nContent-Type: text/event-stream\r\n"
                + coding + "Connection: close\r\n\r\n")
    }

    @Test func `a value cannot break its line`() {
        let text = encode(200, fields: [("Location", "/a\r\nSet-Cookie: x\u{0}y\n\u{7f}\tz")])
        #expect(text.contains("\r\nLocation: /a  Set-Cookie: x y  \tz\r\n"))
        let reading = responseEveryWay(text)
        #expect(reading.responses.first?.fields.count == 3)
    }

    @Test func `a written response can be read`() {
        for status in [200, 201, 400, 404, 413, 431, 500, 503, 507] {
            let text = encode(status, fields: [("A", "b"), ("C", "é")], body: "body\r\n")
            let read = responseEveryWay(text).responses
            #expect(read.map(\.status) == [status])
            #expect(read.first?.reason == StatusLine.reason(status))
            #expect(read.first?.reason.isEmpty == false)
            let own = ["X-Content-Type-Options: nosniff", "A: b", "C: é"]
            #expect(read.first?.fields.prefix(3) == own[...])
            #expect(read.first?.body == "body\r\n")
        }
    }

    @Test func `100 Continue is a separate response`() {
        let text = String(decoding: ResponseEncoder.continueResponse, as: UTF8.self)
        #expect(responseEveryWay(text).responses.map(\.status) == [100])
        #expect(text == "HTTP/1.1 100 Continue\r\n\r\n")
    }
}

@Suite("RFC 9110 §5.6.7 — dates", .timeLimit(.minutes(15)))
struct HTTPDateTests {
    @Test(arguments: [
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
        (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
        (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
        (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (-62_135_596_800, "Mon, 01 Jan 0001 00:00:00 GMT"),
        (Int64.min, "Mon, 01 Jan 0001 00:00:00 GMT"),
    ])
    func `seconds become a date`(seconds: Int64, date: String) {
        var out: [UInt8] = []
        HTTPDate.append(secondsSinceEpoch: seconds, to: &out)
        #expect(String(decoding: out, as: UTF8.self) == date)
    }

    @Test func `days follow each other for four hundred years`() {
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        let months = "JanFebMarAprMayJunJulAugSepOctNovDec"
        let days = "ThuFriSatSunMonTueWed"
        func name(_ names: String, _ index: Int) -> String {
            String(names.dropFirst(index * 3).prefix(3))
        }
        func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        var count = 0
        for year in 1970..<2370 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            for month in 0..<12 {
                let length = lengths[month] + (month == 1 && isLeap ? 1 : 0)
                for day in [1, 15, length] {
                    let today = count + day - 1
                    var out: [UInt8] = []
                    HTTPDate.append(secondsSinceEpoch: Int64(today) * 86_400, to: &out)
                    let expected =
                        "\(name(days, today % 7)), \(padded(day)) \(name(months, month)) \(year)"
                    #expect(String(decoding: out.prefix(16), as: UTF8.self) == expected)
                }
                count += length
            }
        }
    }
}
