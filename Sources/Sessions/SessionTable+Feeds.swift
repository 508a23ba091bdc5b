package import Feeds
internal import Storage

// The table, as the feeds of its loop know it.
extension SessionTable: FeedUpstream {
    package var questions: UInt64 { placement?.questions ?? 0 }

    package func contains(_ feed: Feed) -> Bool {
        session(of: feed) != nil || asleep(feed.id) === feed
    }

    package func forget(_ feed: Feed) {
        if sessions.remove(feed) { placement?.forgot(feed) }
    }

    package func wake(_ feed: Feed, then act: @escaping (Bool) -> Void) {
        guard !commits.isStopped else { return act(false) }
        wake(feed.id) { found in
            guard case .session(let present) = found, present.feed === feed else {
                return act(false)
            }
            act(true)
        }
    }

    package func readersChanged(_ feed: Feed) { expiry.readersChanged(feed) }

    package func presenceChanged(_ feed: Feed) {
        // Other nodes know a session's readers by its id, and it may have another feed by now.
        if contains(feed) { placement?.presenceChanged(feed) }
    }

    package func loadState(of feed: Feed) { placement?.loadState(of: feed) }

    package func answer(_ answer: SubscriptionAnswer, to token: UInt64, of feed: Feed) {
        let kind: Reply.Kind =
            switch answer {
            case .subscribed(let subscriber, let opening): .subscribed(subscriber, opening)
            case .tooManySelections(let limit): .tooManySelections(limit: limit)
            case .tooManySubscribers(let limit): .tooManySubscribers(limit: limit)
            case .overBudget: .overBudget
            }
        output.reply(Reply.Content(kind, of: feed, at: feed.history.newest), to: token)
    }

    package func confirm(_ request: SubscriptionRequest, of feed: Feed) {
        session(of: feed)?.confirm(request)
    }

    package func continuePublishing(_ feed: Feed) {
        guard let session = session(of: feed), session.isAwake else { return }
        session.publish(isContinued: true)
    }

    package func report(_ failure: FeedFailure, of feed: Feed) {
        switch failure {
        case .undecorated(let error):
            output.report(.failed(place: "transformState", error: error), of: feed)
        case .unencodableState(let error):
            output.report(.unencodable("the state", error), of: feed)
        case .unreadable(let detail): output.report(.unreadable(detail), of: feed)
        }
    }

    /// The session of the feed, if it has one.
    private func session(of feed: Feed) -> Session? {
        sessions[feed.id].flatMap { $0.feed === feed ? $0 : nil }
    }
}
