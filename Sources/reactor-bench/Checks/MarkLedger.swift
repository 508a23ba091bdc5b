// Marks are the check that needs nothing from the server: each publisher numbers its events per
// stream, so every subscriber must see 0, 1, 2, … of each publisher.

/// Which of each publisher's events each subscriber must see next.
struct MarkLedger {
    /// The number of entries above which a run is refused: 256 MB of ledger would be paged, and
    /// the tool would measure its own memory.
    static let entryLimit = 64_000_000

    private let publishers: Int
    private var next: [UInt32]
    /// Per entry: the history was lost and said so, so the next mark may skip forward.
    private var isReset: [Bool]

    /// A ledger in which everybody expects everybody's event 0.
    init(subscribers: Int, publishers: Int) {
        self.publishers = publishers
        next = [UInt32](repeating: 0, count: subscribers * publishers)
        isReset = [Bool](repeating: false, count: subscribers * publishers)
    }

    /// Takes a mark that `subscriber` received.
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

    /// The server told `subscriber` that its history is lost: what was skipped is no gap, once.
    mutating func reset(subscriber: Int) {
        for publisher in 0..<publishers { isReset[subscriber * publishers + publisher] = true }
    }

    /// Lets `subscriber` begin where the publishers are: its stream starts with what comes next.
    mutating func begin(subscriber: Int, at sent: Span<UInt32>) {
        for publisher in 0..<publishers {
            next[subscriber * publishers + publisher] = sent[publisher]
        }
    }
}
