internal import ClientMachine

/// The number of mutations that the confirmed state contains.
///
/// Receipts and reads say it for a position; every later state event is one more.
struct VersionCount: Equatable {
    /// Nil while it is not known.
    private(set) var version: UInt64?
    private var position: StreamPosition?
    /// The newest positions of state events, for a version that arrives later than those.
    private var recent: [StreamPosition] = []
    private static let limit = 256

    mutating func count(_ event: StreamPosition) {
        if let position, position.generation != event.generation { forget() }
        if recent.count == Self.limit { recent.removeFirst(Self.limit / 2) }
        recent.append(event)
        guard let version, let position, !position.reaches(event) else { return }
        set(version, plus: 1, at: event)
    }

    mutating func learn(_ known: UInt64, at base: StreamPosition) {
        if let position, position.reaches(base), version != nil { return }
        let later = recent.filter { $0.generation == base.generation && !base.reaches($0) }
        set(known, plus: later.count, at: later.last ?? base)
    }

    /// A number that no server counts to leads to none: it comes from outside.
    private mutating func set(_ known: UInt64, plus count: Int, at position: StreamPosition) {
        let (sum, overflow) = known.addingReportingOverflow(UInt64(count))
        version = overflow ? nil : sum
        self.position = position
    }

    /// The events before do not continue.
    mutating func forget() { self = VersionCount() }
}
