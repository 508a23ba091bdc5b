import Testing

@testable import Wire

@Suite("RFC 9112 §4 — writing responses", .timeLimit(.minutes(60)))
struct ResponseEncoderTests {
    private func encode(
        _ status: Int, fields: [(String, String)] = [], body: String = "", date: String = "",
        close: Bool = false, minorVersion: Int = 1, headOnly: Bool = false
    ) -> String {
        var out: [UInt8] = Array("before|".utf8)
        let hasBody = ResponseEncoder.appendHead(
            status: status, fields: fields, bodyBytes: body.utf8.count, date: Array(date.utf8),
            close: close, minorVersion: minorVersion, to: &out)
        if hasBody, !headOnly { out += body.utf8 }
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
            status: 200, lines: FieldLines([("Content-Type", "text/event-stream")]),
            date: Array("D".utf8), isChunked: isChunked, to: &out)
        #expect(
            String(decoding: out, as: UTF8.self)
                == "HTTP/1.1 200 OK\r\n\(noSniffing)Date: D\r\nContent-Type: text/event-stream\r\n"
                + coding + "Connection: close\r\n\r\n")
    }

    @Test func `a value cannot break its line`() {
        let text = encode(200, fields: [("Location", "/a\r\nSet-Cookie: x\u{0}y\n\u{7f}\tz")])
        #expect(text.contains("\r\nLocation: /a  Set-Cookie: x y  \tz\r\n"))
        #expect(text.split(separator: "\r\n").count == 4)
    }

    @Test(arguments: [200, 201, 400, 404, 413, 431, 500, 503, 507])
    func `each status has its reason, and the body is sent as it is`(status: Int) {
        let text = encode(status, fields: [("A", "b"), ("C", "é")], body: "body\r\n")
        let reason = StatusLine.reason(status)
        #expect(!reason.isEmpty)
        #expect(
            text == "HTTP/1.1 \(status) \(reason)\r\n\(noSniffing)A: b\r\nC: é\r\n"
                + "Content-Length: 6\r\n\r\nbody\r\n")
    }

    @Test func `100 Continue is a separate response`() {
        let text = String(decoding: ResponseEncoder.continueResponse, as: UTF8.self)
        #expect(text == "HTTP/1.1 100 Continue\r\n\r\n")
    }
}

@Suite("RFC 9110 §5.6.7 — dates", .timeLimit(.minutes(60)))
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
