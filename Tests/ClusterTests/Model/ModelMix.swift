/// How often each event happens in a schedule.
struct ModelMix {
    enum Event: CaseIterable {
        case claim, load, post, send
        /// A statement reads or commits.
        case statement
        case answer, read, confirm, lostConnection, kill, trim, failover
    }

    /// By the order of the events.
    private let weights: [Int]
    /// Whether a failover may lose what was acknowledged.
    let isLossy: Bool
    let total: Int

    private init(_ weights: [Int], isLossy: Bool) {
        self.weights = weights
        self.isLossy = isLossy
        total = weights.reduce(0, +)
    }

    func event(_ number: Int) -> Event {
        var rest = number
        for (event, weight) in zip(Event.allCases, weights) {
            if rest < weight { return event }
            rest -= weight
        }
        return .claim
    }

    /// Most requests succeed.
    static let calm = ModelMix(
        [20, 180, 200, 150, 130, 140, 60, 80, 25, 5, 5, 5], isLossy: false)
    /// Statements come late, and many a history is trimmed.
    static let late = ModelMix(
        [20, 180, 200, 150, 20, 140, 160, 80, 25, 5, 10, 3], isLossy: false)
    /// Everything is fast, and soon trimmed.
    static let fast = ModelMix(
        [80, 320, 160, 320, 320, 80, 40, 80, 40, 5, 80, 3], isLossy: false)
    /// Failovers lose what was acknowledged.
    static let lossy = ModelMix(
        [20, 160, 80, 40, 130, 320, 80, 20, 5, 5, 10, 15], isLossy: true)
    /// The same while owners change.
    static let lossyClaims = ModelMix(
        [80, 180, 200, 150, 130, 140, 160, 80, 25, 5, 5, 15], isLossy: true)

    static let all = [calm, late, fast, lossy, lossyClaims]
}
