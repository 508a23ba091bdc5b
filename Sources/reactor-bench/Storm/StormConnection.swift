// One connection that makes noise: what it sends, how it reads, how it ends. It touches no socket,
// so that tests can drive it.

/// A client that behaves as it likes.
struct StormConnection {
    /// How it ends when its time has come.
    enum Ending: CaseIterable {
        case close, reset
        /// It closes its sending side, and waits for the server to close.
        case shutDown
    }

    let session: String
    /// Everything that it will send, maybe less than its requests need.
    let bytes: [UInt8]
    /// First lines of its requests, in order; of many that are the same, the first.
    let lines: [String]
    let requests: Int
    /// If not, the server has to keep or to drop what it sends.
    let reads: Bool
    let ending: Ending
    /// Bytes sent at once.
    let piece: Int
    /// How long it stays.
    let nanoseconds: UInt64
    private(set) var answers = 0
    /// The beginning of what is being read, for the positions in it.
    private var text: [UInt8] = []
    private var isTelling = false

    private static let textBytes = 8_192

    init(_ requests: inout StormRequests, _ random: inout SeededNumbers) {
        session = requests.sessions.randomElement(using: &random) ?? "alerts-0"
        let isFlood = Int.random(in: 0..<16, using: &random) == 0
        let made =
            isFlood
            ? requests.flood(of: session, &random) : requests.some(for: session, &random)
        self.requests = made.count
        lines = isFlood ? Array(made.prefix(1).map(\.line)) : made.map(\.line)
        var bytes = made.flatMap(\.bytes)
        // Half a request, or one and a half.
        if Int.random(in: 0..<12, using: &random) == 0, !bytes.isEmpty {
            bytes.removeLast(Int.random(in: 1...bytes.count, using: &random))
        }
        self.bytes = bytes
        reads = !isFlood && Int.random(in: 0..<8, using: &random) > 0
        ending = Ending.allCases.randomElement(using: &random) ?? .close
        piece =
            Int.random(in: 0..<10, using: &random) == 0
            ? Int.random(in: 1...7, using: &random) : .max
        let limit = isFlood || Int.random(in: 0..<6, using: &random) == 0 ? 3_000 : 400
        nanoseconds = UInt64(Int.random(in: 0...limit, using: &random)) * 1_000_000
    }

    /// Whether nothing more will come that it waits for.
    var hasAllAnswers: Bool { answers >= requests }

    func line(_ number: Int) -> String {
        number < lines.count ? lines[number] : lines.last ?? "nobody's request"
    }

    // MARK: Receiving

    /// An answer begins: what is wrong with its status.
    mutating func began(_ status: Int) -> String? {
        text.removeAll(keepingCapacity: true)
        isTelling = status == 200 || status == 201
        let line = line(answers)
        let isGarbage = line.hasPrefix(StormGarbage.mark)
        return AnswerRules.isFault(status, isGarbage: isGarbage) ? "\(status) to \(line)" : nil
    }

    /// A piece of a body; a position that stands in it.
    mutating func read(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String? {
        guard isTelling, text.count < Self.textBytes else { return nil }
        text.append(bytes, in: range.prefix(Self.textBytes - text.count))
        guard let id = AnswerRules.text(after: "id: ", in: text), Self.isPosition(id) else {
            return nil
        }
        text.removeAll(keepingCapacity: true)
        return id
    }

    /// The answer is whole; a position that stands in it.
    mutating func ended() -> String? {
        answers += 1
        guard isTelling, let told = AnswerRules.text(after: "\"position\":\"", in: text) else {
            return nil
        }
        return Self.isPosition(told) ? told : nil
    }

    private static func isPosition(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return EventID(bytes.span, range: 0..<bytes.count, scheme: .consecutive) != nil
    }
}
