internal import DequeModule
package import Feeds
internal import Storage

/// A stream of several sessions, on the loop of its connection.
///
/// Design: each session sends its own stream through a relay (``StreamRelay``), perhaps from
/// another loop. This object writes one whole block after the other, and rewrites their names and
/// ids (``JointIDs``). The bytes of a session that are on the way or wait here are bounded by its
/// window: it gets credit for them when they are written, so a connection that accepts nothing
/// stops the sessions' subscribers. The windows are equal parts of one bound, and sessions have
/// their turns one after the other, so that one with many events cannot starve another.
///
/// Invariant: the vector of a block is that of the block before with one entry moved forward.
package final class JointStream {
    /// A client's request.
    package struct Request {
        package let sessions: [SessionID]
        /// Nil: the client's text is not a vector of these sessions. Each gets a `reset`.
        package let vector: StreamVector?
        /// For a session that has no position in the vector.
        package let start: SubscriptionRequest.Start
        package let idsAreOwn: Bool
        /// The pulses that the request names: one of the sessions' reactors must have each.
        package let pulses: [String]
        /// The sessions that the client may not read, whether they exist or not.
        package let forbidden: Set<SessionID>
        /// For its share of the ``WorkBudget``; nil: it has none.
        package let client: WorkClient?
        package let choose: RelayChoice.Chooser

        package init(
            sessions: [SessionID], vector: StreamVector?, start: SubscriptionRequest.Start,
            idsAreOwn: Bool = false, pulses: [String] = [], forbidden: Set<SessionID> = [],
            client: WorkClient? = nil, choose: @escaping RelayChoice.Chooser
        ) {
            self.sessions = sessions
            self.vector = vector
            self.start = start
            self.idsAreOwn = idsAreOwn
            self.pulses = pulses
            self.forbidden = forbidden
            self.client = client
            self.choose = choose
        }
    }

    /// The bytes of all sessions that may be on the way or wait for the connection.
    static let bytesLimit = 256 << 10
    /// The same for one session.
    static let windowLimit = 64 << 10
    /// The bytes that are written at once.
    private static let writeBytes = 64 << 10

    private let request: Request
    private let number: UInt64
    private let home: (loop: Int, loops: Int)
    private unowned let output: any JointStreamOutput
    private let work: WorkBudget
    /// The charge of ``heldBytes`` while the connection does not accept them; nil if they are few.
    private var charge: WorkCharge?
    private let windowBytes: Int
    private var ids: JointIDs
    private var feeds: [JointFeed] = []
    /// The sessions with bytes or an end to write, in the order of their turns.
    private var ready: Deque<Int> = []
    /// The session whose block is written in part. No other one is written until it is complete.
    private var current: Int?
    /// The bytes that the connection did not accept.
    private var unsent: ArraySlice<UInt8> = []
    /// Whether the connection sends other bytes first.
    private var isHeld = false
    private var life = Life.opening(missing: [])
    private var requests: [Int: [RelayRequest]] = [:]
    /// The sessions that have written since they last got credit, some of them repeatedly.
    private var written: [Int] = []
    /// The number of sessions whose `end` is not sent.
    private var openCount = 0

    private enum Life {
        /// It is not known yet whether the sessions' reactors have these pulses.
        case opening(missing: [String])
        case open
        case ended
    }

    /// - Parameters:
    ///   - number: unique on the loop.
    ///   - loop: the loop of the connection.
    ///   - loops: the number of loops with sessions.
    package init(
        _ request: Request, number: UInt64, loop: Int, loops: Int, output: any JointStreamOutput,
        work: WorkBudget
    ) {
        let count = request.sessions.count
        self.request = request
        self.number = number
        home = (loop, loops)
        self.output = output
        self.work = work
        windowBytes = min(Self.windowLimit, Self.bytesLimit / count)
        ids = JointIDs(
            request.sessions, request.vector ?? StreamVector(lostOf: count),
            areOwn: request.idsAreOwn)
    }

    /// Subscribes to the sessions. ``JointStreamOutput/begin()`` is called at once, or when it is
    /// known that a reactor has the pulses that the request names.
    package func open() {
        feeds = request.sessions.indices.map { index in
            JointFeed(isOver: ids.vector.isOver(at: index))
        }
        for index in feeds.indices where !feeds[index].isOver {
            openCount += 1
            guard request.forbidden.contains(request.sessions[index]) else {
                subscribe(index)
                continue
            }
            feeds[index].refuse(.forbidden)
            addToReady(index)
        }
        life = .opening(missing: request.pulses)
        sendRequests()
        beginIfDecided()
    }

    /// The connection has ended, or is about to.
    package func cancel() {
        guard !isEnded else { return }
        life = .ended
        for index in feeds.indices where feeds[index].isSubscribed {
            add(.close(key(index)), for: index)
        }
        sendRequests()
        (feeds, ready, unsent, charge) = ([], [], [], nil)
    }

    private var isEnded: Bool { if case .ended = life { true } else { false } }

    /// Whether the connection has not accepted all bytes.
    package var isBlocked: Bool { isHeld || !unsent.isEmpty }

    /// Whether everything that was written ends with a whole block, and was accepted.
    package var isBetweenEvents: Bool { current == nil && unsent.isEmpty }

    /// Bytes that are kept here.
    package var heldBytes: Int { feeds.reduce(unsent.count) { $0 + $1.pending.count } }

    package var vector: StreamVector { ids.vector }

    // MARK: Relays

    private func key(_ index: Int) -> RelayKey {
        RelayKey(
            loop: home.loop, stream: number, index: index, attempt: feeds[index].attempts)
    }

    private func add(_ message: RelayRequest, for index: Int) {
        requests[request.sessions[index].owner(of: home.loops), default: []].append(message)
    }

    private func sendRequests() {
        guard !requests.isEmpty else { return }
        let messages = requests
        requests = [:]
        for (loop, messages) in messages { output.send(messages, to: loop) }
    }

    private func subscribe(_ index: Int) {
        feeds[index].beginAttempt()
        var start = request.start
        if let position = ids.vector.position(at: index) {
            // A text that is no position: the reset has its reason.
            start = .after(position == StreamVector.lost ? "" : position)
        }
        add(
            .open(
                key(index),
                RelayOpening(
                    session: request.sessions[index], start: start, windowBytes: windowBytes,
                    client: request.client, choose: request.choose)),
            for: index)
    }

    /// Subscribes again to the sessions that could not be read. Called now and then, as a client
    /// would connect again.
    package func retry() {
        guard case .open = life else { return }
        for index in feeds.indices {
            if feeds[index].isWaiting {
                subscribe(index)
            } else {
                feeds[index].mayRetryAtOnce = true
            }
        }
        sendRequests()
    }

    /// Receives a report of one of the relays.
    package func receive(_ report: consuming RelayReport) {
        let index = report.key.index
        guard !isEnded, report.key == key(index), feeds[index].isSubscribed else { return }
        if let known = report.knownPulses { remove(known) }
        if case .problem(let problem)? = report.end { output.count(problem.code) }
        feeds[index].receive(&report)
        // Also without a whole block: the relay may have no credit for the rest.
        if !feeds[index].pending.isEmpty || feeds[index].hasWork(windowBytes: windowBytes) {
            addToReady(index)
        }
        beginIfDecided()
    }

    private func addToReady(_ index: Int) {
        guard !feeds[index].isReady, current != index else { return }
        feeds[index].isReady = true
        ready.append(index)
    }

    // MARK: The beginning

    private func remove(_ known: [String]) {
        guard case .opening(let missing) = life else { return }
        life = .opening(missing: missing.filter { known.firstIndex(exactly: $0) == nil })
    }

    /// Begins when each pulse is known, or when all sessions have reported. A pulse that none of
    /// them has is refused if a session was found, and all could be read.
    private func beginIfDecided() {
        guard case .opening(let missing) = life else { return }
        if let pulse = missing.first {
            guard feeds.allSatisfy(\.hasReported) else { return }
            let isKnown = feeds.contains { $0.wasFound } && !feeds.contains { $0.hasProblem }
            guard !isKnown else {
                cancel()
                return output.refuse(pulse)
            }
        }
        life = .open
        output.begin()
    }

    // MARK: Writing

    /// The connection sends other bytes first: nothing is written until ``resume()``.
    package func waitForRoom() { isHeld = true }

    /// Holds bytes of the connection's own that it did not accept.
    package func hold(_ bytes: ArraySlice<UInt8>) {
        if !bytes.isEmpty { unsent = bytes }
    }

    /// The connection accepts bytes again.
    package func resume() {
        isHeld = false
        if !unsent.isEmpty {
            let held = unsent
            unsent = held.dropFirst(output.write(held.span))
        }
        write()
    }

    /// Writes blocks until the connection accepts no more, or there are none.
    package func write() {
        writeBlocks()
        countHeld()
    }

    /// Counts the bytes that wait for the connection. If there is no room, the connection is
    /// closed, and the client continues at the previous event.
    private func countHeld() {
        guard isBlocked, !isEnded, case let held = heldBytes, held > WorkBudget.smallestBytes else {
            return charge = nil
        }
        if let charge, charge.resize(to: held) { return }
        if charge == nil { charge = work.charge(held, for: request.client) } else { charge = nil }
        if charge == nil { output.cut() }
    }

    private func writeBlocks() {
        guard case .open = life, !isHeld else { return }
        var out: [UInt8] = []
        while unsent.isEmpty {
            out.removeAll(keepingCapacity: true)
            guard fill(&out) else { return output.cut() }
            guard !out.isEmpty else { break }
            output.wrap(&out)
            let accepted = output.write(out.span)
            // The write may have ended the connection.
            guard !isEnded else { return }
            if accepted < out.count { unsent = out[accepted...] }
        }
        returnCredit()
        guard openCount == 0, unsent.isEmpty else { return }
        life = .ended
        output.end()
    }

    /// Appends blocks of the sessions in turn.
    ///
    /// - Returns: false if the rest of a block will never come.
    private func fill(_ out: inout [UInt8]) -> Bool {
        while out.count < Self.writeBytes {
            guard let index = current ?? ready.popFirst() else { return true }
            feeds[index].isReady = false
            feeds[index].write(of: index, &ids, to: &out, windowBytes: windowBytes)
            written.append(index)
            if feeds[index].isBetweenEvents {
                current = nil
                finishTurn(of: index)
            } else {
                current = index
                if feeds[index].isGivenUp { return false }
                // The rest of the block is on its way.
                if feeds[index].pending.isEmpty { return true }
            }
        }
        return true
    }

    private func finishTurn(of index: Int) {
        if ids.vector.isOver(at: index) {
            if !feeds[index].isOver { openCount -= 1 }
            feeds[index].finish()
        } else if feeds[index].isGivenUp {
            guard feeds[index].mayRetryAtOnce else { return feeds[index].wait() }
            feeds[index].mayRetryAtOnce = false
            subscribe(index)
        } else if feeds[index].hasWork(windowBytes: windowBytes) {
            addToReady(index)
        }
    }

    private func returnCredit() {
        for index in written where feeds[index].isSubscribed {
            guard let bytes = feeds[index].claimCredit(windowBytes: windowBytes) else { continue }
            add(.credit(key(index), bytes: bytes), for: index)
        }
        written.removeAll(keepingCapacity: written.count <= 256)
        sendRequests()
    }
}

/// The connection of a stream of several sessions: the layer above, on the loop of the stream.
package protocol JointStreamOutput: AnyObject {
    /// The response begins. Then the output calls ``JointStream/write()``, or
    /// ``JointStream/waitForRoom()`` if the connection does not accept bytes.
    func begin()

    /// The stream has ended before it began: no session's reactor has the pulse.
    func refuse(_ pulse: String)

    /// Frames bytes for the connection.
    func wrap(_ bytes: inout [UInt8])

    /// Writes to the connection, and returns the number of bytes that it accepted. If that is fewer
    /// than given, ``JointStream/resume()`` is called when there is room.
    func write(_ bytes: Span<UInt8>) -> Int

    /// Ends the response: every session is over.
    func end()

    /// Closes the connection in the middle of an event; the client continues at the previous event.
    func cut()

    /// Counts a problem of one session.
    func count(_ problem: String)

    /// Sends messages to the loop of sessions, in order.
    func send(_ requests: [RelayRequest], to loop: Int)
}
