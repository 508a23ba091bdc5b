// One connection of a storm: what it sends, how it reads, how it ends. It touches no socket: bytes
// go in and come out, so that tests can drive it.

/// A client that behaves as it likes.
struct StormConnection {
    /// What it does with what comes.
    enum Reading: Equatable {
        case all
        /// Nothing, so that the server has to keep or drop what it sends.
        case nothing
    }

    /// How it ends when its time has come.
    enum Ending: CaseIterable {
        case close, reset
        /// It closes its sending side, and waits for the server to close.
        case shutDown
    }

    let session: String
    /// Everything that it will send, maybe less than its requests need.
    let bytes: [UInt8]
    /// First lines of its requests, in order.
    let lines: [String]
    let reading: Reading
    let ending: Ending
    /// Bytes sent at once.
    let piece: Int
    /// How long it stays.
    let nanoseconds: UInt64
    var sent = 0
    private(set) var answers = 0
    private var response = ResponseReader()
    /// The beginning of the answer that is being read.
    private var text: [UInt8] = []
    private var status = 0
    /// Set when nothing of what comes can be read any more.
    private(set) var isUnreadable = false

    private static let textBytes = 16_384

    init(_ requests: inout StormRequests, _ random: inout SeededNumbers) {
        let session = requests.sessions.randomElement(using: &random) ?? StormRequests.witness
        self.session = session
        let count =
            Int.random(in: 0..<3, using: &random) == 0
            ? Int.random(in: 2...40, using: &random) : 1
        var bytes: [UInt8] = []
        var lines: [String] = []
        for _ in 0..<count {
            let request = requests.next(for: session, &random)
            bytes += request.bytes
            lines.append(request.line)
            // Nothing is answered behind a stream.
            if request.isStream { break }
        }
        // Half a request, or one and a half.
        if Int.random(in: 0..<12, using: &random) == 0 {
            bytes.removeLast(Int.random(in: 1...bytes.count, using: &random))
        }
        self.bytes = bytes
        self.lines = lines
        reading = Int.random(in: 0..<8, using: &random) == 0 ? .nothing : .all
        ending = Ending.allCases.randomElement(using: &random) ?? .close
        piece =
            Int.random(in: 0..<10, using: &random) == 0
            ? Int.random(in: 1...7, using: &random) : .max
        let limit = Int.random(in: 0..<6, using: &random) == 0 ? 3_000 : 400
        nanoseconds = UInt64(Int.random(in: 0...limit, using: &random)) * 1_000_000
    }

    /// The next bytes to send.
    var due: Range<Int> {
        sent..<min(bytes.count, piece > bytes.count ? bytes.count : sent + piece)
    }

    var isSent: Bool { sent == bytes.count }

    /// Whether nothing more will come that it waits for.
    var hasAllAnswers: Bool { isSent && answers >= lines.count }

    // MARK: Receiving

    /// Reads what came; answers what is wrong with it.
    mutating func receive(
        _ bytes: Span<UInt8>, _ told: (String) -> Void
    ) -> String? {
        guard !isUnreadable else { return nil }
        var position = 0
        do throws(ResponseFault) {
            while true {
                switch try response.next(bytes, &position) {
                case .needMore:
                    tell(told)
                    return nil
                case .head(let status):
                    self.status = status
                    text.removeAll(keepingCapacity: true)
                    if let fault = fault(of: status) { return fault }
                case .body(let range):
                    let room = Self.textBytes - text.count
                    for index in range.prefix(max(0, room)) { text.append(bytes[index]) }
                case .end:
                    tell(told)
                    answers += 1
                }
            }
        } catch {
            isUnreadable = true
            return "\(error) in the answer to \(line(answers))"
        }
    }

    /// Contract §4, §5: what a server may say of itself.
    private func fault(of status: Int) -> String? {
        guard status >= 500, ![503, 504, 507].contains(status) else { return nil }
        // RFC 9110 §15.6.2, §15.6.6: a method or a version that nobody has.
        if [501, 505].contains(status), line(answers).hasPrefix("garbage") { return nil }
        return "\(status) to \(line(answers))"
    }

    func line(_ number: Int) -> String { number < lines.count ? lines[number] : "nobody's request" }

    /// Positions in what was read: `"position":"…"` and `id: …`.
    private mutating func tell(_ told: (String) -> Void) {
        guard status == 200 || status == 201 else { return }
        for mark in ["\"position\":\"", "id: "] {
            if let found = Self.last(mark, in: text) { told(found) }
        }
        text.removeAll(keepingCapacity: true)
    }

    /// What follows the last occurrence of a mark, up to a quotation mark or the end of the line.
    static func last(_ mark: String, in text: [UInt8]) -> String? {
        let mark = Array(mark.utf8)
        guard text.count > mark.count else { return nil }
        var start = text.count - mark.count
        while start >= 0 {
            if text[start] == mark[0], text[start..<(start + mark.count)].elementsEqual(mark) {
                let rest = text[(start + mark.count)...]
                let value = rest.prefix { $0 != 0x22 && $0 != 0x0A }
                // It has not come whole, or is no position.
                guard value.count < rest.count, value.count < 60, value.count > 9 else {
                    return nil
                }
                return String(decoding: value, as: UTF8.self)
            }
            start -= 1
        }
        return nil
    }
}
