internal import Feeds
internal import Storage

// The table, as the feeds of its loop know it.
extension SessionTable: FeedUpstream {
    var questions: UInt64 { followed?.questions ?? 0 }

    func contains(_ feed: Feed) -> Bool { sessions[feed.id]?.feed === feed }

    func forget(_ feed: Feed) {
        if let session = sessions[feed.id], session.feed === feed { _ = sessions.remove(session) }
        followed?.remove(feed)
    }

    func wake(_ feed: Feed, then act: @escaping (Bool) -> Void) {
        wake(feed.id) { found in
            guard case .session(let present) = found, present.feed === feed else {
                return act(false)
            }
            act(true)
        }
    }

    func loadState(of feed: Feed) { followed?.loadState(of: feed) }

    func report(_ failure: FeedFailure, of feed: Feed) {
        switch failure {
        case .undecorated(let error):
            output.report(.failed(place: "transformState", error: error), of: feed)
        case .unencodableState(let error):
            output.report(.unencodable("the state", error), of: feed)
        case .unreadable(let detail): output.report(.unreadable(detail), of: feed)
        }
    }
}
