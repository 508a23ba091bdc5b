import ClientMachine

/// A send, as its program knows it.
struct SimulatedSend {
    /// The end that was reported to the program.
    enum End {
        case applied(Receipt)
        case refused(ProblemDetails)
        case inDoubt
        case discarded
        /// The outbox cannot be written.
        case notDurable
        /// The process ended before the report; the outbox says that it is applied.
        case unreported

        var word: String {
            switch self {
            case .applied(let receipt): "applied \(receipt.position.text)"
            case .refused(let problem): "refused \(problem.status) \(problem.code)"
            case .inDoubt: "inDoubt"
            case .discarded: "discarded"
            case .notDurable: "notDurable"
            case .unreported: "unreported"
            }
        }
    }

    let session: SessionName
    /// Nil for something that is no action.
    let actions: [Tally.Action?]
    var isQueued = false
    /// It has ended otherwise than by being applied, and the report waits until that is durable.
    var isEnding = false
    /// As reported in the present life of the program.
    var end: End?

    /// Whether the program has sent it and does not know its end, or knows that it is applied.
    var isAlive: Bool {
        switch end {
        case nil: !isEnding
        case .applied?: true
        default: false
        }
    }

    /// Whether the reactor refuses it.
    var isDeclined: Bool {
        actions.contains { if case .decline? = $0 { true } else { false } }
    }

    var possibleEntries: [Int] { actions.flatMap { $0?.possibleEntries ?? [] } }
    var marks: String {
        actions.map { $0.map { "\($0)".split(separator: "(")[0] + "\($0.mark)" } ?? "bogus" }
            .joined(separator: "+")
    }
}
