/// Reads the heads of a response line by line: those of informational responses, and the final one.
struct ResponseHeadReader: Sendable {
    private let limitBytes: Int
    private var byteCount = 0
    /// Nil before the line with the status, and after the final head.
    private var status: Int?
    private var fields: [TransportField] = []
    private var isFinal = false

    init(limitBytes: Int) { self.limitBytes = limitBytes }

    /// Receives a line with its end; trailers after the body too, which are counted only.
    ///
    /// - Returns: the final head, with its last line.
    /// - Throws: if the head is no head, or if everything together is too large.
    mutating func receive(
        _ line: String, byteCount count: Int
    ) throws(TransportFailure) -> (Int, [TransportField])? {
        byteCount += count
        guard byteCount <= limitBytes else {
            throw TransportFailure(
                .badResponse, "the head of the response has more than \(limitBytes) bytes")
        }
        guard !isFinal else { return nil }
        let end = line.utf8.firstIndex { $0 == 0x0d || $0 == 0x0a } ?? line.endIndex
        let text = line[..<end]
        guard status != nil else {
            status = try Self.status(of: text)
            return nil
        }
        guard text.isEmpty else {
            try addField(text)
            return nil
        }
        defer { (status, fields) = (nil, []) }
        guard let status, status >= 200 else { return nil }
        isFinal = true
        return (status, fields)
    }

    private static func status(of line: Substring) throws(TransportFailure) -> Int {
        let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0].hasPrefix("HTTP/"), parts[1].utf8.count == 3,
            parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let status = Int(parts[1]),
            status >= 100
        else { throw TransportFailure(.badResponse, "the response has no status") }
        return status
    }

    private mutating func addField(_ line: Substring) throws(TransportFailure) {
        if line.utf8.first == 0x20 || line.utf8.first == 0x09 {
            // RFC 9112 §5.2: a folded line continues the value.
            guard !fields.isEmpty else {
                throw TransportFailure(.badResponse, "the head of the response begins with a fold")
            }
            fields[fields.count - 1].value += " " + Self.trimmed(line)
            return
        }
        guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex
        else {
            throw TransportFailure(
                .badResponse, "the head of the response has a line without a name")
        }
        let value = Self.trimmed(line[line.utf8.index(after: colon)...])
        fields.append(TransportField(String(line[..<colon]), value))
    }

    private static func trimmed(_ text: Substring) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let start = text.utf8.drop(while: isBlank).startIndex
        let rest = text[start...]
        let end = rest.utf8.lastIndex { !isBlank($0) }.map(rest.utf8.index(after:)) ?? start
        return String(rest[..<end])
    }
}
