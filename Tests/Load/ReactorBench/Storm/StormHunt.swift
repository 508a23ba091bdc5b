/// A session with a stored response, evicted from memory, that receives a post with a new key at
/// the moment when another client deletes it.
///
/// Three connections take part: one posts, one deletes, the third sends something else. All are
/// connected before the first of them sends.
struct StormHunt {
    enum Phase: Equatable {
        /// `PUT`, then the first `POST` with a key.
        case making, keying
        /// Waits for the session's eviction until this time; nil: waits for another server process.
        case resting(until: UInt64?)
        case gathering, hunting
        /// The session was deleted: check that it stays deleted.
        case checking
    }

    enum Part: Int, CaseIterable { case poster, deleter, third }

    static let parts = Part.allCases.count

    private(set) var phase = Phase.making
    private(set) var session = ""
    private var reactor = "alerts"
    private let number: Int
    private var prey = 0
    /// The response to the session's first post.
    private var firstAnswer: [UInt8] = []
    private var isDeleted = false
    /// The parts that are connected, and the parts that wait for a response.
    private var present: Set<Part> = []
    private var due: Set<Part> = []
    private(set) var completed = 0
    private var thirdRepeats = false

    init(number: Int) { self.number = number }

    /// Starts with another session, with a name that was never used.
    mutating func begin(_ random: inout SeededNumbers) {
        prey += 1
        reactor = StormRequests.reactors.randomElement(using: &random) ?? "alerts"
        session = "\(reactor)-prey-\(number)-\(prey)"
        phase = .making
        isDeleted = false
        firstAnswer = []
        present = []
        due = []
    }

    // MARK: What happens around it

    /// Another server process is running; with a file as journal it has the sessions of the last
    /// one.
    mutating func serverStarted(isFile: Bool, _ random: inout SeededNumbers) {
        present = []
        due = []
        guard isFile, prey > 0 else { return begin(&random) }
        switch phase {
        case .making, .keying: break
        case .resting, .gathering: phase = isDeleted ? .checking : .gathering
        case .hunting, .checking:
            if isDeleted { phase = .checking } else { begin(&random) }
        }
    }

    mutating func tick(_ now: UInt64) {
        if case .resting(let time?) = phase, now >= time { phase = .gathering }
    }

    /// Whether this part needs a connection now.
    func wants(_ part: Part) -> Bool {
        switch phase {
        case .making, .keying, .checking: part == .poster
        case .resting: false
        case .gathering, .hunting: true
        }
    }

    var isAfterPrey: Bool { phase == .gathering || phase == .hunting }

    func isPresent(_ part: Part) -> Bool { present.contains(part) }

    /// The next requests, now that this part is connected and has no outstanding request.
    mutating func connected(
        _ part: Part, host: String, _ random: inout SeededNumbers
    ) -> [(part: Part, bytes: [UInt8])] {
        present.insert(part)
        switch phase {
        case .making, .keying, .checking:
            guard part == .poster else { return [] }
            due = [.poster]
            return [(.poster, request(.poster, host, &random))]
        case .resting, .hunting: return []
        case .gathering:
            guard present.count == Self.parts else { return [] }
            phase = .hunting
            due = Set(Part.allCases)
            // In this order, a look-up starts before the deletion that overtakes it.
            let isShuffled = Int.random(in: 0..<3, using: &random) == 0
            let order: [Part] =
                isShuffled
                ? Part.allCases.shuffled(using: &random) : [.poster, .third, .deleter]
            return order.map { ($0, request($0, host, &random)) }
        }
    }

    mutating func lost(_ part: Part, _ random: inout SeededNumbers) {
        present.remove(part)
        if phase == .hunting, due.contains(part) { finish(part, &random) }
    }

