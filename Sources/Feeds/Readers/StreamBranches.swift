internal import Storage

/// The branches of a loop: those of its sessions' streams on other loops, and those of other loops'
/// streams here.
///
/// Design (ADR-0059): events are framed on the loop of the session. If a stream has many
/// subscribers, some of its readers are moved to other loops, with their connections. Such a loop
/// gets the framed bytes once a round, and writes them to its readers. A reader moves only while it
/// has everything, so it continues with the next byte. If it misses bytes, or the stream has a gap,
/// it moves back to the loop of the session. It continues there like a subscriber that has stayed
/// and is behind.
///
/// Bounds: ``unreceivedLimit`` bytes on the way to a loop; ``keptLimit`` bytes in a branch;
/// ``movesAtOnce`` readers of a stream in each round.
package final class StreamBranches {
    /// Sends messages to a loop, in order.
    package typealias Send = (_ messages: [BranchMessage], _ loop: Int) -> Void

    /// The bytes that may be on the way to one loop. The bytes of one round may exceed this limit.
    /// If there are more, the readers there move back.
    static let unreceivedLimit = 4 << 20
    /// The bytes of a branch that wait for slow readers, unless a stream may keep fewer. Readers
    /// that lack more bytes move back.
    static let keptLimit = 256 << 10
    private static let movesAtOnce = 64
    private static let reportedBytes = 256 << 10

    private var home = (loop: 0, loops: 1)
    /// From this number of subscribers of a stream on, some of them are moved.
    private var threshold = Int.max
    /// This loop may have this number of readers more than another one.
    private var tolerance = 1
    private var outbox: [Int: [BranchMessage]] = [:]

    // Of sessions of this loop.
    private var byNumber: [UInt64: StreamBranch] = [:]
    private var last: UInt64 = 0
    private var changed: [SharedStream] = []
    private var crowded: [(stream: SharedStream, feed: Feed)] = []
    /// The bytes that were sent to each loop, and that the loop has not reported as received.
    private var unreceived: [Int: Int] = [:]

    // Of sessions of other loops.
    /// The branches with readers here. Invariant: a branch is removed with its last reader, however
    /// it ended.
    private var joined: [BranchKey: BranchStream] = [:]
    /// The readers that have left, and are not reported yet.
    private var departed: [BranchKey: Int] = [:]
    /// The bytes that have arrived from each loop, and are not reported yet.
    private var received: [Int: Int] = [:]

    /// The readers that have moved back to sessions of this loop.
    package private(set) var returned: UInt64 = 0

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
        (outbox, byNumber, changed, crowded, joined) = ([:], [:], [], [], [:])
        (departed, received, unreceived) = ([:], [:], [:])
        threshold = .max
    }

    // MARK: The loop of the session

    /// A stream has one more subscriber or new events, or this loop decides on its session from now
    /// on. Some of its readers may be moved.
    func examine(_ stream: SharedStream, of feed: Feed) {
        guard stream.readerCount >= threshold, feed.maySpread(stream),
            !crowded.contains(where: { $0.stream === stream })
        else { return }
        crowded.append((stream, feed))
    }

    /// A stream with branches has new bytes.
    func changed(_ stream: SharedStream) {
        guard !stream.isChanged else { return }
        stream.isChanged = true
        changed.append(stream)
    }

    /// Sends the bytes that the branches of a stream do not have, with the end of the round.
    func collect(_ stream: SharedStream) {
        let run = stream.takeRun()
        for branch in stream.branches where branch.isOpen {
            let unreceived = unreceived[branch.loop] ?? 0
            // Fewer bytes may have arrived without a report.
            guard
                unreceived < Self.reportedBytes
                    || unreceived + run.bytes.count <= Self.unreceivedLimit
            else {
                close(branch, through: run.after, isAbandoned: false)
                continue
            }
            self.unreceived[branch.loop] = unreceived + run.bytes.count
            outbox[branch.loop, default: []].append(.events(branch.number, run))
        }
    }

    /// The session has ended, and the branches have all events before its end.
    func end(_ stream: SharedStream, with framed: [UInt8], _ position: Position) {
        for branch in stream.branches where branch.isOpen {
            branch.isOpen = false
            outbox[branch.loop, default: []].append(.end(branch.number, framed, position))
        }
    }

    /// Closes the branches of a stream.
    ///
    /// - Parameter isAbandoned: whether their readers are disconnected, including those that have
    ///   not moved back because their connections accept no bytes.
    func close(_ stream: SharedStream, through position: HistoryPosition, isAbandoned: Bool) {
        for branch in stream.branches where branch.isOpen || isAbandoned {
            close(branch, through: position, isAbandoned: isAbandoned)
        }
    }

    private func close(
        _ branch: StreamBranch, through position: HistoryPosition, isAbandoned: Bool
    ) {
        branch.isOpen = false
        outbox[branch.loop, default: []].append(
            .close(branch.number, through: position, isAbandoned: isAbandoned))
    }

    private func remove(_ readers: Int, of number: UInt64) {
        guard let branch = byNumber[number] else { return }
        branch.readers -= readers
        if branch.readers <= 0 { remove(branch) }
    }

    private func remove(_ branch: StreamBranch) {
        byNumber[branch.number] = nil
        branch.stream.remove(branch)
        if branch.stream.isUnused { branch.feed?.removeStream(branch.stream) }
    }

    private var isAtRest: Bool {
        changed.isEmpty && outbox.isEmpty && departed.isEmpty && crowded.isEmpty
    }

    // MARK: Moving readers

    /// Sends everything of this round, and then moves readers.
    ///
    /// - Parameter output: moves them.
    package func flush(to output: any ReaderOutput, _ send: Send) {
        guard !isAtRest else { return }
        for stream in changed {
            stream.isChanged = false
            stream.passOn()
        }
        changed.removeAll(keepingCapacity: changed.count <= 256)
        for (key, readers) in departed {
            outbox[key.loop, default: []].append(.left(key.number, readers: readers))
        }
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

    /// Moves readers of a stream to the loops with the fewest.
    ///
    /// Each call begins with a new reader, or where the last call has ended, so readers that cannot
    /// be moved do not hold up others.
    ///
    /// - Returns: whether more of them should be moved.
    private func spread(
        _ stream: SharedStream, of feed: Feed, _ output: any ReaderOutput
    ) -> Bool {
        guard feed.maySpread(stream), feed.streams.of(stream.selection) === stream else {
            return false
        }
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
            let readers = stream.branches.first { $0.loop == loop && $0.isOpen }?.readers ?? 0
            if readers < target?.readers ?? .max { target = (loop, readers) }
        }
        guard let target, target.readers + tolerance < stream.subscribers.count else { return nil }
        return target.loop
    }

    private func move(
        _ subscriber: Subscriber, of feed: Feed, to loop: Int, _ output: any ReaderOutput
    ) -> Bool {
        guard !ReaderToken.isRelay(subscriber.id) else { return false }
        if subscriber.isPending { subscriber.deliverPending() }
        guard subscriber.isAtRest else { return false }
        let stream = subscriber.stream
        let branch =
            stream.branches.first { $0.loop == loop && $0.isOpen }
            ?? begin(stream, of: feed, on: loop)
        defer { if branch.readers == 0 { remove(branch) } }
        let opening = BranchOpening(
            key: BranchKey(loop: home.loop, number: branch.number),
            selection: stream.selection, position: stream.framedThrough)
        switch output.move(subscriber, to: loop, opening) {
        case .moved: branch.readers += 1
        case .lost: break
        case .refused: return false
        }
        subscriber.moveAway()
        return true
    }

    private func begin(
        _ stream: SharedStream, of feed: Feed, on loop: Int
    ) -> StreamBranch {
        last += 1
        let branch = StreamBranch(last, on: loop, of: stream, feed, self)
        byNumber[last] = branch
        stream.add(branch)
        return branch
    }

    /// Continues the stream of a reader that has moved back from another loop.
    ///
    /// - Parameter begin: called once, with the subscriber, which then writes. With nil, the caller
    ///   closes the connection, and the client connects again.
    package func continueStream(
        _ reader: ReturningReader, as token: UInt64, in feeds: FeedLoop,
        _ begin: (Subscriber?) -> Void
    ) {
        let subscriber = takeBack(reader, as: token, in: feeds)
        begin(subscriber)
        subscriber?.advance()
        if let subscriber { subscriber.feed?.account(subscriber.stream) }
    }

    /// Makes a reader that has moved back one of its stream's subscribers. The reader is counted
    /// exactly once at any time.
    ///
    /// Why the branch is still known: it is kept until its last reader has moved back or left, and
    /// this one has done neither until now.
    ///
    /// - Returns: nil if its connection is to be closed.
    private func takeBack(
        _ reader: ReturningReader, as token: UInt64, in feeds: FeedLoop
    ) -> Subscriber? {
        returned += 1
        guard let branch = byNumber[reader.key.number] else { return nil }
        defer { remove(1, of: branch.number) }
        let (stream, feed) = (branch.stream, branch.feed)
        guard feed != nil || stream.ending != nil else { return nil }
        let state: Subscriber.State
        switch branch.closing {
        case .abandoned?: return nil
        case .void?: state = feed?.isVoid ?? false ? .stranded : .displaced
        case .trimmed?: state = .behind(after: nil)
        case nil:
            feed?.extend(stream, forReader: reader.position)
            state = .behind(after: reader.position)
        }
        let subscriber = Subscriber(
            id: token, feed: feed, stream: stream, state, output: feeds.output)
        stream.add(subscriber)
        if let feed { examine(stream, of: feed) }
        return subscriber
    }

    // MARK: The loop of the readers

    /// Continues a reader that was moved here, with the next event.
    ///
    /// - Parameter token: of its connection on this loop.
    package func adopt(
        _ opening: BranchOpening, as token: UInt64, in feeds: FeedLoop
    ) -> Subscriber {
        let branch = joined[opening.key] ?? BranchStream(opening, feeds.subscribers, self)
        joined[opening.key] = branch
        let subscriber = Subscriber(id: token, branch: branch, output: feeds.output)
        branch.stream.add(subscriber)
        return subscriber
    }

    /// A reader of the branch has left.
    func left(_ branch: BranchStream) {
        departed[branch.opening.key, default: 0] += 1
        removed(from: branch)
    }

    /// The branch has one reader fewer.
    func removed(from branch: BranchStream) {
        guard branch.stream.isUnused, joined[branch.opening.key] === branch else { return }
        joined[branch.opening.key] = nil
    }

    /// Executes messages of a loop, in order.
    package func receive(_ messages: [BranchMessage], from loop: Int, in feeds: FeedLoop) {
        for message in messages {
            switch message {
            case .events(let number, let run):
                received[loop, default: 0] += run.bytes.count
                if let stream = stream(number, of: loop) { append(run, to: stream, in: feeds) }
            case .end(let number, let framed, let position):
                stream(number, of: loop)?.end(with: framed, position)
            case .close(let number, through: let position, isAbandoned: false):
                stream(number, of: loop)?.close(through: position)
            case .close(let number, through: _, isAbandoned: true):
                stream(number, of: loop)?.abandonAll()
            case .left(let number, readers: let readers): remove(readers, of: number)
            case .received(bytes: let bytes):
                unreceived[loop] = max(0, (unreceived[loop] ?? 0) - bytes)
            }
        }
        guard let bytes = received[loop], bytes >= Self.reportedBytes else { return }
        received[loop] = 0
        outbox[loop, default: []].append(.received(bytes: bytes))
    }

    private func append(_ run: FramedRun, to stream: SharedStream, in feeds: FeedLoop) {
        stream.append(run)
        feeds.deliver(stream)
        guard run.mayBeKept else { return stream.dropAll() }
        let limit = min(Self.keptLimit, feeds.limits.retention.bytes)
        stream.trim(keptAfter: stream.coveredAfter, limit: limit)
    }

    private func stream(_ number: UInt64, of loop: Int) -> SharedStream? {
        joined[BranchKey(loop: loop, number: number)]?.stream
    }
}
