/// The responses that a server may send to any request.
enum AnswerRules {
    /// Contract §4, §5: overloaded, draining and full are valid responses; a failure is not.
    ///
    /// RFC 9110 §15.6.2, §15.6.6: 501 and 505 respond to an unknown method or version.
    static func isFault(_ status: Int, isGarbage: Bool = false) -> Bool {
        guard status >= 500, ![503, 504, 507].contains(status) else { return false }
        return !(isGarbage && [501, 505].contains(status))
    }

    /// Whether the request was refused for now, without any effect.
    static func isRefusal(_ status: Int) -> Bool { status == 503 || status == 429 }

    /// Whether the outcome is unknown; repeating the request with its key shows it.
    static func isUnknown(_ status: Int) -> Bool { status == 504 }

    /// The text after the first `mark` in a body, up to a quotation mark or the end of a line.
    static func text(after mark: String, in body: [UInt8]) -> String? {
        guard let start = place(after: mark, in: body) else { return nil }
        let rest = body[start...]
        let value = rest.prefix { $0 != 0x22 && $0 != 0x0A }
        return value.count < rest.count ? String(decoding: value, as: UTF8.self) : nil
    }

    /// The number that follows the first `mark` in a body.
    static func number(after mark: String, in body: [UInt8]) -> UInt64? {
        guard let start = place(after: mark, in: body) else { return nil }
        return UInt64(
            String(decoding: body[start...].prefix { $0 &- 0x30 <= 9 }, as: UTF8.self))
    }

    /// The position in a response, as an event id.
    static func position(in body: [UInt8]) -> EventID? {
        guard let start = place(after: "\"position\":\"", in: body),
            let end = body[start...].firstIndex(of: 0x22)
        else { return nil }
        return EventID(body.span, range: start..<end, scheme: .consecutive)
    }

    private static func place(after mark: String, in body: [UInt8]) -> Int? {
        let mark = Array(mark.utf8)
        var from = 0
        while from + mark.count <= body.count,
            let start = body.span.firstOffset(of: mark[0], from: from)
        {
            guard start + mark.count <= body.count else { return nil }
            if body[start..<(start + mark.count)].elementsEqual(mark) { return start + mark.count }
            from = start + 1
        }
        return nil
    }
}