    /// A part received its response. Returns the fault of the response.
    mutating func answered(
        _ part: Part, _ status: Int, _ body: [UInt8], now: UInt64, _ random: inout SeededNumbers
    ) -> String? {
        present.remove(part)
        // A response of an earlier session.
        guard due.contains(part) else { return nil }
        let isLater = AnswerRules.isRefusal(status) || AnswerRules.isUnknown(status)
        switch phase {
        case .making:
            guard !isLater else { return nil }
            phase = .keying
            return [200, 201].contains(status) ? nil : fault(status, body)
        case .keying:
            guard !isLater, status != 409 else { return nil }
            firstAnswer = body
            let milliseconds = UInt64(Int.random(in: 200...1_500, using: &random))
            let sleeps = Int.random(in: 0..<4, using: &random) == 0
            phase = .resting(until: sleeps ? now + milliseconds * 1_000_000 : nil)
            return status == 200 ? nil : fault(status, body)
        case .checking:
            guard !isLater else { return nil }
            begin(&random)
            return [404, 410].contains(status) ? nil : "deleted, and \(fault(status, body))"
        case .resting, .gathering: return nil
        case .hunting:
            let fault = isLater ? nil : judge(part, status, body)
            finish(part, &random)
            return fault
        }
    }

    private mutating func judge(_ part: Part, _ status: Int, _ body: [UInt8]) -> String? {
        switch part {
        case .poster: return [200, 410].contains(status) ? nil : fault(status, body)
        case .deleter:
            isDeleted = status == 204
            return [204, 410].contains(status) ? nil : fault(status, body)
        case .third:
            if thirdRepeats, status == 200, body != firstAnswer {
                return "repeated, and \(fault(status, body))"
            }
            return AnswerRules.isFault(status) ? fault(status, body) : nil
        }
    }

    private mutating func finish(_ part: Part, _ random: inout SeededNumbers) {
        due.remove(part)
        // The third request may open a stream, which does not end.
        guard due.isEmpty || due == [.third] else { return }
        due = []
        completed += 1
        guard isDeleted else { return begin(&random) }
        phase = Bool.random(using: &random) ? .checking : .resting(until: nil)
    }

    private func fault(_ status: Int, _ body: [UInt8]) -> String {
        "\(session), \(phase): \(status) \(String(decoding: body.prefix(200), as: UTF8.self))"
    }

    // MARK: Requests

    private mutating func request(
        _ part: Part, _ host: String, _ random: inout SeededNumbers
    ) -> [UInt8] {
        let path = "/v1/sessions/\(session)"
        switch part {
        case .poster:
            switch phase {
            case .making: return bytes("PUT \(path)", host, body: "{\"reactor\":\"\(reactor)\"}")
            case .checking: return bytes("GET \(path)", host)
            case .keying: return post("first", host)
            default: return post("new-\(random.next())", host)
            }
        case .deleter: return bytes("DELETE \(path)", host)
        case .third: return other(path, host, &random)
        }
    }

    private mutating func other(
        _ path: String, _ host: String, _ random: inout SeededNumbers
    ) -> [UInt8] {
        let choice = Int.random(in: -3..<10, using: &random)
        thirdRepeats = choice < 0
        switch choice {
        case ..<0: return post("first", host)
        case 0..<3: return post("third-\(random.next())", host)
        case 3: return bytes("GET \(path)?version=\(Int.random(in: 0...2, using: &random))", host)
        case 4: return bytes("GET \(path)/log?limit=1", host)
        case 5: return bytes("GET \(path)/pulses?from=start", host)
        case 6: return bytes("GET \(path)/events", host)
        case 7:
            return bytes(
                "POST /v1/sessions", host,
                body: "{\"reactor\":\"\(reactor)\",\"from\":{\"session\":\"\(session)\"}}")
        case 8: return bytes("PUT \(path)/stub", host, body: "{\"enabled\":true}")
        default: return bytes("PUT \(path)", host, body: "{\"reactor\":\"\(reactor)\"}")
        }
    }

    private func post(_ key: String, _ host: String) -> [UInt8] {
        bytes(
            "POST /v1/sessions/\(session)/actions", host, key: key,
            body: StormBodies.plainAction(of: reactor))
    }

    private func bytes(
        _ line: String, _ host: String, key: String? = nil, body: String? = nil
    ) -> [UInt8] {
        var head = "\(line) HTTP/1.1\r\nHost: \(host)\r\n"
        if let key { head += "Idempotency-Key: \(key)\r\n" }
        guard let body else { return Array((head + "\r\n").utf8) }
        head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        return Array((head + body).utf8)
    }
}
