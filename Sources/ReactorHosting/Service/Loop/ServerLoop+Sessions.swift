internal import Feeds
internal import Logging
internal import Sessions
internal import Sockets

extension ServerLoop: SessionOutput {
    func reply(_ content: Reply.Content, to token: UInt64) {
        guard let connection = connection(ConnectionID(token)) else {
            // The client has gone, or the request is that of a stream of several sessions.
            return sessions.relays.reply(content, to: token) { RelayProblem(for: $0) }
        }
        connection.respond(with: content)
    }

    func write(_ bytes: Span<UInt8>, to subscriber: UInt64) -> Int {
        guard let connection = connection(ConnectionID(subscriber)) else {
            return sessions.relays.write(bytes, to: subscriber)
        }
        return connection.writeEvents(bytes)
    }

    func finish(_ subscriber: Subscriber) {
        guard let connection = connection(ConnectionID(subscriber.id)) else {
            return sessions.relays.finish(subscriber)
        }
        connection.stream?.finish()
    }

    func refuse(_ subscriber: Subscriber) {
        guard let connection = connection(ConnectionID(subscriber.id)) else {
            return sessions.relays.refuse(subscriber, RelayProblem(.tooMuchMemory))
        }
        connection.stream?.end(with: .tooMuchMemory)
    }

    func client(of token: UInt64) -> WorkClient? {
        guard let connection = connection(ConnectionID(token)) else {
            return sessions.relays.client(of: token)
        }
        return resources.service.workClient(of: connection.identity)
    }

    func move(
        _ subscriber: Subscriber, to loop: Int, _ opening: ReplicaOpening
    ) -> ReaderMove {
        guard let connection = connection(ConnectionID(subscriber.id)) else { return .refused }
        return StreamMigration.begin(connection, opening, to: loop)
    }

    func timeHasPassed() { resources.table.readClocks() }

    func report(_ failure: SessionFailure, of feed: Feed) {
        let metadata: Logger.Metadata = [
            "session": "\(feed.id.text)", "reactor": "\(feed.reactor)",
        ]
        let logger = resources.settings.logger
        switch failure {
        case .failed(let place, let error):
            resources.counters.failures.count(feed.reactor)
            logger.warning("\(place) failed: \(error)", metadata: metadata)
        case .unencodable(let what, let error):
            logger.error("\(what) cannot be encoded as JSON: \(error)", metadata: metadata)
        case .unnamedActivity(let activity):
            logger.error(
                "the name of an activity is not valid for an event: \(activity)",
                metadata: metadata)
        case .dropped(let what):
            resources.counters.dropped += 1
            logger.debug("dropped \(what) of an ended effect", metadata: metadata)
        case .unreadable(let what):
            logger.error("stored data cannot be read: \(what)", metadata: metadata)
        case .slow(let turn, let actionCase): report(turn, actionCase, feed)
        case .commitFailed(let detail):
            logger.error("a commit failed, nothing was applied: \(detail)", metadata: metadata)
        }
    }
}

// Streams of several sessions, whose connections are on any loop.
extension ServerLoop {
    func receive(_ requests: [RelayRequest]) { sessions.relays.receive(requests, in: sessions) }

    /// Sends the events of this round to the loops of their streams.
    func flushRelays() {
        sessions.relays.flush { [peers = resources.peers] reports, loop in
            peers.enqueue(on: loop) { $0.resources.joints.receive(reports) }
        }
    }

    /// Sends the events of this round to the replicas on other loops, and moves readers there.
    func flushReplicas() {
        let (peers, home) = (resources.peers, resources.index)
        sessions.feeds.replicas.flush(to: self) { messages, loop in
            // A loop that has stopped has neither readers nor sessions.
            peers.enqueue(on: loop) { loop in
                loop.sessions.feeds.replicas.receive(
                    messages, from: home, in: loop.sessions.feeds)
            }
        }
    }

    /// Logs a turn that occupied the loop for longer than the limit for slow turns.
    private func report(_ turn: Turn, _ actionCase: String?, _ feed: Feed) {
        resources.counters.slowTurns.count(feed.reactor)
        var metadata: Logger.Metadata = [
            "session": "\(feed.id.text)", "reactor": "\(feed.reactor)",
            "work": "\(turn.work)",
            "duration_ms": .stringConvertible(
                LogMilliseconds(Duration.nanoseconds(turn.nanoseconds))),
        ]
        if turn.action > 0 { metadata["action"] = .stringConvertible(turn.action) }
        if let actionCase { metadata["case"] = "\(actionCase)" }
        resources.settings.logger.warning("slow turn", metadata: metadata)
    }
}
