import Dispatch

extension EventLoop {
    /// The most passes in a round. Then other work of the queue runs: listener, timers, actor jobs.
    private static var passLimit: Int { 64 }
    /// The maximum number of polls in a pass. If more connections than one poll reports are sending
    /// all the time, a pass without a limit would never end and nothing would be flushed.
    private static var pollLimit: Int { 4 }
    /// Deadlines that are handled in a pass. Thousands of streams that were opened together have
    /// their heartbeats together, and requests would wait for all of them.
    private static var deadlineLimit: Int { 16 }

    /// How long after its beginning a round may wait for events, in nanoseconds.
    ///
    /// Under load the next event comes within some ten microseconds. To be woken for it by Dispatch
    /// takes two threads, which costs more than to serve a small request; a wait takes none. Until
    /// its end the other work of the queue waits, above all the listener.
    private static var waitLimit: Int64 { 1_000_000 }

    /// Runs a round: passes, until one finds no work after a wait, or the handler yields.
    func round() {
        guard let handler else { return }
        inbox.attend()
        table.isInRound = true
        table.isRoundYielded = false
        var passes = 0
        table.readClocks()
        let waitEnd = table.now.nanoseconds + Self.waitLimit
        while true {
            passes += 1
            let began = table.now
            self.passes.begin(began)
            pass(handler)
            let hadWork = isRoundOpen
            guard closeRound(handler) else { break }
            table.readClocks()
            if hadWork {
                handler.passEnded(nanoseconds: table.now.nanoseconds - began.nanoseconds)
            }
            guard passes < Self.passLimit, !table.isRoundYielded else { break }
            wait(until: waitEnd)
        }
        table.isInRound = false
        let rests = inbox.rest()
        // Remaining events cause a wake-up; what this loop has put off does not.
        if !rests || hasLeftWork { scheduleRound() }
        armTimer()
        self.passes.end()
    }

    private func wait(until end: Int64) {
        let left = end - table.now.nanoseconds
        guard left > 0, !hasLeftWork, table.poller.alarm != nil, inbox.wait() else { return }
        passes.end()
        table.poller.wait(nanoseconds: left)
        inbox.attend()
        table.readClocks()
    }

    /// Whether connections continue, or deadlines are due, that the last pass had no room for.
    private var hasLeftWork: Bool { !table.ready.isEmpty || table.deadlines.hasDueSlots }

    /// Lets the handler flush, if it was called. Returns true if there may be more work.
    private func closeRound(_ handler: Handler) -> Bool {
        guard isRoundOpen else { return hasLeftWork }
        isRoundOpen = false
        handler.roundEnded()
        return true
    }

    /// Reads the present events. New events, and those beyond its limit, are left to the next pass.
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

    /// Serves the connections that did not complete their work in the last pass.
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
        // Memory that a load peak has allocated is released.
        items.removeAll(keepingCapacity: items.count <= 4_096)
    }

    private func fireDeadlines(_ handler: Handler) {
        for slot in table.deadlines.takeDueSlots(Self.deadlineLimit, at: table.now)
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

    /// Handles a wake-up: a collecting poller has events (nil), or another poller passes its event.
    func pollerFired(_ event: PollEvent?) {
        guard let event else {
            round()
            return
        }
        guard let handler else { return }
        // Events that follow on the queue belong to the same round. The round ends after them.
        table.isInRound = true
        if !isRoundScheduled { table.readClocks() }
        passes.begin(table.now)
        table.record(event)
        serve(event.id, handler)
        passes.end()
        table.isInRound = false
        scheduleRound()
    }

    func timerFired() {
        armed = nil
        round()
    }

    /// Adds a round at the end of the queue, unless one is there already.
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

    /// Arms the timer for the earliest deadline. If it fires too early, it is armed again.
    private func armTimer() {
        guard let next = table.deadlines.next, let timer else { return }
        if let armed, armed <= next { return }
        armed = next
        let wait = max(0, next.nanoseconds - LoopInstant.read().nanoseconds)
        timer.schedule(deadline: .now() + .nanoseconds(Int(wait)), leeway: .milliseconds(10))
    }
}
