internal import Storage

/// The replicas of a loop: those of its sessions' streams on other loops, and those of other loops'
/// streams here.
///
/// Design (ADR-0077): events are framed on the loop of the session. If a stream has many
/// subscribers, some of its readers are moved to other loops, with their connections. Such a loop
/// has a replica of the stream. One subscriber of the stream (``RemoteReader``) sends it the
/// framed bytes once a round, and the loop writes them to its readers. A reader moves only while
/// it has everything, so it continues with the next byte. It stays there: if it is slower than
/// the replica's bytes are kept, another subscriber sends what it lacks, until it continues with
/// the replica.
///
/// Bounds: ``unreceivedLimit`` bytes on the way to a loop; ``keptLimit`` bytes in a replica; one
/// run on the way to a reader that lags; ``movesAtOnce`` readers of a stream in each round.
package final class StreamReplicas {
    /// Sends messages to a loop, in order.
    package typealias Send = (_ messages: [ReplicaMessage], _ loop: Int) -> Void

    private struct LagKey: Hashable {
        let loop: Int
        let token: UInt64
    }

    /// The bytes that may be on the way to one loop. The bytes of one round may exceed this limit.
    /// If there are more, the replicas there wait, as a slow connection does.
    static let unreceivedLimit = 4 << 20
    /// The bytes of a replica that wait for slow readers, unless a stream may keep fewer.
    static let keptLimit = 256 << 10
    private static let movesAtOnce = 64
    private static let reportedBytes = 256 << 10

    private var home = (loop: 0, loops: 1)
    /// From this number of subscribers of a stream on, some of them are moved.
    private var threshold = Int.max
    /// This loop may have this number of readers more than another one.
    private var tolerance = 1
    private var outbox: [Int: [ReplicaMessage]] = [:]

    // Of sessions of this loop.
    private var byNumber: [UInt64: RemoteReader] = [:]
    private var lagging: [LagKey: RemoteReader] = [:]
    private var last: UInt64 = 0
    private var changed: [RemoteReader] = []
    /// Replicas that wait until their loop has received bytes.
    private var blocked: [RemoteReader] = []
    /// The run of this round that was made last: the replicas of a stream share it.
    private var lastRun: (stream: SharedStream, offset: Int, run: FramedRun)?
    private var crowded: [(stream: SharedStream, feed: Feed)] = []
    /// The bytes that were sent to each loop, and that the loop has not reported as received.
    private var unreceived: [Int: Int] = [:]

    // Of sessions of other loops.
    /// The replicas with readers here. Invariant: a replica is removed with its last reader,
    /// however it ended.
    private var joined: [ReplicaKey: StreamReplica] = [:]
    /// The readers that lack events, by the tokens of their connections.
    private var fetching: [UInt64: Subscriber] = [:]
    /// Those that have got a run, and have not accepted it.
    private var accepting: Set<UInt64> = []
    /// The readers that have left, and are not reported yet.
    private var departed: [ReplicaKey: DepartedReaders] = [:]
    /// The bytes that have arrived from each loop, and are not reported yet.
    private var received: [Int: Int] = [:]

    /// How often a reader here has lacked what its replica has dropped.
    package private(set) var lagged: UInt64 = 0

    /// Without a call no reader is moved.
    ///
    /// - Parameters:
    ///   - loop: this one.
    ///   - loops: the number of loops with sessions.
    ///   - threshold: from this number of subscribers of a stream on, some are moved.
    ///   - tolerance: this loop may have this number of readers more than another one; 0: all are
    ///     moved.
    package func begin(on loop: Int, of loops: Int, threshold: Int, tolerance: Int = 1) {
        home = (loop, loops)
        self.tolerance = tolerance
        self.threshold = loops > 1 ? threshold : .max
    }

    /// The readers here of other loops' sessions.
    package var count: Int { joined.values.reduce(0) { $0 + $1.stream.subscribers.count } }

    func removeAll() {
        (outbox, byNumber, lagging, joined, fetching) = ([:], [:], [:], [:], [:])
        (changed, blocked, crowded, lastRun) = ([], [], [], nil)
        (departed, received, unreceived, accepting) = ([:], [:], [:], [])
        threshold = .max
    }

    func post(_ message: ReplicaMessage, to loop: Int) { outbox[loop, default: []].append(message) }

    // MARK: The loop of the session

    /// A stream has one more subscriber or new events, or this loop decides on its session from now
    /// on. Some of its readers may be moved.
    func examine(_ stream: SharedStream, of feed: Feed) {
        guard stream.readerCount >= threshold, feed.maySpread,
            !crowded.contains(where: { $0.stream === stream })
        else { return }
        crowded.append((stream, feed))
    }

    /// A reader on another loop has something to send, or may join its replica.
    func changed(_ remote: RemoteReader) {
        guard !remote.isChanged else { return }
        remote.isChanged = true
        changed.append(remote)
    }

    /// All bytes of a stream from `offset` on.
    func run(of stream: SharedStream, from offset: Int) -> FramedRun {
        if let lastRun, lastRun.stream === stream, lastRun.offset == offset,
            offset + lastRun.run.bytes.count == stream.end
        {
            return lastRun.run
        }
        let run = stream.chargedRun(from: offset)
        lastRun = (stream, offset, run)
        return run
    }

    /// Sends a run to a replica, if few enough bytes are on the way to its loop.
    func send(_ run: FramedRun, to remote: RemoteReader, _ number: UInt64) -> Bool {
        let unreceived = unreceived[remote.loop] ?? 0
        // Fewer bytes may have arrived without a report.
        guard
            unreceived < Self.reportedBytes
                || unreceived + run.bytes.count <= Self.unreceivedLimit
        else {
            blocked.append(remote)
            return false
        }
        self.unreceived[remote.loop] = unreceived + run.bytes.count
        post(.run(number, run, edition: remote.edition), to: remote.loop)
        return true
    }

    private func resumeBlocked(on loop: Int) {
        let remotes = blocked.filter { $0.loop == loop }
        guard !remotes.isEmpty else { return }
        blocked.removeAll { $0.loop == loop }
        for remote in remotes { remote.subscriber?.resume() }
    }

    private func remove(_ departed: DepartedReaders, of number: UInt64) {
        guard let replica = byNumber[number] else { return }
        replica.readers -= departed.count
        replica.watching -= departed.parts.count { $0.getsEvents }
        replica.subscriber?.feed?.presence?.left(departed)
        if replica.readers <= 0 { remove(replica, number) }
    }

    /// Sends the presence of a session to a stream's readers on other loops.
    func show(_ event: PresenceEvent, on stream: SharedStream) {
        for replica in stream.replicas where replica.watching > 0 {
            guard case .replica(let number) = replica.kind else { continue }
            post(.presence(number, event), to: replica.loop)
        }
    }

    private func remove(_ replica: RemoteReader, _ number: UInt64) {
        byNumber[number] = nil
        guard let subscriber = replica.release() else { return }
        subscriber.stream.remove(replica)
        subscriber.cancel()
    }

    /// Sends to a reader of a replica what it lacks.
    private func fetch(
        _ reader: LaggingReader, of number: UInt64, from loop: Int, in feeds: FeedLoop
    ) {
        guard let replica = byNumber[number], let present = replica.subscriber,
            !replica.isAbandoned, case let (stream, feed) = (present.stream, present.feed),
            feed != nil || stream.ending != nil
        else { return post(.finish(reader.token, isWhole: false), to: loop) }
        let state: Subscriber.State
        if let position = reader.position, reader.edition == replica.edition {
            feed?.extend(stream, forReader: position)
            state = .behind(after: position)
        } else {
            state = feed?.isVoid ?? false ? .stranded : .displaced
        }
        let remote = RemoteReader(
            .lagging(reader.token, of: replica), on: loop, for: reader.client, self)
        let subscriber = Subscriber(remote, feed: feed, stream: stream, state)
        remote.begin(subscriber)
        lagging[LagKey(loop: loop, token: reader.token)] = remote
        stream.add(subscriber)
        subscriber.advance()
        feed?.account(stream)
    }

    /// A reader that lags has ended, or has left.
    func remove(_ remote: RemoteReader, lagging token: UInt64) {
        lagging[LagKey(loop: remote.loop, token: token)] = nil
        remote.release()?.cancel()
    }

    /// Whether nothing is to be sent, and no reader to be moved.
    package var isAtRest: Bool {
        changed.isEmpty && outbox.isEmpty && departed.isEmpty && crowded.isEmpty
    }

    // MARK: Moving readers

    /// Sends everything of this round, and then moves readers.
    ///
    /// - Parameter output: moves them.
    package func flush(to output: any ReaderOutput, _ send: Send) {
        guard !isAtRest else { return }
        sendChanged()
        lastRun = nil
        for (key, readers) in departed { post(.left(key.number, readers), to: key.loop) }
        departed = [:]
        if !outbox.isEmpty {
            for (loop, messages) in outbox { send(messages, loop) }
            outbox = [:]
        }
        guard !crowded.isEmpty else { return }
        let streams = crowded
        crowded = []
        for (stream, feed) in streams where spread(stream, of: feed, output) {
            crowded.append((stream, feed))
        }
    }

    private func sendChanged() {
        guard !changed.isEmpty else { return }
        let remotes = changed
        changed.removeAll(keepingCapacity: changed.count <= 256)
        for remote in remotes {
            remote.isChanged = false
            remote.endRound()
        }
        for remote in remotes where remote.mayJoin {
            guard case .lagging(let token, _) = remote.kind else { continue }
            post(.join(token), to: remote.loop)
            remove(remote, lagging: token)
        }
    }

    /// Moves readers of a stream to the loops with the fewest.
    ///
    /// Each call begins with a new reader, or where the last call has ended, so readers that cannot
    /// be moved do not hold up others.
    ///
    /// - Returns: whether more of them should be moved.
    private func spread(
        _ stream: SharedStream, of feed: Feed, _ output: any ReaderOutput
    ) -> Bool {
        guard feed.maySpread, feed.streams.of(stream.selection) === stream else { return false }
        var (attempts, moved) = (min(Self.movesAtOnce, stream.subscribers.count), 0)
        while attempts > 0 {
            guard let target = target(of: stream) else { return false }
            attempts -= 1
            if move(stream.nextToMove(), of: feed, to: target, output) { moved += 1 }
        }
        return moved > 0
    }

    /// The loop with the fewest readers of the stream; nil if this loop has hardly more.
    private func target(of stream: SharedStream) -> Int? {
        var target: (loop: Int, readers: Int)?
        for loop in 0..<home.loops where loop != home.loop {
            guard unreceived[loop] ?? 0 <= Self.unreceivedLimit / 2 else { continue }
            let readers = stream.replica(on: loop)?.readers ?? 0
            if readers < target?.readers ?? .max { target = (loop, readers) }
        }
        guard let target, target.readers + tolerance < stream.localCount else { return nil }
        return target.loop
    }

    private func move(
        _ subscriber: Subscriber, of feed: Feed, to loop: Int, _ output: any ReaderOutput
    ) -> Bool {
        guard !ReaderToken.isRelay(subscriber.id) else { return false }
        if subscriber.isPending { subscriber.deliverPending() }
        // The replica may already have that event, too early for this reader.
        guard subscriber.isAtRest, !(subscriber.presence?.lacksEvent ?? false) else { return false }
        let stream = subscriber.stream
        let replica =
            stream.replica(on: loop) ?? begin(stream, of: feed, on: loop)
        guard case .replica(let number) = replica.kind else { return false }
        defer { if replica.readers == 0 { remove(replica, number) } }
        guard let other = replica.subscriber, other.isAtRest, !other.isPending else { return false }
        let opening = ReplicaOpening(
            key: ReplicaKey(loop: home.loop, number: number), selection: stream.selection,
            position: stream.framedThrough, edition: replica.edition,
            presence: subscriber.presence?.part)
        switch output.move(subscriber, to: loop, opening) {
        case .moved:
            replica.readers += 1
            if opening.presence?.getsEvents ?? false { replica.watching += 1 }
        case .lost: break
        case .refused: return false
        }
        subscriber.moveAway()
        return true
    }

    /// Begins a replica. It is charged to no client, because it reads for many: a client that has
    /// used up its share must not end the streams of the others.
    private func begin(
        _ stream: SharedStream, of feed: Feed, on loop: Int
    ) -> RemoteReader {
        last += 1
        let replica = RemoteReader(.replica(last), on: loop, for: nil, self)
        let subscriber = Subscriber(replica, feed: feed, stream: stream)
        replica.begin(subscriber)
        byNumber[last] = replica
        stream.add(replica)
        stream.add(subscriber)
        return replica
    }

    // MARK: The loop of the readers

    /// Continues a reader that was moved here, with the next event.
    ///
    /// - Parameter token: of its connection on this loop.
    package func adopt(
        _ opening: ReplicaOpening, as token: UInt64, in feeds: FeedLoop
    ) -> Subscriber {
        let replica = joined[opening.key] ?? StreamReplica(opening, feeds.subscribers, self)
        joined[opening.key] = replica
        let subscriber = Subscriber(
            id: token, replica: replica, output: feeds.output, opening.presence)
        replica.stream.add(subscriber)
        if let reader = subscriber.presence { replica.presence.add(subscriber, reader) }
        return subscriber
    }

    /// A reader of a replica has left.
    func left(_ subscriber: Subscriber, _ replica: StreamReplica) {
        let (key, token) = (replica.opening.key, subscriber.id)
        if fetching.removeValue(forKey: token) != nil { post(.cancel(token), to: key.loop) }
        accepting.remove(token)
        departed[key, default: DepartedReaders()].add(subscriber)
        guard replica.stream.isUnused, joined[key] === replica else { return }
        joined[key] = nil
    }

    /// A reader of a replica lacks events.
    func fetch(for subscriber: Subscriber, of key: ReplicaKey, _ reader: LaggingReader) {
        lagged += 1
        fetching[reader.token] = subscriber
        post(.fetch(key.number, reader), to: key.loop)
    }

    /// A reader that lacks events has accepted all that have arrived.
    func accepted(_ token: UInt64, of key: ReplicaKey) {
        if accepting.remove(token) != nil { post(.more(token), to: key.loop) }
    }

    private func takeFetching(_ token: UInt64) -> Subscriber? {
        accepting.remove(token)
        return fetching.removeValue(forKey: token)
    }

    // MARK: Messages

    /// Executes messages of a loop, in order.
    package func receive(_ messages: [ReplicaMessage], from loop: Int, in feeds: FeedLoop) {
        for message in messages {
            switch message {
            case .run(let number, let run, let edition):
                received[loop, default: 0] += run.bytes.count
                if let replica = replica(number, of: loop) { append(run, edition, replica, feeds) }
            case .end(let number, let isWhole):
                replica(number, of: loop)?.end(isWhole: isWhole)
            case .missed(let token, let run):
                guard let subscriber = fetching[token] else { continue }
                accepting.insert(token)
                subscriber.receive(run)
            case .join(let token): takeFetching(token)?.joinReplica()
            case .finish(let token, isWhole: true): takeFetching(token)?.finishFetching()
            case .finish(let token, isWhole: false): takeFetching(token)?.abandon()
            case .refuse(let token): takeFetching(token)?.refuse()
            case .fetch(let number, let reader): fetch(reader, of: number, from: loop, in: feeds)
            case .more(let token): lagging[LagKey(loop: loop, token: token)]?.proceed()
            case .cancel(let token):
                guard let remote = lagging[LagKey(loop: loop, token: token)] else { continue }
                remove(remote, lagging: token)
            case .presence(let number, let event):
                replica(number, of: loop)?.presence.show(event, feeds.presence)
            case .left(let number, let departed): remove(departed, of: number)
            case .received(let bytes):
                unreceived[loop] = max(0, (unreceived[loop] ?? 0) - bytes)
                resumeBlocked(on: loop)
            }
        }
        guard let bytes = received[loop], bytes >= Self.reportedBytes else { return }
        received[loop] = 0
        post(.received(bytes: bytes), to: loop)
    }

    private func append(
        _ run: FramedRun, _ edition: UInt64, _ replica: StreamReplica, _ feeds: FeedLoop
    ) {
        let stream = replica.stream
        replica.append(run, edition: edition)
        feeds.deliver(stream)
        guard run.mayBeKept else { return stream.dropAll() }
        let limit = min(Self.keptLimit, feeds.limits.retention.bytes)
        stream.trim(keptAfter: stream.coveredAfter, limit: limit)
    }

    private func replica(_ number: UInt64, of loop: Int) -> StreamReplica? {
        joined[ReplicaKey(loop: loop, number: number)]
    }
}
