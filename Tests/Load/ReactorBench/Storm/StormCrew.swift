// Some clients of a storm check the responses that they get: posters and readers of pages on one
// busy session, over connections that stay open, and one client that counts.

/// The clients of a storm that check every response, across several server processes.
struct StormCrew {
    /// The session of `alerts` that is posted to and paged: every action makes a version.
    let session: String
    /// A session of `counter` to which only the witness posts.
    let counter: String
    private(set) var posters: [TorturePoster]
    private(set) var pagers: [StormPager]
    private(set) var witness: StormWitness
    private(set) var timers: [TimerClient]
    private(set) var ledger = TortureLedger(sessions: 1)
    /// The limits of the first server. Later servers get the same: accepted requests are repeated.
    private(set) var limits: [String: String] = [:]
    private var kept = 1
    /// The number of the ledger's messages that were reported.
    private var told = 0

    /// - Parameter number: The crew's number; no other crew of the run has it.
    init(number: Int, posters: Int, pagers: Int, timers: Int = 0) {
        session = "alerts-hot-\(number)"
        counter = "counter-witness-\(number)"
        self.posters = (0..<posters).map { TorturePoster(number: UInt16($0), session: 0) }
        self.pagers = [StormPager](repeating: StormPager(), count: pagers)
        witness = StormWitness(session: counter)
        self.timers = (0..<timers).map { TimerClient(name: "rounds-timers-\(number)-\($0)") }
    }

    /// The number of connections: posters, then pagers, then the witness, then those of timers.
    var size: Int { witnessMember + 1 + timers.count }
    private var witnessMember: Int { posters.count + pagers.count }

    /// Whether the hot session is there; a server that is full creates none.
    var hasSession: Bool { ledger.epoch(of: 0) != nil }

    var acknowledged: Int {
        witness.acknowledged + posters.reduce(0) { $0 + $1.acknowledged }
    }

    /// A new server process is running; it has the limits of the previous one.
    mutating func serverStarted(_ settings: StormSettings) {
        kept = settings.keptRecords
        limits = settings.limits
        let habits = TortureHabits(
            creates: 1, reads: 4, repeats: 5, batches: 50, keyed: 60,
            batch: 1...min(settings.batch, max(2 * kept, 10)))
        for index in posters.indices { posters[index].habits = habits }
        witness.serverStarted()
    }

    /// The next request of a member; nil if it has none now.
    mutating func request(
        _ member: Int, host: String, _ random: inout SeededNumbers
    ) -> [UInt8]? {
        switch member {
        case ..<posters.count:
            return posters[member].request(to: session, host: host, &ledger, &random)
        case ..<witnessMember:
            return pagers[member - posters.count].request(
                to: session, kept: kept, host: host, ledger, &random)
        case witnessMember: return witness.request(host: host)
        default:
            return timers[member - witnessMember - 1].request(
                now: Clock.now(), host: host, &random)
        }
    }

    /// Returns the faults of this response and the ledger's faults that are not reported yet.
    mutating func answered(_ member: Int, _ status: Int, _ body: [UInt8]) -> [String] {
        switch member {
        case ..<posters.count: posters[member].answered(status, body, &ledger)
        case ..<witnessMember:
            return pagers[member - posters.count].answered(status, body).map { [$0] } ?? []
        case witnessMember: return witness.answered(status, body)
        default:
            return timers[member - witnessMember - 1].answered(status, body, now: Clock.now())
        }
        defer { told = ledger.messages.count }
        return Array(ledger.messages[told...])
    }

    mutating func lost(_ member: Int) {
        switch member {
        case ..<posters.count: posters[member].lost(&ledger)
        case ..<witnessMember: pagers[member - posters.count].lost()
        default: break
        }
    }
}
