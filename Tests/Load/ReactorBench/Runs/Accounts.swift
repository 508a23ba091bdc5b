#if os(Linux)
    /// Whether every reader received as many events as its stream accepted.
    struct Accounts {
        /// Deliveries that were missing at the timeout.
        private(set) var missing: UInt64 = 0
        /// Deliveries in excess of the accepted events.
        private(set) var surplus: UInt64 = 0
        /// The time of the last delivery.
        private(set) var lastDelivery = Clock.now()

        /// The faults, a sentence each.
        var problems: [String] {
            var problems: [String] = []
            if missing > 0 { problems.append("\(missing) deliveries missing at the timeout") }
            if surplus > 0 { problems.append("\(surplus) deliveries more than were accepted") }
            return problems
        }

        /// Runs turns until all accepted events are delivered or the timeout is over; then
        /// compares.
        static func settle(
            _ driver: inout Driver, streams: Int, timeout: TimeSpan
        ) throws(BenchError) -> Accounts {
            var accounts = Accounts()
            let deadline = Clock.now() + timeout.nanoseconds
            var seen = driver.subscribers.ledger.tally.deliveries
            while Clock.now() < deadline {
                if driver.publishers.isDone {
                    accounts.compare(driver, streams)
                    if accounts.missing == 0 { break }
                }
                try driver.turn(until: min(deadline, Clock.now() + 100_000_000))
                let now = driver.subscribers.ledger.tally.deliveries
                if now != seen { accounts.lastDelivery = Clock.now() }
                seen = now
            }
            accounts.compare(driver, streams)
            return accounts
        }

        /// Reader by reader: an excess of one reader must not hide a loss of another.
        private mutating func compare(_ driver: borrowing Driver, _ streams: Int) {
            missing = 0
            surplus = 0
            for reader in driver.subscribers.readings {
                let got = driver.subscribers.ledger.received[reader]
                let wanted = driver.publishers.acceptedPerStream[reader % streams]
                if got < wanted { missing += wanted - got }
                if got > wanted { surplus += got - wanted }
            }
        }
    }
#endif
