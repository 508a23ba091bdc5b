// Some clients among all that noise know what they did: posters and readers of pages on one hot
// session, with connections that stay, and one that counts.

/// The clients of a storm that hold the server to its word, over several processes of it.
struct StormCrew {
    /// The session that is posted to and paged, of `alerts`: every action is a version.
    let session: String
    /// A session of `counter`, posted to by the witness alone.
    let counter: String
    private(set) var posters: [TorturePoster]
    private(set) var pagers: [StormPager]
    private(set) var witness: StormWitness
    private(set) var ledger = TortureLedger(sessions: 1)
    /// Of the first server: what it took is sent again to later ones.
    private(set) var limits: [String: String] = [:]
    private var kept = 1
    /// Messages of the ledger that were reported.
    private var told = 0

    /// - Parameter number: no other crew of the run has it.
    init(number: Int, posters: Int, pagers: Int) {
        session = "alerts-hot-\(number)"
        counter = "counter-witness-\(number)"
        self.posters = (0..<posters).map { TorturePoster(number: UInt16($0), session: 0) }
        self.pagers = [StormPager](repeating: StormPager(), count: pagers)
        witness = StormWitness(session: counter)
    }

    /// One place of a pool each: posters, then pagers, then the witness.
    var size: Int { posters.count + pagers.count + 1 }

    var acknowledged: Int {
        witness.acknowledged + posters.reduce(0) { $0 + $1.acknowledged }
    }

    /// Another process, with the limits of the last one.
    mutating func serverStarted(_ settings: StormSettings) {
        kept = settings.keptRecords
        limits = settings.limits
        let habits = TortureHabits(
            creates: 1, reads: 4, repeats: 5, batches: 50, keyed: 60,
            batch: 1...min(settings.batch, max(2 * kept, 10)))
        for index in posters.indices { posters[index].habits = habits }
        witness.serverStarted()
    }

    /// The next request of a member; nil: none for now.
    mutating func request(
        _ member: Int, host: String, _ random: inout SeededNumbers
    ) -> [UInt8]? {
        switch member {
        case ..<posters.count:
            return posters[member].request(to: session, host: host, &ledger, &random)
        case ..<(size - 1):
            return pagers[member - posters.count].request(
                to: session, kept: kept, host: host, ledger, &random)
        default: return witness.request(host: host)
        }
    }

    /// The fault of a response, or of all responses so far.
    mutating func answered(_ member: Int, _ status: Int, _ body: [UInt8]) -> [String] {
        switch member {
        case ..<posters.count: posters[member].answered(status, body, &ledger)
        case ..<(size - 1):
            return pagers[member - posters.count].answered(status, body).map { [$0] } ?? []
        default: return witness.answered(status, body)
        }
        defer { told = ledger.messages.count }
        return Array(ledger.messages[told...])
    }

    mutating func lost(_ member: Int) {
        switch member {
        case ..<posters.count: posters[member].lost(&ledger)
        case ..<(size - 1): pagers[member - posters.count].lost()
        default: break
        }
    }
}
