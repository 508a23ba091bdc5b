internal import Feeds
internal import Storage

// A session that another node or no node decides on. Only its feed is used.
extension Session {
    /// Makes its feed one that is followed from now on.
    ///
    /// - Parameter asked: When the session was read, by ``LoopServices/uptime``.
    func beginFollowing(asked: Int64) {
        persistence?.epoch = 0
        feed.beginFollowing(asked: asked)
    }

    /// This node has owned the session until now, and its state has left memory.
    func beginFollowing(_ following: FollowingState) {
        persistence?.epoch = 0
        feed.beginFollowing(following)
    }

    /// This node decides on the session from now on. The subscribers stay.
    func endFollowing() {
        guard isFollowed else { return }
        feed.endFollowing()
        table.followed?.remove(feed)
    }

    /// New subscribers were added: the state leaves memory.
    func endOpening() {
        guard case .copy = life else { return }
        leaveMemory()
        feed.endOpening()
    }
}
