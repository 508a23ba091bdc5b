// One serial Dispatch queue, one poller, one handler, and the connections that belong to them.
//
// Life goes in rounds. A round is begun by the poller, the inbox or the timer; it reads what has
// happened, calls the handler, and lets it flush once at the end (`roundEnded`). So load turns into
// batches by itself, and an idle loop responds at once. Everything of a loop happens on its queue;
// what comes from elsewhere comes through the inbox.
package import Dispatch

/// An actor that owns connections and the handler that serves them.
///
/// It lives until `stop()`: its sources hold it.
package actor EventLoop<Handler: LoopHandler> {
    /// A connection that has more than this to read goes to the back of the line, so that it
    /// starves nobody.
    static var readBoundBytes: Int { 256 << 10 }

    private let executor: LoopExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// The queue everything of this loop runs on: a target for further sources, never for `sync`.
    package nonisolated var queue: DispatchQueue { executor.queue }

    nonisolated let inbox = LoopInbox<Handler>()
    nonisolated let load = LoopLoad()

    let table: ConnectionTable
    let readBuffer: ReadBuffer
    /// nil before the loop has started and after it has stopped.
    var handler: Handler?

    /// The handler was called since the last `roundEnded`.
    var isRoundOpen = false
    /// A round is on the queue already.
    var isRoundScheduled = false
    /// Scratch memory of a round, kept for its capacity.
    var events: [PollEvent] = []
    var items: [LoopInbox<Handler>.Item] = []

    var timer: (any DispatchSourceTimer)?
    /// When the timer fires next; nil when nothing is to come.
    var armed: LoopInstant?

    private enum Life {
        case running
        case stopped
    }
    private var life = Life.running
    private let ending = DispatchGroup()

    /// How many connections the loop holds or is about to be given; from any thread.
    package nonisolated var connections: Int { load.connections }

    /// Makes a loop that runs at once.
    ///
    /// - Parameters:
    ///   - label: the queue's name, for debuggers.
    ///   - poller: by which means readiness is found out.
    ///   - readBufferBytes: the most that one `received` can bring; the loop has one buffer of this
    ///     size.
    ///   - makeHandler: called once, on the loop, before anything else happens there.
    /// - Throws: when the system has no descriptor or memory for the poller.
    package init(
        label: String, poller: PollerKind = .platformDefault, readBufferBytes: Int = 65_536,
        makeHandler: @escaping @Sendable (EventLoop<Handler>, ConnectionTable) -> Handler
    ) throws(SystemFailure) {
        precondition(readBufferBytes > 0, "a loop reads into a buffer")
        let poller = try Self.makePoller(poller)
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

    /// Runs `job` on the loop in a later pass, in the order of the calls; jobs that gather
    /// meanwhile run in one batch, then `roundEnded`. From any thread, the loop's own callbacks
    /// included.
    ///
    /// The inbox has no bound and drops nothing: the posting code must have one.
    /// - Returns: false when the loop has stopped; the job will not run.
    @discardableResult
    package nonisolated func enqueue(_ job: @escaping @Sendable (Handler) -> Void) -> Bool {
        post(.job(job))
    }

    /// Takes over a connection, from any thread. `then` is called instead of `opened`, before
    /// any event of the connection; what it has sent meanwhile comes after, in order.
    ///
    /// - Returns: false when the loop has stopped; the connection is closed and `then` not called.
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
        case .refused:
            return false
        case .taken:
            return true
        case .takenFirst:
            queue.async {
                self.assumeIsolated { loop in
                    loop.inbox.woken()
                    loop.round()
                }
            }
            return true
        }
    }

    /// Runs the jobs that are waiting, then closes every connection without a further callback,
    /// releases the handler and gives every descriptor back. Returns when all that is done; calling
    /// it again waits for the same end.
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
