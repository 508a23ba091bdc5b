import Dispatch

extension EventLoop {
    /// How many passes a round has at most. Then the queue's other work has its turn: the listener,
    /// timers, actor jobs.
    private static var passLimit: Int { 64 }
    /// How many times a pass polls at most. Peers of more connections than one poll reports could
    /// send all the time: then a pass without a limit would never end, and nothing be flushed.
    private static var pollLimit: Int { 4 }

    /// A round: passes, until one finds nothing to do or the handler yields.
    func round() {
        guard let handler else { return }
        table.isInRound = true
        table.isRoundYielded = false
        var passes = 0
        repeat {
            passes += 1
            table.readClocks()
            pass(handler)
        } while closeRound(handler) && passes < Self.passLimit && !table.isRoundYielded
        table.isInRound = false
        // Events that are left over wake us by themselves, connections that are to continue do not.
        if !table.ready.isEmpty { scheduleRound() }
        armTimer()
    }

    /// Lets the handler flush, if it was called. True when there may be more
    /// to do.
    private func closeRound(_ handler: Handler) -> Bool {
        guard isRoundOpen else { return !table.ready.isEmpty }
        isRoundOpen = false
        handler.roundEnded()
        return true
    }

    /// Reads what is there now. Events that it causes, and those beyond its limit, are for the next
    /// pass.
    private func pass(_ handler: Handler) {
        for _ in 0..<Self.pollLimit {
            events.removeAll(keepingCapacity: true)
            let mayHaveMore = table.poller.poll(into: &events)
            for event in events { table.record(event) }
            var served = 0
            while served < events.count {
                let group = served..<min(served + ReceivedAhead.capacity, events.count)
                serveGroup(group, handler)
                served = group.upperBound
            }
            guard mayHaveMore else { break }
        }
        serveContinuing(handler)
        runInbox(handler)
        fireDeadlines(handler)
    }

    /// Receives from each connection of the group, then serves each (``ReceivedAhead``).
    private func serveGroup(_ group: Range<Int>, _ handler: Handler) {
        if group.count > 1 {
            for index in group { table.receiveAhead(events[index].id) }
        }
        for index in group {
            let id = events[index].id
            unsafe serve(id, handler, ahead: table.ahead.dequeue(id))
        }
        table.ahead.removeAll()
    }

    /// Serves the connections that had more to do than was done in the last pass.
    private func serveContinuing(_ handler: Handler) {
        guard !table.ready.isEmpty else { return }
        var waiting: [ConnectionID] = []
        swap(&waiting, &table.ready)
        for id in waiting {
            guard let index = table.live(id) else { continue }
            table.slots[index].flags.remove(.queued)
            serve(id, handler)
        }
    }

    private func runInbox(_ handler: Handler) {
        inbox.drain(into: &items)
        guard !items.isEmpty else { return }
        isRoundOpen = true
        for item in items {
            switch item {
            case .job(let job):
                job(handler)
            case .accepted(let sockets):
                for socket in sockets {
                    handler.opened(table.insert(socket.descriptor), peer: socket.peer)
                }
            case .adopted(let descriptor, let peerHasFinished, let unread, let then):
                let id = table.insert(descriptor, peerHasFinished: peerHasFinished)
                table.hold(unread, for: id)
                then(handler, id)
            }
        }
        // A rush's memory is not kept for ever.
        items.removeAll(keepingCapacity: items.count <= 4_096)
    }

    private func fireDeadlines(_ handler: Handler) {
        for slot in table.deadlines.dueSlots(at: table.now)
        where table.deadlines.claim(slot: slot, at: table.now) {
            if table.slots[slot].flags.contains(.lingering) {
                table.closeNow(slot)
            } else {
                isRoundOpen = true
                handler.deadlineReached(table.id(at: slot))
            }
        }
        for token in table.deadlines.dueTokens(at: table.now)
        where table.deadlines.claim(token: token, at: table.now) {
            isRoundOpen = true
            handler.timerReached(token)
        }
    }

    // MARK: What begins a round

    /// A collecting poller has events (nil), or another poller brings its event.
    func pollerFired(_ event: PollEvent?) {
        guard let event else {
            round()
            return
        }
        guard let handler else { return }
        // Events that wait on the queue behind this one belong to the same round: it ends behind
        // them.
        table.isInRound = true
        if !isRoundScheduled { table.readClocks() }
        table.record(event)
        serve(event.id, handler)
        table.isInRound = false
        scheduleRound()
    }

    func timerFired() {
        armed = nil
        round()
    }

    /// Puts a round at the end of the queue, if none is there.
    func scheduleRound() {
        guard !isRoundScheduled else { return }
        isRoundScheduled = true
        queue.async {
            self.assumeIsolated { loop in
                loop.isRoundScheduled = false
                loop.round()
            }
        }
    }

    /// Arms the timer for the earliest deadline. One that fires too early costs a look and is armed
    /// again.
    private func armTimer() {
        guard let next = table.deadlines.next, let timer else { return }
        if let armed, armed <= next { return }
        armed = next
        let wait = max(0, next.nanoseconds - LoopInstant.read().nanoseconds)
        timer.schedule(deadline: .now() + .nanoseconds(Int(wait)), leeway: .milliseconds(10))
    }
}
