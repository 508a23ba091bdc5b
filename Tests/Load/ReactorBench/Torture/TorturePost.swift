/// One request that posts actions: their marks, and its outcome.
struct TorturePost: Equatable {
    /// The outcome as far as the client knows it.
    enum Outcome: Equatable {
        /// The request is outstanding, or will be sent again with its key.
        case pending
        /// Acknowledged: the version after its last action.
        case acknowledged(UInt64)
        /// The connection ended before the response, and without a key the request cannot be
        /// repeated.
        case unanswered
        /// Refused: the request must have had no effect.
        case refused
    }

    var session: Int
    var poster: UInt16
    /// The sequence number of its first action; the other actions have the following numbers.
    var first: UInt32
    /// The number of actions; more than one is a batch.
    var count: Int
    var hasKey: Bool
    /// The highest version in any response before it was sent: its actions come after it.
    var floor: UInt64 = 0
    var outcome = Outcome.pending

    /// The `Idempotency-Key`, unique in the run.
    var key: String { "torture-\(poster)-\(first)" }

    /// The actions, each with a number that is unique in the run.
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
