package import Storage

/// A part of a stream's readers, on another loop than that of the session.
package struct BranchKey: Hashable, Sendable {
    /// The loop of the session.
    package let loop: Int
    /// Not used twice on that loop.
    let number: UInt64
}

/// The branch that a reader moves to. The first reader creates it there.
package struct BranchOpening: Sendable {
    package let key: BranchKey
    let selection: Selection
    /// The position up to which the reader has everything.
    let position: HistoryPosition
}

/// A reader on its way from a branch back to the loop of its session. Until it arrives there, it is one of the
/// branch's readers.
package struct ReturningReader: Sendable {
    package let key: BranchKey
    /// The position up to which it has everything.
    let position: HistoryPosition
}

/// The result of moving a reader's connection.
package enum ReaderMove {
    case moved
    /// It stays, because of its kind or its unsent bytes, or because there is no descriptor.
    case refused
    /// The connection was closed: the other loop has stopped.
    case lost
}

/// Framed events of a stream, in order.
package struct FramedRun: Sendable {
    /// The events before these have positions up to this one.
    let after: HistoryPosition
    /// There are no other events up to this position.
    let through: HistoryPosition
    var bytes: [UInt8] = []
    /// The ends of the events, from the beginning of `bytes`.
    var marks: [SharedStream.Mark] = []
    /// Counts the bytes, once for all loops; nil if they are few, or if there is no room for them.
    var charge: WorkCharge?
    /// Whether branches keep the bytes for readers that do not accept them at once.
    var mayBeKept = true
}

/// A message about branches, from one loop to another. Those to one loop arrive in order, and before the
/// connections that are moved after them.
package enum BranchMessage: Sendable {
    // To the loop of the readers, with the branch's number.
    case events(UInt64, FramedRun)
    /// The session has ended: its last event.
    case end(UInt64, [UInt8], Position)
    /// The branch gets nothing more. Its readers go back, or are disconnected.
    case close(UInt64, through: HistoryPosition, isAbandoned: Bool)
    // To the loop of the session.
    /// Readers of a branch have left, and will not move back.
    case left(UInt64, readers: Int)
    /// Bytes of events have arrived.
    case received(bytes: Int)
}

/// A branch, on the loop of the session.
final class StreamBranch {
    let number: UInt64
    /// The loop of the readers.
    let loop: Int
    /// The stream to which its readers move back, and its feed.
    private(set) var stream: SharedStream
    private(set) weak var feed: Feed?
    unowned let table: StreamBranches
    /// The readers that were moved, without those that have moved back, and without those that the
    /// other loop has reported as gone.
    var readers = 0
    /// Whether it gets events. A closed one is kept until its last reader has left.
    var isOpen = true
    /// Why its readers cannot continue at their positions when they move back; nil if they can.
    private(set) var closing: Closing?

    enum Closing {
        /// The history that the readers were shown is void. They get a `reset`.
        case void
        /// The journal no longer has the next events. The readers get a `reset` before the `end`.
        case trimmed
        /// The readers are disconnected.
        case abandoned
    }

    init(
        _ number: UInt64, on loop: Int, of stream: SharedStream, _ feed: Feed,
        _ table: StreamBranches
    ) {
        (self.number, self.loop, self.stream, self.feed) = (number, loop, stream, feed)
        self.table = table
    }

    /// - Precondition: it is closed, or will be at once.
    func close(_ closing: Closing) { self.closing = closing }

    /// Its readers move back to the stream of another generation.
    func move(to stream: SharedStream, of feed: Feed) {
        (self.stream, self.feed) = (stream, feed)
    }
}

/// A branch, on the loop of its readers.
final class BranchStream {
    let opening: BranchOpening
    let stream: SharedStream
    private unowned let table: StreamBranches

    init(_ opening: BranchOpening, _ tally: SubscriberTally, _ table: StreamBranches) {
        self.opening = opening
        self.table = table
        stream = SharedStream(opening.selection, after: opening.position, tally: tally)
    }

    /// One of its readers has left.
    func left() { table.left(self) }

    /// One of its readers is on its way back.
    func wentBack() { table.removed(from: self) }

    func returning(after position: HistoryPosition) -> ReturningReader {
        ReturningReader(key: opening.key, position: position)
    }
}
