/// A response read from a bare socket, by its `Content-Length` or to the end.
struct RawAnswer: Sendable {
    var head = ResponseHead()
    var body = ""
}

// HTTP over a bare socket, for bytes that libcurl would not send or would not show.
extension RawConnection {
    /// Reads `count` whole responses, in the order of their arrival.
    func answers(_ count: Int) async -> [RawAnswer] {
        let received = await receive { RawConnection.split($0).count >= count }
        return RawConnection.split(received.bytes)
    }

    /// Requests a path; nil if the connection ends without a response.
    func get(_ path: String) async -> RawAnswer? {
        await send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return await answers(1).first
    }

    /// Sends JSON without waiting for the response.
    func send(_ method: String, _ path: String, _ json: String) async {
        await send(
            "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(json.utf8.count)\r\n\r\n\(json)")
    }

    /// Reads everything to the end of the connection, as responses.
    func answersToTheEnd() async -> (answers: [RawAnswer], ending: Ending?) {
        let received = await receiveAll()
        return (RawConnection.split(received.bytes), received.ending)
    }

    /// The whole responses at the beginning of the bytes. An interim one counts, without a body.
    static func split(_ bytes: [UInt8]) -> [RawAnswer] {
        var answers: [RawAnswer] = []
        var rest = bytes[...]
        while let end = headEnd(rest) {
            var answer = RawAnswer()
            let text = String(decoding: rest[..<end], as: UTF8.self)
            for line in text.split(separator: "\r\n") { answer.head.parse(line) }
            rest = rest[(end + 4)...]
            let length = answer.head["Content-Length"].flatMap { Int($0) } ?? 0
            guard rest.count >= length else { break }
            answer.body = String(decoding: rest.prefix(length), as: UTF8.self)
            rest = rest.dropFirst(length)
            answers.append(answer)
        }
        return answers
    }

    private static func headEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
        var index = bytes.startIndex
        while index + 3 < bytes.endIndex {
            if bytes[index] == 0x0d, bytes[index + 1] == 0x0a, bytes[index + 2] == 0x0d,
                bytes[index + 3] == 0x0a
            {
                return index
            }
            index += 1
        }
        return nil
    }
}
