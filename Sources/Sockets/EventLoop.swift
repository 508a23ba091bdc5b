// One serial Dispatch queue, one poller, one handler, and the connections that belong to them.
//
// The loop runs in rounds. The poller, the inbox or the timer starts a round; it reads the events,
// calls the handler, and lets it flush once at the end (`roundEnded`). So load forms batches by
// itself, and an idle loop responds at once. All code of a loop runs on its queue; other threads
// use the inbox.
package import Dispatch

/// An actor that owns connections and the handler that serves them.
///
/// It lives until `stop()`: its sources retain it.
package actor EventLoop<Handler: LoopHandler> {
    /// After this many bytes a connection waits, so that it cannot starve others.
    static var readBoundBytes: Int { 256 << 10 }

    private let executor: LoopExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// The queue of all code of this loop: a target for further sources, never for `sync`.
    package nonisolated var queue: DispatchQueue { executor.queue }

    nonisolated let inbox = LoopInbox<Handler>()
    nonisolated let load = LoopLoad()
    private nonisolated let alarm: LoopAlarm?
    /// The beginning of the present pass, for other threads.
    package nonisolated let passes = PassClock()

    let table: ConnectionTable
    let readBuffer: ReadBuffer
    /// Nil before the loop has started and after it has stopped.
    var handler: Handler?

    /// Whether the handler was called since the last `roundEnded`.
    var isRoundOpen = false
    var isRoundScheduled = false
    /// Scratch memory of a round, reused for its capacity.
    var events: [PollEvent] = []
    var items: [LoopInbox<Handler>.Item] = []

    var timer: (any DispatchSourceTimer)?
    /// The time at which the timer fires next; nil if nothing is due.
    var armed: LoopInstant?

    private enum Life {
        case running
        case stopped
    }
    private var life = Life.running
    private let ending = DispatchGroup()

    /// The number of connections that the loop holds or is about to get; from any thread.
    package nonisolated var connections: Int { load.connections }

    /// The number of jobs that wait in the inbox; from any thread.
    package nonisolated var waitingJobs: Int { inbox.count }

    /// Makes a loop that runs at once.
    ///
    /// - Parameters:
    ///   - readBufferBytes: The maximum size of one `received`; the loop has one buffer
    ///     of this size.
    ///   - makeHandler: Called once, on the loop, before any other code there.
    /// - Throws: If the system has no descriptor or memory for the poller.
    package init(
        label: String, poller: PollerKind = .platformDefault, readBufferBytes: Int = 65_536,
        makeHandler: @escaping @Sendable (EventLoop<Handler>, ConnectionTable) -> Handler
    ) throws(SystemFailure) {
        precondition(readBufferBytes > 0, "a loop reads into a buffer")
        let poller = try Self.makePoller(poller)
        self.alarm = poller.alarm
        self.executor = LoopExecutor(label: label)
        self.readBuffer = ReadBuffer(byteCount: readBufferBytes)
        self.table = ConnectionTable(
            poller: poller, load: load,
            aheadBytes: min(ReceivedAhead.sliceBytes, readBufferBytes))
        executor.queue.async {
            self.assumeIsolated { $0.start(makeHandler) }
        }
    }

    private static func makePoller(_ kind: PollerKind) throws(SystemFailure) -> any Poller {
        switch kind {
        #if os(Linux)
            case .epoll: try EpollPoller()
        #endif
        case .dispatch: DispatchPoller()
        }
    }

    /// Runs `job` on the loop in a later pass, in order; jobs that accumulate run in one batch,
    /// then `roundEnded`. From any thread, including the loop's own callbacks.
    ///
    /// The inbox has no bound and drops nothing: the posting code must have one.
    /// - Returns: False if the loop has stopped; the job will not run.
    @discardableResult
    package nonisolated func enqueue(_ job: @escaping @Sendable (Handler) -> Void) -> Bool {
        post(.job(job))
    }

    /// Takes over a connection, from any thread. `then` is called in place of `opened`, before any
    /// event of the connection; bytes that arrived meanwhile are delivered after it, in order.
    /// Returns false if the loop has stopped; the connection is closed and `then` not called.
    @discardableResult
    package nonisolated func adopt(
        _ socket: consuming DetachedSocket,
        then: @escaping @Sendable (Handler, ConnectionID) -> Void
    ) -> Bool {
        let (peerHasFinished, unread) = (socket.peerHasFinished, socket.unread)
        let descriptor = socket.release()
        load.add(1)
        let item = LoopInbox<Handler>.Item.adopted(
            descriptor: descriptor, peerHasFinished: peerHasFinished, unread: unread, then: then)
        guard post(item) else {
            load.subtract(1)
            SocketCalls.close(descriptor)
            return false
        }
        return true
    }

    /// Takes over a batch of connections that a listener accepted.
    nonisolated func receive(_ accepted: [LoopInbox<Handler>.Accepted]) {
        load.add(accepted.count)
        guard post(.accepted(accepted)) else {
            load.subtract(accepted.count)
            for socket in accepted { SocketCalls.close(socket.descriptor) }
            return
        }
    }

    private nonisolated func post(_ item: LoopInbox<Handler>.Item) -> Bool {
        switch inbox.post(item) {
        case nil: return false
        case .comes?: break
        case .asleep?: queue.async { self.assumeIsolated { $0.round() } }
        case .waits?: alarm?.ring()
        }
        return true
    }

    /// Runs the waiting jobs, closes every connection without a callback, releases the handler and
    /// all descriptors. Returns when this is done; a second call waits for the same end.
    package func stop() async {
        if life == .running { shutDown() }
        await withCheckedContinuation { continuation in
            ending.notify(queue: queue) { continuation.resume() }
        }
    }

    private func start(_ makeHandler: @Sendable (EventLoop<Handler>, ConnectionTable) -> Handler) {
        guard life == .running else { return }
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { self.assumeIsolated { $0.timerFired() } }
        timer.activate()
        self.timer = timer
        table.poller.start(on: queue) { event in
            self.assumeIsolated { $0.pollerFired(event) }
        }
        table.requestRound = { [unowned self] in self.assumeIsolated { $0.scheduleRound() } }
        handler = makeHandler(self, table)
    }

    private func shutDown() {
        inbox.close()
        round()
        life = .stopped
        handler = nil
        table.closeAll()
        table.poller.stop(ending)
        if let timer {
            ending.enter()
            timer.setCancelHandler { [ending] in ending.leave() }
            timer.cancel()
        }
        timer = nil
    }
}
