internal import Feeds

// Conditions of a session's life.
extension Session {
    /// The machine while the session is awake, until its end is committed.
    var machine: (any Machine)? {
        switch life {
        case .awake(let machine), .copy(let machine), .ending(let machine): machine
        case .starting, .ended, .asleep: nil
        }
    }

    /// Whether there is a state in memory.
    package var isAwake: Bool { machine != nil }

    /// Whether the session carries out requests.
    var isRunning: Bool { if case .awake = life { true } else { false } }

    /// Whether the session carries out requests that only read.
    package var isReadable: Bool { phase.isReadable }

    /// Whether another node decides, or nobody, and subscribers are here.
    var isFollowed: Bool { feed.isFollowed }

    /// Whether a followed session has ended elsewhere.
    var isOver: Bool { feed.isOver }

    /// Whether the journal has lost history of this generation, of which only the
    /// subscribers are left.
    var isVoid: Bool { feed.isVoid }

    /// Whether records and notes may be added.
    var mayDecide: Bool {
        switch life {
        case .awake, .starting(isNew: true): true
        case .starting, .copy, .ending, .ended, .asleep: false
        }
    }

    /// Whether the creation is not committed yet.
    var isBeingCreated: Bool { uncommitted.first?.creates ?? false }

    var isEnding: Bool { if case .ending = life { true } else { false } }

    /// Whether this node's ownership is not a later one than that of `epoch`.
    func ownsSince(_ epoch: Int64) -> Bool { persistence.map { $0.epoch <= epoch } ?? false }

    package var hasEnded: Bool { if case .ended = life { true } else { false } }

    var isAsleep: Bool { life.isAsleep }
}
