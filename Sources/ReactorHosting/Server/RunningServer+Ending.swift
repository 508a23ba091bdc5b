internal import Cluster
internal import Clustering
internal import Sessions
internal import Sockets
internal import Storage
internal import Synchronization

extension RunningServer {
    /// Drains, saves and closes.
    ///
    /// - Parameters:
    ///   - program: The program beside the server. It was cancelled before.
    ///   - delay: The time for which requests are still accepted.
    ///   - grace: The time after that for requests in flight, streams and, in a cluster,
    ///     effects to end.
    ///   - limit: The time for the whole shutdown. After it nothing is waited for: sessions and
    ///     loops end as soon as they can, and the journal is closed when its disk responds.
    func end(
        _ listeners: Listeners?, _ program: ProgramRun? = nil, after delay: Duration = .zero,
        grace: Duration = .zero, within limit: Duration
    ) async throws(StopFailure) {
        let (outcomes, outcome) = AsyncStream<Bool>.makeStream()
        // Separate tasks: the caller's is cancelled, and a wait for a disk cannot be cancelled.
        Task {
            beginLeaving()
            if listeners != nil, delay > .zero { try? await Task.sleep(for: delay) }
            let start = ContinuousClock.now
            if let listeners {
                await drain(listeners.main, grace)
                await untilEnded(by: start + grace) { program?.hasEnded ?? true }
                sessions.close()
                await untilEnded(by: max(start + grace, .now + Self.linkGrace)) {
                    sessions.calls.isIdle
                }
                await untilEffectsHaveEnded(by: start + grace)
            }
            await leaveTopics()
            let left = grace - (ContinuousClock.now - start)
            await closeLinks(listeners?.links, within: max(left, Self.linkGrace))
            await stop()
            await stopOperations(listeners?.operations)
            outcome.yield(true)
        }
        let timer = Task {
            try await Task.sleep(for: limit)
            outcome.yield(false)
        }
        // A separate task: in the caller's, which is cancelled, the stream would end at once.
        let hasEnded = await Task { await outcomes.first { _ in true } ?? false }.value
        timer.cancel()
        if hasEnded { return }
        for loop in loops { loop.enqueue { $0.stopSessions() } }
        throw StopFailure(
            description: """
                the server did not end within \(limit): the journal's disk does not answer, or a \
                reactor does not return; ended without closing the journal
                """)
    }

    /// Returns when `hasEnded` returns true, or at `end`.
    private func untilEnded(by end: ContinuousClock.Instant, _ hasEnded: () -> Bool) async {
        while !hasEnded(), ContinuousClock.now < end {
            try? await Task.sleep(for: Self.effectPause)
        }
    }

    /// Whether another node can take this one's sessions over.
    var hasSuccessor: Bool {
        let members = service.journal.ownership?.members
        return members?.others.contains { !$0.isLeaving && !$0.address.isEmpty } ?? false
    }

    /// Says that the server ends, and begins to pass sessions to other nodes.
    private func beginLeaving() {
        service.beginLeaving()
        work?.stop()
        guard let ownership = service.journal.ownership else { return }
        ownership.leave()
        guard hasSuccessor else { return }
        for loop in loops { loop.enqueue { $0.beginHandover() } }
    }

    /// In a cluster, another node would repeat or abandon the effects of this one. So they get time
    /// to end first.
    private func untilEffectsHaveEnded(by end: ContinuousClock.Instant) async {
        guard service.journal.ownership != nil else { return }
        while ContinuousClock.now < end {
            let isRunning = Mutex(false)
            await Self.visit(loops) { loop, done in
                if loop.sessions.hasRunningEffects { isRunning.withLock { $0 = true } }
                done()
            }
            guard isRunning.withLock({ $0 }) else { return }
            try? await Task.sleep(for: Self.effectPause)
        }
    }

    /// Stops accepting, then waits until the last connection has ended, at most the grace time.
    private func drain(_ listener: Listener<ServerLoop>, _ grace: Duration) async {
        service.beginDraining()
        await close(listener, loops, service.drain, grace)
    }

    private func close(
        _ listener: Listener<ServerLoop>, _ loops: [EventLoop<ServerLoop>], _ drain: Drain,
        _ grace: Duration
    ) async {
        listener.close()
        await listener.untilClosed()
        for loop in loops { loop.enqueue { $0.beginDraining() } }
        let timer = Task {
            try await Task.sleep(for: grace)
            drain.cut()
        }
        await drain.wait()
        timer.cancel()
    }

    /// Stops reading topics. Other nodes can then continue the topics that this one decides on.
    private func leaveTopics() async {
        guard service.node != nil else { return }
        await Self.visit(loops) { loop, done in
            loop.sessions.topics.close()
            done()
        }
    }

    /// After the clients of this node: each begun request of another node is answered first.
    private func closeLinks(
        _ listener: Listener<LinkHandshakes>?, within limit: Duration
    ) async {
        guard let linkListener else { return }
        let end = ContinuousClock.now + limit
        await linkListener.close(listener)
        let timer = Task {
            try await Task.sleep(for: limit)
            for loop in loops { loop.enqueue { $0.closeLinks() } }
        }
        await Self.visit(loops) { loop, done in
            guard let links = loop.resources.links else { return done() }
            links.incoming.finish(then: done)
        }
        // The last requests may have begun effects, and parts need the links to their parents.
        await untilEffectsHaveEnded(by: end)
        timer.cancel()
        for loop in loops { loop.enqueue { $0.closeLinks() } }
    }

    /// Saves the states that a restart would otherwise have to reduce again, then ends.
    private func stop() async {
        for loop in loops { await Self.visit([loop]) { $0.sessions.save(then: $1) } }
        for loop in loops { loop.enqueue { $0.stopSessions() } }
        for loop in loops { await loop.stop() }
        service.watch.stop()
        await service.journal.close()
    }

    /// Ends the operations address, after everything that it reports.
    private func stopOperations(_ listener: Listener<ServerLoop>?) async {
        guard let operations else { return }
        if let listener {
            await close(listener, [operations], service.operationsDrain, Self.operationsGrace)
        }
        operations.enqueue { $0.sessions.stop() }
        await operations.stop()
    }

    /// The pause between two checks whether effects still run, and whether the program has ended.
    private static let effectPause = Duration.milliseconds(20)
    /// The time for the answers to other nodes, if clients have used up the grace time.
    private static let linkGrace = Duration.seconds(1)
    /// The time for a last response at the operations address.
    private static let operationsGrace = Duration.seconds(1)
}
