package import JSONCoding

/// A session in memory, as its feed knows it: the states of the versions that are in memory.
///
/// Why a protocol: readers' code must not be able to decide. Framing a record of pulses and
/// activities calls none of these methods.
package protocol FeedSource: AnyObject {
    /// Whether this is a session that still decides. False for a copy, and once the session's end
    /// is decided.
    var isDeciding: Bool { get }

    /// About the bytes of the state as JSON; 0 if it was not measured.
    var stateEstimate: Int { get }

    /// The state as a stream shows it at a kept version. Calls have ascending versions until
    /// ``endReplay()``.
    func shown(at version: UInt64) -> ShownVersion

    /// Appends `{"<pulse>":<value>,…}`: the chosen pulses as they were shown at a kept version.
    func appendPulses(_ chosen: UInt64, at version: UInt64, to out: inout [UInt8])

    /// Appends the mutation that made this version.
    func appendMutation(to version: UInt64, _ out: inout [UInt8])

    /// Ends a sequence of reads of earlier states.
    func endReplay()

    /// The parts that streams show, or are about to.
    func pointers() -> [JSONPointer]

    /// The feed has dropped the entries before this version.
    ///
    /// - Returns: whether the states before it are forgotten.
    func forget(before version: UInt64, atOnce: Bool) -> Bool
}

/// The answer to a request for a stream.
package enum SubscriptionAnswer {
    case subscribed(Subscriber, StreamOpening)
    /// The session has as many streams of different selections as it may.
    case tooManySelections(limit: Int)
    /// The session has as many subscribers as it may.
    case tooManySubscribers(limit: Int)
    /// There is no room for the snapshot (``WorkBudget``).
    case overBudget
}

/// A failure that affects a reader but does not end the session.
package enum FeedFailure {
    /// The decoration of a state has failed; why.
    case undecorated(String)
    /// The state has no JSON, so `null` is shown; why.
    case unencodableState(String)
    /// Data in the journal cannot be read, or the present code cannot use it.
    case unreadable(String)
}
