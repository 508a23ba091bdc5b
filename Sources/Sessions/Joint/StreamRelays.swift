package import Feeds

/// The relays of a loop: the subscriptions of its sessions for streams of several sessions.
///
/// Design: a relay's subscriber has a token that no connection has (``ReaderToken``), so an
/// ordinary subscriber costs no more than without relays.
package final class StreamRelays {
    /// Sends reports to a loop.
    package typealias Send = (_ reports: [RelayReport], _ loop: Int) -> Void

    private var byKey: [RelayKey: StreamRelay] = [:]
    private var byToken: [UInt64: StreamRelay] = [:]
    private var lastToken: UInt64 = 0
    /// The relays with a report, in order of their first change.
    private var changed: [StreamRelay] = []
    /// Why a queue: a request may name a hundred sessions, and each may have to encode its state.
    let openings: BackgroundQueue
    /// Nil until the table has them.
    weak var topics: TopicReaders?

    init(_ pass: PassMeter, hop: @escaping LoopServices.Hop) {
        openings = BackgroundQueue(pass) { _ = hop { $0.relays.openings.run() } }
    }

    package var count: Int { byKey.count }

    /// The subscribers of all relays, for tests.
    var subscribers: [Subscriber] { byKey.values.compactMap(\.subscriber) }

    /// Drops all relays because the loop has stopped.
    func removeAll() {
        (byKey, byToken, changed) = ([:], [:], [])
        openings.removeAll()
    }

    // MARK: The stream

    /// Executes the requests of streams, in order.
    package func receive(_ requests: [RelayRequest], in table: SessionTable) {
        for request in requests {
            switch request {
            case .open(let key, let opening):
                insert(key, opening)
                openings.append { [unowned table] in table.relays.open(key, in: table) }
            case .credit(let key, let bytes):
                guard let relay = byKey[key] else { continue }
                relay.returnCredit(bytes)
                // Also without having stopped it: a subscriber that is not blocked has
                // no more bytes.
                if let subscriber = relay.subscriber, subscriber.isBlocked { subscriber.resume() }
            case .close(let key):
                guard let relay = byKey[key] else { continue }
                remove(relay)
                relay.subscriber?.cancel()
            }
        }
    }

    private func insert(_ key: RelayKey, _ opening: RelayOpening) {
        lastToken = (lastToken + 1) | ReaderToken.relayMark
        let relay = StreamRelay(key, opening, token: lastToken)
        byKey[key] = relay
        byToken[lastToken] = relay
    }

    private func remove(_ relay: StreamRelay) {
        guard byKey.removeValue(forKey: relay.key) != nil else { return }
        byToken[relay.token] = nil
        // Gives back the memory of a peak.
        if byKey.isEmpty { (byKey, byToken) = ([:], [:]) }
    }

    // MARK: The session

    private func open(_ key: RelayKey, in table: SessionTable) {
        guard let relay = byKey[key] else { return }
        let request = relay.request
        // The stream may end meanwhile.
        let isWanted = { [self] in byKey[key] != nil }
        table.findForStream(request.session, for: request.client, while: isWanted) {
            [self] found in
            if isWanted() { open(relay, found) }
        }
    }

    private func open(_ relay: StreamRelay, _ found: SessionLookup) {
        switch relay.request.choose(relay.request.session, found) {
        case .end(let reason): end(relay, .over(reason))
        case .problem(let problem): end(relay, .problem(problem))
        case .events(let session, let selection, let knownPulses, let presence):
            relay.reportPulses(knownPulses)
            change(relay)
            var selection = selection
            // One chunk for each block, so that the stream finds their ends. The bytes are shared
            // with the subscribers by HTTP/1.1.
            selection.isChunked = true
            session.subscribe(
                SubscriptionRequest(
                    token: relay.token, selection: selection, start: relay.request.start,
                    presence: presence))
        }
    }

    private func end(_ relay: StreamRelay, _ end: RelayReport.End) {
        relay.reportEnd(end)
        change(relay)
        remove(relay)
    }

    private func change(_ relay: StreamRelay) {
        if relay.change() { changed.append(relay) }
    }

    // MARK: SessionOutput

    /// The client of the relay's stream, for its share of the ``WorkBudget``; nil: it has none.
    package func client(of token: UInt64) -> WorkClient? { byToken[token]?.request.client }

    /// Accepts bytes of a subscriber, as far as its relay has credit.
    package func write(_ bytes: Span<UInt8>, to subscriber: UInt64) -> Int {
        guard let relay = byToken[subscriber] else { return 0 }
        let accepted = relay.write(bytes)
        if accepted > 0 { change(relay) }
        return accepted
    }

    /// Handles the session's reply.
    ///
    /// - Parameter problem: the problem that the reply stands for.
    package func reply(
        _ content: Reply.Content, to token: UInt64, problem: (Reply.Kind) -> RelayProblem
    ) {
        guard let relay = byToken[token] else {
            // The stream has ended.
            if case .subscribed(let subscriber, _) = content.kind { subscriber.cancel() }
            return
        }
        switch content.kind {
        case .subscribed(let subscriber, let opening):
            relay.subscriber = subscriber
            subscriber.send(opening)
        // The session has ended meanwhile.
        case .gone: end(relay, .over(.deleted))
        default: end(relay, .problem(problem(content.kind)))
        }
    }

    /// Ends the subscriber's part of the stream with a problem.
    package func refuse(_ subscriber: Subscriber, _ problem: RelayProblem) {
        if let relay = byToken[subscriber.id] { end(relay, .problem(problem)) }
        subscriber.cancel()
    }

    /// The subscriber has sent everything.
    package func finish(_ subscriber: Subscriber) {
        if let relay = byToken[subscriber.id] { end(relay, .finished) }
    }

    /// Sends the reports of a round: one message to each loop.
    package func flush(_ send: Send) {
        guard !changed.isEmpty else { return }
        var reports: [Int: [RelayReport]] = [:]
        for relay in changed {
            let report = relay.takeReport()
            if let receive = relay.request.receive {
                receive(report)
                continue
            }
            reports[report.key.loop, default: []].append(report)
        }
        changed.removeAll(keepingCapacity: changed.count <= 256)
        let own = reports.removeValue(forKey: RelayKey.ownLoop)
        for (loop, reports) in reports { send(reports, loop) }
        for report in own ?? [] { topics?.receive(report) }
    }
}
