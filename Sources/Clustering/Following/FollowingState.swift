internal import Cluster
internal import Feeds
internal import Storage

/// This node's view of a session that it follows.
final class FollowingState: FeedUpkeep {
    /// Counts the changes of the session's owner; nil until the journal was asked for it.
    private(set) var epoch: Int64?
    /// The node that owned the session in that epoch; nil: none.
    private(set) var owner: Node?
    /// Whether the session acts without a request: it listens to a topic, or the effects of actions
    /// were running when it was last loaded. Nil: the owner has changed since then.
    private(set) var hasWork: Bool?
    /// The last question that was sent before this node began to follow the session. Its answer is
    /// ignored, because it may describe the time before.
    private(set) var lastQuestion: UInt64 = 0
    /// The number of the load with which this generation was found; 0 before that.
    private(set) var firstLoad: UInt64 = 0
    /// When the last question that the journal has answered was sent, by the loop's own clock.
    var confirmed: Int64
    /// The number of the last question that the journal has answered.
    var answered: UInt64 = 0
    /// When the session was last claimed, because its owner is gone.
    var claimed: Int64?
    /// The failed loads for subscribers that need the state.
    var failures = ReadFailures()
    /// The number of claims, since the owner left, that were referred to a node other than the
    /// owner.
    private var refusals = 0
    var hints = FollowedHints()
    /// Whether a subscriber waits for the journal.
    var hasWaiting = false
    /// The number of the load that must end before the next records are shown; nil: they are shown
    /// as soon as this node has them.
    var awaited: UInt64?
    /// Whether the session has ended. Its subscribers get the last events.
    var isOver = false

    init(confirmed: Int64) { self.confirmed = confirmed }

    /// - Parameters:
    ///   - now: when this node has ceased to own the session.
    ///   - loads: the loads that were sent until then.
    ///   - questions: the questions that were sent until then.
    init(since now: Int64, _ loads: UInt64, _ questions: UInt64) {
        confirmed = now
        firstLoad = loads + 1
        lastQuestion = questions
    }

    func confirms(_ gap: JournalGap) -> Bool { isOver || answered > gap.question }

    /// Whether the owner reports new records.
    var isHinted: Bool { hints.areComing(in: epoch) }

    /// Whether the journal is to be asked.
    ///
    /// - Parameter pause: The milliseconds between two questions while the owner reports new
    ///   records. A question may come 125 ms early.
    func isDue(at now: Int64, _ pause: Int64) -> Bool {
        !isHinted || hints.isDue || hasWaiting || now - confirmed > pause - 125
    }

    func setOwner(_ node: Node?, epoch: Int64) {
        guard let present = self.epoch else {
            (self.epoch, owner) = (epoch, node)
            return
        }
        guard epoch > present else { return }
        (self.epoch, owner, hasWork, refusals) = (epoch, node, nil, 0)
    }

    /// The session was loaded.
    ///
    /// - Parameters:
    ///   - mayListen: whether its reactor's sources include a topic; nil: the reactor is not
    ///     hosted here.
    ///   - load: the number of the load.
    func loaded(_ saved: SavedSession, mayListen: Bool?, by load: UInt64) {
        if firstLoad == 0 { firstLoad = load }
        if let ownership = saved.ownership { setOwner(ownership.owner, epoch: ownership.epoch) }
        hasWork = mayListen.map { $0 || !saved.interrupted.isEmpty } ?? false
        failures.end()
        awaited = nil
    }

    /// The next step for the session, so that its effects and sources do not stay idle for ever.
    ///
    /// - Parameter hasPresence: whether readers here have names: nodes see each other's readers
    ///   through the owner.
    func need(_ members: Members, _ now: Int64, hasPresence: Bool = false) -> Need {
        guard epoch != nil, !isOver, members.isHeard else { return .nothing }
        if let claimed, now - claimed < Self.claimPause { return .nothing }
        if let owner, owner != members.own.node { return members[owner] == nil ? .claim : .owned }
        switch hasPresence ? true : hasWork {
        case nil: return .load
        case true?: return .claim
        case false?: return .nothing
        }
    }

    enum Need { case nothing, owned, load, claim }

    /// A claim was refused in favour of another node.
    ///
    /// If that node is the owner, it is alive, even if this node's list of members does not have
    /// it: the list is as old as the last beat.
    ///
    /// - Returns: whether there were enough refusals to show that no node continues the session.
    func claimWasRefused(for node: Node) -> Bool {
        guard node != owner else {
            ownerIsPresent()
            return false
        }
        refusals += 1
        return refusals >= Self.refusalLimit
    }

    /// The session's owner is a member, so earlier refusals no longer count.
    func ownerIsPresent() { refusals = 0 }

    /// A stream that nothing has confirmed for this time, in milliseconds, is closed.
    static let confirmationLimit = ReadFailures.limit
    /// The time between two claims of one session.
    private static let claimPause: Int64 = 1_000
    /// After this number of refused claims, this node no longer expects the node that the refusals
    /// name to continue the session.
    private static let refusalLimit = 5
}

extension FeedArchive {
    /// Nil if this node continues the feed.
    var following: FollowingState? { upkeep as? FollowingState }
}

extension Feed {
    /// - Parameter asked: When the session was read, by the loop's own clock.
    func beginFollowing(asked: Int64) {
        guard let archive else { return }
        let following = archive.following ?? FollowingState(confirmed: asked)
        following.confirmed = max(following.confirmed, asked)
        archive.upkeep = following
    }
}
