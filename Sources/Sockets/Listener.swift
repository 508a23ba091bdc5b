import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Accepts connections at one address and spreads them over loops in turn.
///
/// Accepting happens on the first loop's queue, in an actor of its own: it shares only the thread.
/// Connections beyond the limit are accepted and reset: a client learns at once that it is refused,
/// and does not wait in a backlog that hides the overload; old ones are never evicted. Without a
/// free descriptor, waiting connections are reset likewise (with a reserved one), and accepting
/// pauses for a tenth of a second.
package actor Listener<Handler: LoopHandler> {
    /// The bound address, with the actual port if 0 was requested.
    package nonisolated let boundAddress: ListenAddress

    /// The most accepted at once; Dispatch calls again for the rest, after other work.
    private static var batchLimit: Int { 1_024 }
    /// The pause after a lack of descriptors. Precedent: nginx accept_mutex_delay 500 ms.
    private static var restMilliseconds: Int { 100 }

    private nonisolated let home: EventLoop<Handler>
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe home.unownedExecutor }

    private let socket: ListeningSocket
    private let loops: [EventLoop<Handler>]
    /// May change while connections are accepted; open ones are never closed for it.
    private nonisolated let maximumConnections: Atomic<Int>
    private let gate: ConnectionGate

    private let source: any DispatchSourceRead
    /// The index of the next loop.
    private var turn = 0
    /// Closed for the moment that it takes to refuse a connection when no descriptor is free.
    private var reserve: Int32
    /// Accepted connections that are not handed over yet, by loop.
    private var batches: [[LoopInbox<Handler>.Accepted]]

    private enum Life {
        case accepting
        /// The source is suspended until the pause is over.
        case resting
        case closed
    }
    private var life = Life.accepting
    private nonisolated let ending = DispatchGroup()

    /// Starts to listen at once.
    ///
    /// - Parameters:
    ///   - loops: serve the connections; at least one. They are retained, not stopped.
    ///   - backlog: connections completed in advance; the system may cap it (`net.core.somaxconn`).
    ///   - maximumConnections: the limit for all these loops together, from any listener.
    ///   - gate: the limit for each peer. The handler calls ``ConnectionGate/ended(_:)`` for each
    ///     connection that it was given and that has ended.
    /// - Throws: if the system refuses to listen; the address is released then.
    package init(
        _ bound: consuming BoundSocket, loops: [EventLoop<Handler>], backlog: Int = 4_096,
        maximumConnections: Int, gate: ConnectionGate = ConnectionGate()
    ) throws(SystemFailure) {
        precondition(!loops.isEmpty, "a listener needs somebody to serve")
        let socket = bound.release()
        try socket.listen(backlog: Int32(clamping: backlog))
        self.boundAddress = socket.address
        self.home = loops[0]
        self.gate = gate
        self.socket = socket
        self.loops = loops
        self.maximumConnections = Atomic(maximumConnections)
        self.reserve = Self.openReserve()
        self.batches = Array(repeating: [], count: loops.count)
        let source = DispatchSource.makeReadSource(
            fileDescriptor: socket.descriptor, queue: loops[0].queue)
        self.source = source
        ending.enter()
        source.setCancelHandler { self.assumeIsolated { $0.end() } }
        source.setEventHandler { self.assumeIsolated { $0.accept() } }
        source.activate()
    }

    /// Changes the maximum number of connections. Open ones are kept, even if there are more.
    package nonisolated func limitConnections(to count: Int) {
        maximumConnections.store(count, ordering: .relaxed)
    }

    /// As ``BoundSocket/giveUp(after:)``, for connections that are accepted later.
    package func giveUp(after time: Duration) {
        if life != .closed { socket.giveUp(after: time) }
    }

    /// Stops listening: accepts connections that the kernel has completed, then refuses. A Unix
    /// socket's file is removed. A second call does nothing.
    package nonisolated func close() {
        home.queue.async { self.assumeIsolated { $0.stop() } }
    }

    /// Returns when the listener is closed and has released its descriptors; call `close` before.
    package func untilClosed() async {
        await withCheckedContinuation { continuation in
            ending.notify(queue: home.queue) { continuation.resume() }
        }
    }

    private func accept() {
        guard life == .accepting else { return }
        if case .exhausted = acceptBatch() {
            refuseWhatWaits()
            rest()
        }
    }

    /// Accepts waiting connections, and hands them over in one batch for each loop. Returns why
    /// accepting ended; `tryNext` if more connections may be waiting.
    private func acceptBatch() -> Verdict {
        defer { handOver() }
        var room =
            maximumConnections.load(ordering: .relaxed) - loops.reduce(0) { $0 + $1.connections }
        for _ in 0..<Self.batchLimit {
            switch SocketCalls.accept(socket.descriptor) {
            case .success(let accepted):
                guard room > 0 else {
                    gate.refused(.limit)
                    refuse(accepted.descriptor)
                    continue
                }
                guard gate.admit(accepted.peer) else {
                    refuse(accepted.descriptor)
                    continue
                }
                room -= 1
                keep(accepted.descriptor, accepted.peer)
            case .failure(let error):
                let verdict = Self.verdict(on: error.code)
                guard case .tryNext = verdict else { return verdict }
            }
        }
        return .tryNext
    }

    private enum Verdict {
        case tryNext, nothingWaits, exhausted
    }

    /// accept(2): errors of the waiting connection are skipped, because they are its own.
    private static func verdict(on code: Int32) -> Verdict {
        switch code {
        case EAGAIN, EWOULDBLOCK: .nothingWaits
        // EMFILE, ENFILE, ENOBUFS, ENOMEM, and others that would recur at once: never busy-loop.
        case EMFILE, ENFILE, ENOBUFS, ENOMEM, EBADF, EINVAL, ENOTSOCK, EOPNOTSUPP: .exhausted
        default: .tryNext
        }
    }

    private func keep(_ descriptor: Int32, _ peer: PeerAddress) {
        #if !os(Linux)
            if peer != .local {
                SocketCalls.sendWithoutDelay(descriptor)
                SocketCalls.boundUnsent(descriptor)
            }
        #endif
        batches[turn].append(LoopInbox<Handler>.Accepted(descriptor: descriptor, peer: peer))
        turn = (turn + 1) % loops.count
    }

    private func handOver() {
        for index in batches.indices where !batches[index].isEmpty {
            var batch: [LoopInbox<Handler>.Accepted] = []
            swap(&batch, &batches[index])
            loops[index].receive(batch)
        }
    }

    private func refuse(_ descriptor: Int32) {
        SocketCalls.armReset(descriptor)
        SocketCalls.close(descriptor)
    }

    /// Without a free descriptor for accept, the spare one is used until no connection waits.
    private func refuseWhatWaits() {
        guard reserve >= 0 else {
            reserve = Self.openReserve()
            return
        }
        SocketCalls.close(reserve)
        for _ in 0..<Self.batchLimit {
            guard case .success(let accepted) = SocketCalls.accept(socket.descriptor) else { break }
            gate.refused(.descriptors)
            refuse(accepted.descriptor)
        }
        reserve = Self.openReserve()
    }

    private static func openReserve() -> Int32 {
        unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    }

    private func rest() {
        life = .resting
        source.suspend()
        let end = DispatchTime.now() + .milliseconds(Self.restMilliseconds)
        home.queue.asyncAfter(deadline: end) { self.assumeIsolated { $0.wakeUp() } }
    }

    private func wakeUp() {
        guard life == .resting else { return }
        life = .accepting
        if reserve < 0 { reserve = Self.openReserve() }
        source.resume()
    }

    private func stop() {
        guard life != .closed else { return }
        accept()
        let wasResting = life == .resting
        life = .closed
        socket.file?.remove()
        if reserve >= 0 { SocketCalls.close(reserve) }
        source.cancel()
        // A suspended source would never run its cancel handler.
        if wasResting { source.resume() }
    }

    /// The source is cancelled. Connections that the kernel has completed so far are accepted; it
    /// resets those that arrive within the next microseconds.
    private func end() {
        _ = acceptBatch()
        SocketCalls.close(socket.descriptor)
        ending.leave()
    }
}
