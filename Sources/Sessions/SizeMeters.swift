internal import Feeds

/// The sizes of one session's values, some of them estimates.
struct SizeMeters {
    var mutation = MutationMeter()
    var state = StateMeter()
    var ahead = StatesAhead()
    /// The bytes that the present turn has made.
    var turnBytes = 0
}

/// The states that were encoded with their records since the last events were published. Beyond a
/// limit they are encoded when they are framed.
struct StatesAhead {
    private(set) var bytes = 0
    /// Of these bytes, if they are many.
    private var charge: WorkCharge?

    /// Counts a state. Without room, states are encoded when they are framed.
    mutating func count(_ count: Int, in work: WorkBudget) {
        bytes += count
        guard bytes > WorkBudget.smallestBytes else { return }
        if let charge {
            if charge.resize(to: bytes) { return }
        } else {
            charge = work.charge(bytes, for: nil, mayBeDropped: true)
            if charge != nil { return }
        }
        bytes = .max / 2
    }

    /// The states are framed, or belong to no record.
    mutating func forget() {
        guard bytes > 0 else { return }
        bytes = 0
        charge = nil
    }
}
