package import Storage

/// A part of a stream's readers, on another loop than that of the session.
package struct BranchKey: Hashable, Sendable {
    /// The loop of the session.
    package let loop: Int
    /// Not used twice on that loop.
    let number: UInt64
}

/// The branch that a reader moves to. It begins there with the first one.
package struct BranchOpening: Sendable {
    package let key: BranchKey
    let session: SessionID
    let generation: Generation
    let traits: ReaderTraits
    let selection: Selection
    /// Up to which the reader has everything.
    let position: HistoryPosition
}

/// The traits of a session on which it depends what a client may see. A reader continues only with a session
/// that has the same.
struct ReaderTraits: Hashable, Sendable {
    let reactor: String
    let owner: String?

    init(_ session: Session) {
        reactor = session.registration.name
        owner = session.owner
    }
}

/// A reader on its way back to the loop of its session.
package struct ReturningReader: Sendable {
    /// That loop.
    package let loop: Int
    let session: SessionID
    let traits: ReaderTraits
    let selection: Selection
    /// Up to which it has everything.
    let position: Position
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
    /// Those before have positions up to this one.
    let after: HistoryPosition
    /// There are no others up to this position.
    let through: HistoryPosition
    var bytes: [UInt8] = []
    /// The ends of the events, from the beginning of `bytes`.
    var marks: [SharedStream.Mark] = []
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
    /// Readers of a branch have left.
    case left(UInt64, readers: Int)
    /// Bytes of events have arrived.
    case received(bytes: Int)
}

/// A branch, on the loop of the session.
final class StreamBranch {
    let number: UInt64
    /// The loop of the readers.
    let loop: Int
    let stream: SharedStream
    weak var session: Session?
    unowned let table: StreamBranches
    /// Those that were moved, without those of which the other loop has reported that they have left.
    var readers = 0
    /// Whether it gets events. A closed one is kept until its last reader has left.
    var isOpen = true

    init(
        _ number: UInt64, on loop: Int, of stream: SharedStream, _ session: Session,
        _ table: StreamBranches
    ) {
        (self.number, self.loop, self.stream, self.session) = (number, loop, stream, session)
        self.table = table
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
    func left() { table.removed(from: self) }

    func returning(after position: HistoryPosition) -> ReturningReader {
        ReturningReader(
            loop: opening.key.loop, session: opening.session, traits: opening.traits,
            selection: opening.selection, position: Position(opening.generation, position))
    }
}
