internal import Feeds

// Conditions of a session's life.
extension Session {
    /// The machine while the session is awake, until its end is committed.
    var machine: (any Machine)? {
        switch life {
        case .awake(let machine), .ending(let machine): machine
        case .starting, .ended, .left: nil
        }
    }

    /// Whether there is a state in memory.
    package var isAwake: Bool { machine != nil }

    /// Whether the session carries out requests.
    package var isRunning: Bool { if case .awake = life { true } else { false } }

    /// Whether the session carries out requests that only read.
    package var isReadable: Bool { isRunning }

    /// Whether records and notes may be added.
    var mayDecide: Bool {
        switch life {
        case .awake, .starting(isNew: true): true
        case .starting, .ending, .ended, .left: false
        }
    }

    /// Whether the creation is not committed yet.
    package var isBeingCreated: Bool { uncommitted.first?.creates ?? false }

    package var isEnding: Bool { if case .ending = life { true } else { false } }

    package var hasEnded: Bool { if case .ended = life { true } else { false } }
}
