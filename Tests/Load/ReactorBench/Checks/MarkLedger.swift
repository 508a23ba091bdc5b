// Marks are the check that needs no cooperation of the server: each publisher numbers its events
// per stream, so every subscriber must receive 0, 1, 2, … of each publisher.

/// For each subscriber and publisher, the number of the next event.
struct MarkLedger {
    /// The number of entries above which a run is refused: a ledger over 256 MB would be paged, and
    /// the tool would measure its own memory.
    static let entryLimit = 64_000_000

    private let publishers: Int
    private var next: [UInt32]
    /// Per entry: the server reported a loss of history, so the next mark may skip numbers.
    private var isReset: [Bool]

    /// A ledger in which every subscriber expects event 0 of every publisher.
    init(subscribers: Int, publishers: Int) {
        self.publishers = publishers
        next = [UInt32](repeating: 0, count: subscribers * publishers)
        isReset = [Bool](repeating: false, count: subscribers * publishers)
    }

    /// Checks a mark that `subscriber` received.
    ///
    /// After a gap the ledger continues from the new number, so that one loss is counted once.
    @inline(__always)
    mutating func receive(_ mark: Mark, subscriber: Int) -> OrderVerdict {
        guard Int(mark.publisher) < publishers else { return .malformed }
        let index = subscriber * publishers + Int(mark.publisher)
        let expected = next[index]
        if mark.sequence == expected {
            next[index] = expected &+ 1
            return .inOrder
        }
        if mark.sequence > expected {
            next[index] = mark.sequence &+ 1
            defer { isReset[index] = false }
            return isReset[index] ? .inOrder : .gap
        }
        return mark.sequence &+ 1 == expected ? .double : .reordered
    }

    /// The server reported to `subscriber` a loss of history: the next skip is not a gap.
    mutating func reset(subscriber: Int) {
        for publisher in 0..<publishers { isReset[subscriber * publishers + publisher] = true }
    }

    /// Sets the events that `subscriber` expects to the publishers' next ones, where its stream
    /// starts.
    mutating func begin(subscriber: Int, at sent: Span<UInt32>) {
        for publisher in 0..<publishers {
            next[subscriber * publishers + publisher] = sent[publisher]
        }
    }
}
