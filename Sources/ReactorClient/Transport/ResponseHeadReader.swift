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
        _ line: Span<UInt8>
    ) throws(TransportFailure) -> (Int, [TransportField])? {
        byteCount += line.count
        guard byteCount <= limitBytes else {
            throw TransportFailure(
                .badResponse, "the head of the response has more than \(limitBytes) bytes")
        }
        guard !isFinal else { return nil }
        let end = line.firstIndex(from: 0) { $0 == 0x0d || $0 == 0x0a }
        let text = line.extracting(0..<end)
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

    // RFC 9112 §4.
    private static func status(of line: Span<UInt8>) throws(TransportFailure) -> Int {
        let space = line.firstIndex(from: 0) { $0 == 0x20 }
        let end = line.firstIndex(from: min(space + 1, line.count)) { $0 == 0x20 }
        var status = 0
        for index in min(space + 1, end)..<end {
            guard (0x30...0x39).contains(line[index]) else { status = 0; break }
            status = status * 10 + Int(line[index] & 0x0f)
            guard status < 1_000 else { break }
        }
        guard line.extracting(0..<space).text.hasPrefix("HTTP/"), end - space == 4,
            status >= 100
        else { throw TransportFailure(.badResponse, "the response has no status") }
        return status
    }

    private mutating func addField(_ line: Span<UInt8>) throws(TransportFailure) {
        if isBlank(line[0]) {
            // RFC 9112 §5.2: a folded line continues the value.
            guard !fields.isEmpty else {
                throw TransportFailure(
                    .badResponse, "the head of the response begins with a folded line")
            }
            fields[fields.count - 1].value += " " + trimmed(line)
            return
        }
        let colon = line.firstIndex(from: 0) { $0 == UInt8(ascii: ":") }
        guard colon > 0, colon < line.count else {
            throw TransportFailure(
                .badResponse, "the head of the response has a line without a name")
        }
        fields.append(
            TransportField(
                line.extracting(0..<colon).text, trimmed(line.extracting(colon + 1..<line.count))))
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private func trimmed(_ text: Span<UInt8>) -> String {
        let start = text.firstIndex(from: 0) { !isBlank($0) }
        var end = text.count
        while end > start, isBlank(text[end - 1]) { end -= 1 }
        return text.extracting(start..<end).text
    }
}

extension Span<UInt8> {
    /// The first index, from `start` on, of a byte that is sought; `count` if there is none.
    fileprivate func firstIndex(from start: Int, where isSought: (UInt8) -> Bool) -> Int {
        var index = start
        while index < count, !isSought(self[index]) { index += 1 }
        return index
    }

    /// Bytes that are not UTF-8 are replaced.
    fileprivate var text: String {
        unsafe withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
