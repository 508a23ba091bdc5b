internal import Cluster

/// The hints of a session that is followed.
struct FollowedHints {
    /// The last request for hints that was sent.
    private struct Wish {
        let owner: Node
        let epoch: Int64
        /// By the loop's own clock.
        var sent: Int64
        var isGranted = false
    }

    private var wish: Wish?
    /// Whether a hint has arrived since the last answered question was sent.
    var isDue = false

    /// The milliseconds until a node that has refused, or whose link has ended, is asked again.
    private static let pause: Int64 = 1_000

    /// Whether the owner of that epoch sends hints.
    func areComing(in epoch: Int64?) -> Bool {
        wish.map { $0.isGranted && $0.epoch == epoch } ?? false
    }

    enum Step { case nothing, follow(Node), unfollow }

    /// The next step towards hints from the session's owner.
    ///
    /// - Parameters:
    ///   - owner: Another node; nil if there is none to ask.
    ///   - epoch: Counts the changes of the owner.
    mutating func next(_ owner: Node?, _ epoch: Int64?, _ now: Int64) -> Step {
        guard let owner, let epoch else {
            defer { wish = nil }
            return wish == nil ? .nothing : .unfollow
        }
        if let wish, wish.epoch == epoch, wish.owner == owner,
            wish.isGranted || now - wish.sent < Self.pause
        {
            return .nothing
        }
        wish = Wish(owner: owner, epoch: epoch, sent: now)
        return .follow(owner)
    }

    /// A hint has arrived.
    mutating func come() { wish?.isGranted = true }

    /// No more hints will arrive.
    mutating func end(_ now: Int64) {
        wish?.isGranted = false
        wish?.sent = now
    }
}
