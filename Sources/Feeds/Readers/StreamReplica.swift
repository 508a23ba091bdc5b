internal import Storage

/// A replica of a stream, on a loop other than that of its session.
package struct ReplicaKey: Hashable, Sendable {
    /// The loop of the session.
    package let loop: Int
    /// Not used twice on that loop.
    let number: UInt64
}

/// The replica that a reader moves to. The first reader creates it there.
package struct ReplicaOpening: Sendable {
    package let key: ReplicaKey
    let selection: Selection
    /// The position up to which the reader has everything.
    let position: HistoryPosition
    let edition: UInt64
    let presence: ReaderPresence?
}

/// The result of moving a reader's connection.
package enum ReaderMove {
    case moved
    /// It stays, because of its kind or its unsent bytes, or because there is no descriptor.
    case refused
    /// The connection was closed: the other loop has stopped.
    case lost
}

/// Framed events, in order, on the way to another loop.
package struct FramedRun: Sendable {
    /// The position of a reader that has them.
    let through: HistoryPosition
    let bytes: [UInt8]
    /// Counts the bytes, once for all loops; nil if they are few, or if there is no room for them.
    var charge: WorkCharge?
    /// Whether a replica keeps the bytes for readers that do not accept them at once.
    var mayBeKept = true
}

/// A reader of a replica that lacks what the replica has dropped.
package struct LaggingReader: Sendable {
    /// Of its connection, on the loop of the replica.
    let token: UInt64
    /// Of the replica when the reader fell behind.
    let edition: UInt64
    /// The position up to which it has everything; nil: its history is void.
    let position: HistoryPosition?
    let client: WorkClient?
}

/// Readers of one replica that have left.
package struct DepartedReaders: Sendable {
    fileprivate(set) var count = 0
    /// The presence of those that have one.
    fileprivate(set) var parts: [ReaderPresence] = []

    mutating func add(_ reader: Subscriber) {
        count += 1
        if let part = reader.presence?.part { parts.append(part) }
    }
}

/// A message about replicas, from one loop to another. Those to one loop arrive in order, and
/// before the connections that are moved after them.
package enum ReplicaMessage: Sendable {
    // To the loop of the readers, with the replica's number.
    case run(UInt64, FramedRun, edition: UInt64)
    /// The replica gets nothing more. Its readers are disconnected: with `isWhole` those that have
    /// everything, otherwise all.
    case end(UInt64, isWhole: Bool)
    // To the same loop, with the token of a reader that lags.
    case missed(UInt64, FramedRun)
    /// The reader has everything that the replica has been sent, and continues there.
    case join(UInt64)
    /// The same as `end`, for this reader.
    case finish(UInt64, isWhole: Bool)
    /// There is no room for what it lacks.
    case refuse(UInt64)
    // To the same loop, with the replica's number.
    case presence(UInt64, PresenceEvent)

    // To the loop of the session.
    case fetch(UInt64, LaggingReader)
    /// The reader has accepted the last run.
    case more(UInt64)
    /// The reader has left.
    case cancel(UInt64)
    /// Readers of a replica have left.
    case left(UInt64, DepartedReaders)
    /// Bytes of runs have arrived.
    case received(bytes: Int)
}

/// A replica of a stream, on the loop of its readers.
final class StreamReplica {
    let opening: ReplicaOpening
    let stream: SharedStream
    let presence = PresenceEvents()
    /// Counts the times that the shown history was void.
    private var edition: UInt64
    private unowned let table: StreamReplicas

    init(_ opening: ReplicaOpening, _ tally: SubscriberTally, _ table: StreamReplicas) {
        self.opening = opening
        self.table = table
        edition = opening.edition
        stream = SharedStream(opening.selection, after: opening.position, tally: tally)
    }

    /// Adds bytes.
    ///
    /// Invariant: a new edition drops all bytes of the previous one. So no reader can be at a
    /// position in another history.
    func append(_ run: FramedRun, edition: UInt64) {
        if edition != self.edition {
            self.edition = edition
            stream.beginAnew()
        }
        stream.append(run)
    }

    /// The last run has arrived.
    ///
    /// - Parameter isWhole: whether its last event is `end`. Readers that have not got it continue.
    func end(isWhole: Bool) {
        stream.deliverPending()
        for subscriber in stream.subscribers {
            if isWhole { subscriber.drain() } else { subscriber.abandon() }
        }
    }

    /// One of its readers lacks events.
    func fetch(for subscriber: Subscriber, after position: HistoryPosition?) {
        table.fetch(
            for: subscriber, of: opening.key,
            LaggingReader(
                token: subscriber.id, edition: edition, position: position,
                client: subscriber.client))
    }

    /// A reader that lacks events has accepted all that have arrived.
    func accepted(_ subscriber: Subscriber) { table.accepted(subscriber.id, of: opening.key) }

    /// One of its readers has left.
    func left(_ subscriber: Subscriber) { table.left(subscriber, self) }
}
