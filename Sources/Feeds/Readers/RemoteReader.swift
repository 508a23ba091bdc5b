internal import Storage

/// A subscriber's way to another loop, on the loop of the session: that of a replica, or of one of
/// its readers that lags.
///
/// Design: its ``subscriber`` is an ordinary one, except that it sends whole events, in runs, or
/// nothing. So a gap, a reset and the end of the session are the same for a replica as for a
/// connection.
final class RemoteReader: ReaderOutput {
    enum Kind {
        /// With its number, which is not used twice on this loop.
        case replica(UInt64)
        /// A reader of this replica, with the token of its connection there.
        case lagging(UInt64, of: RemoteReader)
    }

    let kind: Kind
    /// The loop of the readers.
    let loop: Int
    private let client: WorkClient?
    private unowned let table: StreamReplicas
    /// A cycle until it is removed.
    private(set) var subscriber: Subscriber?
    /// Of a replica: the readers that were moved, without those that the other loop has reported as
    /// gone.
    var readers = 0
    /// The number of these that get `presence` events.
    var watching = 0
    /// Of a replica: counts the times that the shown history was void.
    private(set) var edition: UInt64 = 0
    /// Of a replica: whether its readers were disconnected.
    private(set) var isAbandoned = false
    /// Of a reader: whether a run is on its way.
    private var isWaiting = false
    /// There is no room for the next bytes. It is refused at the end of the round, because it is
    /// called by its subscriber.
    private var isOverloaded = false
    /// Whether it is among the table's changed ones.
    var isChanged = false

    /// Bytes of a run for one reader, unless its first event is larger.
    ///
    /// Precedent: as many as of a slice of the journal.
    private static let lagRunBytes = 65_536

    /// - Parameter client: for its share of the ``WorkBudget``.
    init(_ kind: Kind, on loop: Int, for client: WorkClient?, _ table: StreamReplicas) {
        (self.kind, self.loop, self.client, self.table) = (kind, loop, client, table)
    }

    func begin(_ subscriber: Subscriber) { self.subscriber = subscriber }

    /// Releases the subscriber, which has ended or ends.
    func release() -> Subscriber? {
        defer { subscriber = nil }
        return subscriber
    }

    /// The subscriber has new bytes to send, or may join its replica.
    func change() { table.changed(self) }

    /// The history that was sent is void.
    func strand() { edition += 1 }

    // MARK: Runs

    /// Sends the bytes of a stream from `offset` on, or for one reader some of them.
    ///
    /// - Returns: false if there is no room; ``Subscriber/resume()`` is called then when there is.
    func send(from offset: inout Int, of stream: SharedStream) -> Bool {
        let run: FramedRun
        switch kind {
        case .replica:
            run = table.run(of: stream, from: offset)
            guard send(run) else { return false }
        case .lagging:
            guard !isWaiting else { return false }
            run = stream.run(from: offset, limit: Self.lagRunBytes)
            guard send(run.bytes, through: run.through, of: stream) else { return false }
        }
        offset += run.bytes.count
        return true
    }

    /// Sends other events.
    ///
    /// - Parameter charge: the charge for the bytes until they are sent to a connection. A replica
    ///   keeps them longer, with a charge of its own that may be dropped.
    func send(
        _ bytes: [UInt8], through position: HistoryPosition, of stream: SharedStream,
        _ charge: WorkCharge? = nil
    ) -> Bool {
        guard !isWaiting, !isOverloaded else { return false }
        var run = FramedRun(through: position, bytes: bytes)
        guard bytes.count > WorkBudget.smallestBytes else { return send(run) }
        let isReplica = if case .replica = kind { true } else { false }
        let work = stream.tally.work
        run.charge =
            isReplica
            ? work.charge(bytes.count, for: client, mayBeDropped: true)
            : charge ?? work.charge(bytes.count, for: client)
        run.mayBeKept = run.charge != nil
        guard isReplica || run.mayBeKept else {
            isOverloaded = true
            change()
            return false
        }
        return send(run)
    }

    private func send(_ run: FramedRun) -> Bool {
        switch kind {
        case .replica(let number): return table.send(run, to: self, number)
        case .lagging(let token, _):
            isWaiting = true
            table.post(.missed(token, run), to: loop)
            change()
            return true
        }
    }

    /// The reader has accepted the last run.
    func proceed() {
        isWaiting = false
        subscriber?.resume()
    }

    /// Sends what was left to the end of the round.
    func endRound() {
        guard let subscriber else { return }
        if subscriber.isPending { subscriber.deliverPending() }
        if isOverloaded { refuse(subscriber) }
    }

    /// Whether the reader continues with the next run of its replica.
    var mayJoin: Bool {
        guard case .lagging(_, let replica) = kind, let subscriber, let other = replica.subscriber
        else { return false }
        return subscriber.stream === other.stream && subscriber.isAtRest && other.isAtRest
    }

    // MARK: ReaderOutput

    func write(_ bytes: Span<UInt8>, to subscriber: UInt64) -> Int {
        preconditionFailure("it sends runs")
    }

    func finish(_ subscriber: Subscriber) {
        let isWhole = subscriber.stream.ending != nil
        switch kind {
        case .replica(let number):
            isAbandoned = !isWhole
            table.post(.end(number, isWhole: isWhole), to: loop)
        case .lagging(let token, _):
            table.post(.finish(token, isWhole: isWhole), to: loop)
            table.remove(self, lagging: token)
        }
    }

    func refuse(_ subscriber: Subscriber) {
        subscriber.cancel()
        switch kind {
        case .replica(let number):
            isAbandoned = true
            table.post(.end(number, isWhole: false), to: loop)
        case .lagging(let token, _):
            table.post(.refuse(token), to: loop)
            table.remove(self, lagging: token)
        }
    }

    func client(of token: UInt64) -> WorkClient? { client }

    func move(_ subscriber: Subscriber, to loop: Int, _ opening: ReplicaOpening) -> ReaderMove {
        .refused
    }
}
