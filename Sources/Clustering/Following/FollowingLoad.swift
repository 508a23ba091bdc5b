internal import Feeds
internal import Sessions

/// A read of a session that is not followed yet, or whose state is needed.
final class FollowingLoad {
    let id: SessionID
    /// When it was sent, and its number: loads are numbered in the order in which they are sent.
    var asked: Int64 = 0
    var number: UInt64 = 0
    /// Whether a claim has failed, because another node owns the session or it has no room here.
    var isClaimed = false
    /// Whether this load repeats an earlier one, whose state was older than what was already shown.
    var isRepeated = false
    /// How often the load was sent again because it had found no room.
    var repeats = 0
    /// The streams that wait for it.
    var streams: [StreamLookup] = []
    /// The client for which the load is sent.
    var client: WorkClient? { streams.first?.client }
    /// The charge for the session that was read, until its streams are open; nil if it is small.
    var charge: WorkCharge?

    init(_ id: SessionID) { self.id = id }

    /// Responds to the streams, which subscribe at once.
    func respond(_ found: SessionLookup) {
        let waiting = streams
        streams = []
        for stream in waiting { stream.act(found) }
    }

    /// Drops the streams whose connections have closed.
    ///
    /// - Returns: whether this dropped the last stream.
    func dropUnwanted() -> Bool {
        guard !streams.isEmpty else { return false }
        streams.removeAll { !$0.isWanted() }
        return streams.isEmpty
    }

    /// Refuses the streams of the client for which the load was sent. The streams of other clients
    /// remain.
    ///
    /// - Returns: whether there were any.
    func refuse() -> Bool {
        let client = client
        let refused = streams.filter { $0.client == client }
        streams.removeAll { $0.client == client }
        for stream in refused { stream.act(.overBudget) }
        return !refused.isEmpty
    }
}
