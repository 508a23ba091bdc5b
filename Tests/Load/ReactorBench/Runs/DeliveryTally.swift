/// The counts of a pool of subscribers.
struct DeliveryTally {
    /// The number of checked events, with any verdict.
    var deliveries: UInt64 = 0
    var gaps: UInt64 = 0
    var doubles: UInt64 = 0
    var reorderings: UInt64 = 0
    var epochChanges: UInt64 = 0
    /// Ids or marks that could not be read.
    var malformed: UInt64 = 0
    /// `event: reset` blocks: the server itself reports a loss.
    var resets: UInt64 = 0
    /// `event: end` blocks.
    var ends: UInt64 = 0
    var snapshots: UInt64 = 0
    /// Streams that were opened again after the server closed them.
    var resumes: UInt64 = 0
    /// Streams whose response had another status than 200.
    var refused: UInt64 = 0
    /// Connections that were reset, or whose bytes were not valid HTTP.
    var broken: UInt64 = 0
    /// The time from the publisher's send to the receipt here.
    var latency = Histogram()

    /// Counts a verdict.
    @inline(__always)
    mutating func count(_ verdict: OrderVerdict) {
        switch verdict {
        case .inOrder: break
        case .gap: gaps += 1
        case .double: doubles += 1
        case .reordered: reorderings += 1
        case .otherEpoch: epochChanges += 1
        case .malformed: malformed += 1
        }
    }

    /// The faults of the run, a sentence each.
    var problems: [String] {
        let counted: [(UInt64, String)] = [
            (gaps, "gaps"), (doubles, "events received twice"),
            (reorderings, "events out of order"),
            (epochChanges, "changes of generation"),
            (malformed, "events whose id or mark cannot be read"),
            (resets, "resets"), (refused, "streams not answered with 200"),
            (broken, "broken connections"),
        ]
        return counted.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    }
}
