/// The frequency of a poster's requests, in percent.
struct TortureHabits {
    /// The share of all requests: `PUT` of the session, `GET` of it, and repeated posts.
    var creates = 2
    var reads = 10
    var repeats = 4
    /// The share of the posts: batches, and posts with a key.
    var batches = 25
    var keyed = 40
    /// The number of actions in a batch.
    var batch = 2...8
}

/// One client that posts, over all of its connections: one request at a time. A request without a
/// response is sent again if it has a key.
struct TorturePoster {
    /// The response that it waits for.
    enum Errand: Equatable {
        /// `PUT` of its session, which may exist already.
        case create
        /// `POST` of the ledger's post with this index.
        case post(Int)
        /// The same post again, though it was acknowledged.
        case again(Int)
        /// `GET` of the state, which must have at least this version.
        case read(floor: UInt64)
    }

    let number: UInt16
    let session: Int
    var habits = TortureHabits()
    private(set) var errand: Errand?
    private var sequence: UInt32 = 0
    private var lastKeyed: Int?
    /// The number of acknowledged actions.
    private(set) var acknowledged = 0
    /// The number of responses to repeated requests.
    private(set) var repeats = 0
    private var isRepeat = false
    /// Once set, the poster completes its request, reads the state once more, and stops.
    var isFinishing = false
    private var hasReadLast = false

    init(number: UInt16, session: Int) {
        self.number = number
        self.session = session
    }

    /// Whether the poster sends no further request.
    var isDone: Bool { isFinishing && hasReadLast && errand == nil }

    /// The next request, or the unanswered one again; nil if there is none.
    mutating func request(
        to name: String, host: String, _ ledger: inout TortureLedger,
        _ random: inout some RandomNumberGenerator
    ) -> [UInt8]? {
        let errand: Errand
        if let unanswered = self.errand {
            errand = unanswered
            isRepeat = true
        } else {
            guard !isDone else { return nil }
            errand = isFinishing ? readLast(ledger) : choose(&ledger, &random)
            isRepeat = false
        }
        self.errand = errand
        return bytes(errand, name, host, ledger)
    }

    private mutating func readLast(_ ledger: TortureLedger) -> Errand {
        hasReadLast = true
        return .read(floor: ledger.version(of: session))
    }

    private mutating func choose(
        _ ledger: inout TortureLedger, _ random: inout some RandomNumberGenerator
    ) -> Errand {
        guard ledger.epoch(of: session) != nil else { return .create }
        var dice = Int.random(in: 0..<100, using: &random)
        let isOne = { (share: Int) in
            dice -= share
            return dice < 0
        }
        if isOne(habits.creates) { return .create }
        if isOne(habits.reads) { return .read(floor: ledger.version(of: session)) }
        if isOne(habits.repeats), let lastKeyed { return .again(lastKeyed) }
        let isBatch = Int.random(in: 0..<100, using: &random) < habits.batches
        let count = isBatch ? Int.random(in: habits.batch, using: &random) : 1
        let hasKey = Int.random(in: 0..<100, using: &random) < habits.keyed
        defer { sequence &+= UInt32(count) }
        let index = ledger.enter(
            TorturePost(
                session: session, poster: number, first: sequence, count: count, hasKey: hasKey,
                floor: ledger.version(of: session)))
        if hasKey { lastKeyed = index }
        return .post(index)
    }

    private func bytes(
        _ errand: Errand, _ name: String, _ host: String, _ ledger: TortureLedger
    ) -> [UInt8] {
        let path = "/v1/sessions/\(name)"
        switch errand {
        case .create:
            return Self.request("PUT", path, host, body: Array(#"{"reactor":"alerts"}"#.utf8))
        case .read: return Self.request("GET", path, host)
        case .post(let index), .again(let index):
            let post = ledger.posts[index]
            return Self.request(
                "POST", path + "/actions", host, key: post.hasKey ? post.key : nil,
                body: post.body)
        }
    }

    private static func request(
        _ method: String, _ path: String, _ host: String, key: String? = nil,
        body: [UInt8]? = nil
    ) -> [UInt8] {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        if let key { head += "Idempotency-Key: \(key)\r\n" }
        if let body {
            head += "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n"
        }
        return Array((head + "\r\n").utf8) + (body ?? [])
    }

    // MARK: Outcomes

    /// The answer is there.
    ///
    /// - Parameter isOld: Whether it says that it may be older than its request.
    mutating func answered(
        _ status: Int, _ body: [UInt8], isOld: Bool = false, _ ledger: inout TortureLedger
    ) {
        guard let errand else { return ledger.record(.answer, "\(status) that nobody asked for") }
        if AnswerRules.isRefusal(status) { return refused(errand, &ledger) }
        // After a commit that failed too late the outcome is as unknown as without a response.
        if AnswerRules.isUnknown(status) { return lost(&ledger) }
        // The key's first request is in progress.
        guard status != 409 else { return }
        self.errand = nil
        guard status / 100 == 2, let position = AnswerRules.position(in: body) else {
            return ledger.record(
                .answer, "\(status) to \(errand): \(String(decoding: body, as: UTF8.self))")
        }
        if isRepeat { repeats += 1 }
        switch errand {
        case .create: ledger.heard(position, of: session, floor: 0)
        case .read(let floor):
            ledger.heard(position, of: session, floor: isOld ? 0 : floor)
        case .post(let index), .again(let index):
            ledger.heard(position, of: session, floor: 0)
            if errand == .post(index) { acknowledged += ledger.posts[index].count }
            ledger.acknowledged(index, at: position.number)
        }
    }

    /// The request had no effect: a post with a key is sent again, any other is abandoned.
    private mutating func refused(_ errand: Errand, _ ledger: inout TortureLedger) {
        if case .post(let index) = errand {
            guard !ledger.posts[index].hasKey else { return }
            ledger.ended(index, .refused)
        }
        self.errand = nil
    }

    /// The connection ended before the answer.
    mutating func lost(_ ledger: inout TortureLedger) {
        guard case .post(let index)? = errand, !ledger.posts[index].hasKey else { return }
        ledger.ended(index, .unanswered)
        errand = nil
    }
}
