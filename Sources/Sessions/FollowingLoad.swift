internal import Feeds
internal import Storage

/// A read of a session that is not followed yet, or whose state is needed.
final class FollowingLoad {
    let id: SessionID
    /// When it was sent, and the number of loads that were sent until then.
    var asked: Int64 = 0
    var number: UInt64 = 0
    /// Whether a claim has shown that another node owns the session, or that it has no room here.
    var isClaimed = false
    /// Whether an earlier read of the session was too old when it came.
    var isRepeated = false
    /// Whether it has waited for records of the owner.
    var isLate = false
    /// How often the load was sent again because it had found no room.
    var repeats = 0
    /// A stream that waits for the load.
    struct Stream {
        let client: WorkClient?
        /// Whether the stream's connection is open.
        let isWanted: () -> Bool
        let act: (SessionLookup) -> Void
    }
    var streams: [Stream] = []
    /// The client for which the load is sent.
    var client: WorkClient? { streams.first?.client }
    /// Counts the session that was read, until its streams are open; nil if it is small.
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

/// Loads that contain records which the owner has not sent to this node yet.
///
/// Why they wait: the other subscribers would have to read these records from the journal.
/// Subscribers on other loops would have to move back for that.
///
/// Bounds: one load for each session, and ``limit`` sessions. Each waits until the records have
/// come, at most a quarter of a second.
struct EarlyLoads {
    typealias Early = (load: FollowingLoad, saved: SavedSession, losses: UInt64)

    private var byID: [SessionID: Early] = [:]

    private static let limit = 16

    /// Keeps a load. It serves the streams of an earlier one as well.
    ///
    /// - Parameter losses: the losses of history that the loop had met when the journal was read.
    /// - Returns: false if there is no room.
    mutating func insert(
        _ load: FollowingLoad, _ saved: SavedSession, _ losses: UInt64
    ) -> Bool {
        let present = byID[load.id]
        guard present != nil || byID.count < Self.limit else { return false }
        load.streams += present?.load.streams ?? []
        byID[load.id] = (load, saved, losses)
        return true
    }

    /// Removes the load of a session whose records up to this position have come.
    mutating func remove(_ id: SessionID, through position: HistoryPosition) -> [Early] {
        guard let early = byID[id], early.saved.end.position <= position else { return [] }
        byID[id] = nil
        return [early]
    }

    /// Removes all of them.
    mutating func removeAll() -> [Early] {
        defer { byID = [:] }
        return Array(byID.values)
    }
}

extension Feed {
    /// Whether the records of the owner that a load has read are about to come, and readers on other loops expect
    /// them.
    func mayAwaitRecords(behind load: FollowingLoad, _ saved: SavedSession) -> Bool {
        guard !load.isLate, !load.isRepeated, !isVoid, key == saved.key, hasBranches,
            let following = archive?.following, following.awaited == nil
        else { return false }
        return following.mayCome(
            through: saved.end.position, in: saved.ownership?.epoch,
            behind: history.committed.position)
    }
}
