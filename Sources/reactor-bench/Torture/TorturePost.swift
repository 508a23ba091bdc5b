/// One request that posts actions: their marks, and what became of it.
struct TorturePost: Equatable {
    /// The client's knowledge of it.
    enum Outcome: Equatable {
        /// It is under way, or will be sent again with its key.
        case pending
        /// Answered: the version that its last action led to.
        case acknowledged(UInt64)
        /// The connection ended before the answer, and there is no key to ask again with.
        case unanswered
        /// Answered with a refusal, which must have left no trace.
        case refused
    }

    var session: Int
    var poster: UInt16
    /// The sequence number of its first action; the others follow.
    var first: UInt32
    /// How many actions; more than one is a batch.
    var count: Int
    var hasKey: Bool
    var outcome = Outcome.pending

    /// The `Idempotency-Key`, no other post's of the run.
    var key: String { "torture-\(poster)-\(first)" }

    /// The actions, each with a number that no other action of the run has.
    var actions: [UInt64] { (0..<count).map { Self.action(poster, first &+ UInt32($0)) } }

    /// A number for an action of one poster.
    static func action(_ poster: UInt16, _ sequence: UInt32) -> UInt64 {
        UInt64(poster) << 32 | UInt64(sequence)
    }

    /// An object, or an array of them for a batch.
    var body: [UInt8] {
        var body: [UInt8] = []
        if count > 1 { body.append(0x5B) }
        for index in 0..<count {
            if index > 0 { body.append(0x2C) }
            body.append(contentsOf: #"{"type":"alert","message":""#.utf8)
            Mark(microseconds: 0, publisher: poster, sequence: first &+ UInt32(index))
                .append(to: &body)
            body.append(contentsOf: #""}"#.utf8)
        }
        if count > 1 { body.append(0x5D) }
        return body
    }
}
