// One connection of the noise: the bytes that it sends, whether it reads, and how it ends. This
// type touches no socket, so that tests can drive it.

/// A client whose behaviour is random.
struct StormConnection {
    /// How the client closes the connection when its time is over.
    enum Ending: CaseIterable {
        case close, reset
        /// The client closes its sending side and waits for the server to close.
        case shutDown
    }

    let session: String
    /// All bytes that the client sends; they may end before its last request does.
    let bytes: [UInt8]
    /// The first lines of its requests, in order; only one line if all requests are the same.
    let lines: [String]
    let requests: Int
    /// Whether the client reads. If it does not, the server must buffer or drop its responses.
    let reads: Bool
    let ending: Ending
    /// The maximum number of bytes per send.
    let piece: Int
    /// The lifetime of the connection.
    let nanoseconds: UInt64
    private(set) var answers = 0
    /// The beginning of the body that is being read, in which positions are searched.
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
        // Cuts bytes off the end, so that a request stays incomplete.
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

    /// Whether the client has a response to each of its requests.
    var hasAllAnswers: Bool { answers >= requests }

    func line(_ number: Int) -> String {
        number < lines.count ? lines[number] : lines.last ?? "nobody's request"
    }

    // MARK: Receiving

    /// The head of a response arrived. Returns the fault of its status.
    mutating func began(_ status: Int) -> String? {
        text.removeAll(keepingCapacity: true)
        isTelling = status == 200 || status == 201
        let line = line(answers)
        let isGarbage = line.hasPrefix(StormGarbage.mark)
        return AnswerRules.isFault(status, isGarbage: isGarbage) ? "\(status) to \(line)" : nil
    }

    /// Reads a piece of a body; returns a position that the body contains.
    mutating func read(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String? {
        guard isTelling, text.count < Self.textBytes else { return nil }
        text.append(bytes, in: range.prefix(Self.textBytes - text.count))
        guard let id = AnswerRules.text(after: "id: ", in: text), Self.isPosition(id) else {
            return nil
        }
        text.removeAll(keepingCapacity: true)
        return id
    }

    /// The response is complete. Returns a position that it contains.
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
