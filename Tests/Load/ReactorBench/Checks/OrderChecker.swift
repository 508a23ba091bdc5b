// Checks that one subscriber received every event once, in order, judged by the event ids alone.
// Ids cannot show every fault (when nchan's second changes, a lost tail stays hidden); the marks
// and the final count do: see `MarkLedger` and `Fanout`.

/// Follows the ids of one subscriber's stream.
struct OrderChecker {
    /// The last accepted id; nil before the first.
    private(set) var last: EventID?

    /// Accepts the id of a priming block, a snapshot or a reset: the next event must continue it.
    mutating func rebase(to id: EventID) {
        last = id
    }

    /// Accepts the next event's id and returns whether it continues the last one.
    ///
    /// A missing id is passed as nil and is malformed. After a gap the checker continues from the
    /// new id, so that one loss is counted once.
    @inline(__always)
    mutating func receive(_ id: EventID?, scheme: IDScheme) -> OrderVerdict {
        guard let id else { return .malformed }
        guard let last else {
            self.last = id
            return .inOrder
        }
        guard id.epoch == last.epoch else {
            self.last = id
            return .otherEpoch
        }
        if id == last { return .double }
        if id.number < last.number || (id.number == last.number && id.part < last.part) {
            return .reordered
        }
        self.last = id
        return Self.continues(id, after: last, scheme: scheme) ? .inOrder : .gap
    }

    @inline(__always)
    private static func continues(_ id: EventID, after last: EventID, scheme: IDScheme) -> Bool {
        switch scheme {
        case .consecutive:
            if id.number == last.number {
                return id.part == EventID.whole || id.part == last.part &+ 1
            }
            return id.number == last.number &+ 1 && last.part == EventID.whole
                && (id.part == EventID.whole || id.part == 1)
        case .rising:
            // Parts are consecutive within a record even where records are skipped.
            if id.number == last.number {
                return id.part == EventID.whole || id.part == last.part &+ 1
            }
            return last.part == EventID.whole && (id.part == EventID.whole || id.part == 1)
        case .nchan:
            return id.number == last.number ? id.part == last.part &+ 1 : id.part == 0
        case .number:
            return id.number == last.number &+ 1
        case .none:
            return true
        }
    }
}
