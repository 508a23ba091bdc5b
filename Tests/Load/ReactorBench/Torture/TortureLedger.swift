// The oracle. It knows which requests were sent and what the responses and streams contained, but
// not how the server works. At the end it compares this with the history that the server kept.

/// The responses that all clients of a run received, and their faults.
struct TortureLedger {
    private struct Session {
        /// The generation's eight bytes; 0 until the first response.
        var epoch: UInt64 = 0
        /// The action that readers received under each number, from 1; nil where none was received
        /// yet.
        var shown: [UInt64?] = []
        /// The highest version in any response.
        var version: UInt64 = 0
        /// The versions in responses to posts.
        var claims = VersionClaims()
    }

    /// The maximum number of messages of each kind that are kept; all faults are counted.
    static let messageLimit = 5

    private var sessions: [Session]
    private(set) var posts: [TorturePost] = []
    private(set) var counts: [TortureFault: Int] = [:]
    private(set) var messages: [String] = []

    init(sessions: Int) {
        self.sessions = [Session](repeating: Session(), count: sessions)
    }

    mutating func record(_ fault: TortureFault, _ message: String) {
        counts[fault, default: 0] += 1
        if counts[fault, default: 0] <= Self.messageLimit {
            messages.append("\(fault.rawValue): \(message)")
        }
    }

    // MARK: While it runs

    /// The generation's bytes; nil before the first response.
    func epoch(of session: Int) -> UInt64? {
        sessions[session].epoch == 0 ? nil : sessions[session].epoch
    }

    /// The lowest version that a later response may have.
    func version(of session: Int) -> UInt64 { sessions[session].version }

    /// Adds a request that is about to be sent; returns its index in ``posts``.
    mutating func enter(_ post: TorturePost) -> Int {
        posts.append(post)
        return posts.count - 1
    }

    /// Records the position in a response; it must not be below `floor`.
    mutating func heard(_ position: EventID, of session: Int, floor: UInt64) {
        heardGeneration(position.epoch, of: session)
        if position.number < floor {
            record(.backwards, "session \(session) is at \(position.number), was at \(floor)")
        }
        sessions[session].version = max(sessions[session].version, position.number)
    }

    private mutating func heardGeneration(_ epoch: UInt64, of session: Int) {
        if sessions[session].epoch == 0 { sessions[session].epoch = epoch }
        guard sessions[session].epoch == epoch else {
            return record(.generation, "session \(session) has another generation")
        }
    }

    /// Records the response to a post; a repeated request must get the same response.
    mutating func acknowledged(_ index: Int, at version: UInt64) {
        if case .acknowledged(let before) = posts[index].outcome, before != version {
            record(.answer, "\(posts[index].key): version \(version), at first \(before)")
        }
        if case .acknowledged = posts[index].outcome { return }
        posts[index].outcome = .acknowledged(version)
        let (session, count) = (posts[index].session, UInt64(posts[index].count))
        if version < posts[index].floor + count {
            record(
                .backwards,
                "\(posts[index].key) is at \(version), was sent after \(posts[index].floor)")
        }
        if version < count || !sessions[session].claims.claim(version - count..<version) {
            record(.doubled, "\(posts[index].key): another has version \(version) or one before it")
        }
    }

    mutating func ended(_ index: Int, _ outcome: TorturePost.Outcome) {
        posts[index].outcome = outcome
    }

    /// Records that a reader received this action under this number.
    mutating func shown(_ action: UInt64, at number: UInt64, of session: Int) {
        guard let index = Int(exactly: number), index > 0 else {
            return record(.rolledBack, "session \(session) shows an event with the number 0")
        }
        sessions[session].version = max(sessions[session].version, number)
        while sessions[session].shown.count < index { sessions[session].shown.append(nil) }
        if let before = sessions[session].shown[index - 1], before != action {
            record(.rolledBack, "session \(session) showed two actions as number \(number)")
        }
        sessions[session].shown[index - 1] = action
    }

    // MARK: At the end

    /// Compares all records with the history: for each session its actions in order.
    mutating func close(_ histories: [[UInt64]]) {
        for (session, history) in histories.enumerated() { checkShown(session, history) }
        var places: [UInt64: (session: Int, version: UInt64)] = [:]
        for (session, history) in histories.enumerated() {
            for (index, action) in history.enumerated() {
                let old = places.updateValue((session, UInt64(index) + 1), forKey: action)
                if old != nil { record(.doubled, "action \(Self.name(action))") }
            }
        }
        checkOrder(histories)
        for post in posts { check(post, places) }
        checkOrigins(places)
    }

    private mutating func checkShown(_ session: Int, _ history: [UInt64]) {
        for (index, action) in sessions[session].shown.enumerated() {
            guard let action else { continue }
            guard index < history.count, history[index] == action else {
                record(
                    .rolledBack,
                    "session \(session) showed number \(index + 1), which is another now")
                continue
            }
        }
        if UInt64(history.count) < sessions[session].version {
            record(
                .backwards,
                "session \(session) ends at \(history.count), was at \(sessions[session].version)")
        }
    }

    /// Invariant: a poster waits for each answer, so its actions stand in the order of their
    /// numbers. One whose outcome nobody knows may be on its way while the next ones are answered.
    private mutating func checkOrder(_ histories: [[UInt64]]) {
        let late = Set(
            posts.filter { $0.outcome == .unanswered || $0.outcome == .pending }
                .flatMap(\.actions))
        for history in histories {
            var newest: [UInt64: UInt64] = [:]
            for action in history {
                let poster = action >> 32
                if let before = newest[poster], before > action {
                    guard !late.contains(action) else { continue }
                    record(.reordered, "\(Self.name(action)) after \(Self.name(before))")
                }
                newest[poster] = action
            }
        }
    }

    private mutating func check(
        _ post: TorturePost, _ places: [UInt64: (session: Int, version: UInt64)]
    ) {
        let found = post.actions.compactMap { places[$0] }
        if case .acknowledged(let version) = post.outcome {
            guard found.count == post.count else {
                return record(.lost, "\(post.key) of \(post.count): \(found.count) are there")
            }
            guard found.last?.version == version else {
                return record(.lost, "\(post.key) is not at version \(version)")
            }
        }
        if post.outcome == .refused, !found.isEmpty {
            return record(.invented, "\(post.key) was refused and is there")
        }
        guard let first = found.first else { return }
        let isWhole =
            found.count == post.count
            && found.enumerated().allSatisfy { index, place in
                place.session == post.session && place.version == first.version + UInt64(index)
            }
        if !isWhole { record(.torn, "\(post.key) of \(post.count): \(found.count) are there") }
    }

    private mutating func checkOrigins(_ places: [UInt64: (session: Int, version: UInt64)]) {
        let posted = Set(posts.flatMap(\.actions))
        for action in places.keys where !posted.contains(action) {
            record(.invented, "\(Self.name(action)) was never posted")
        }
    }

    private static func name(_ action: UInt64) -> String {
        "\(action >> 32)-\(action & 0xFFFF_FFFF)"
    }
}
