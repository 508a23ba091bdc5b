internal import Feeds

/// The sizes of one session's values, some of them estimates.
struct SizeMeters {
    var mutation = MutationMeter()
    var state = StateMeter()
    var ahead = StatesAhead()
    /// The bytes of output that the present turn has made.
    var turnBytes = 0
}

/// The states that were encoded together with their records since events were last published.
/// Beyond a limit, states are encoded when they are framed.
struct StatesAhead {
    private(set) var bytes = 0
    /// The charge for these bytes; nil while they are few.
    private var charge: WorkCharge?

    /// Counts a state. If the budget has no room, further states are encoded when they are framed.
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

    /// Forgets the states: they are framed, or their records were rolled back.
    mutating func forget() {
        guard bytes > 0 else { return }
        bytes = 0
        charge = nil
    }
}
