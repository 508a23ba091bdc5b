extension ClientMachine {
    /// Reads a block of a session's stream.
    ///
    /// - Returns: the fault of a block that no server writes.
    mutating func feed(
        _ block: StreamBlock, to session: SessionName, from id: StreamID, at now: ClientInstant
    ) -> String? {
        // Also while the session is made again: nothing brings a second time what a stream has brought.
        guard let stream = streams[id], links[session]?.wantsEvents == true,
            stream.live.contains(session), var link = links[session]
        else { return nil }
        let (before, isContinued) = (link.reader.confirmed, link.reader.seen != nil)
        let isFirst = streams[id]?.beginEvents(of: session) ?? false
        if isFirst, !["snapshot", "reset"].contains(block.name), let position = block.position,
            link.reader.skips(to: position)
        {
            deliver(.reset(reason: "trimmed"), to: session)
        }
        // Behind that: the block itself may follow the events that are lost.
        let isUnknown = before == nil || link.reader.isStale
        let reading = link.reader.receive(block, demand: stream.demand)
        if link.reader.confirmed != before { link.advanceBase() }
        links[session] = link
        touched.insert(session)
        switch reading {
        case .nothing: return nil
        case .malformed(let fault): return fault
        case .deliver(.ended(let reason)): endSession(session, reason, at: now)
        case .deliver(let delivery):
            if isContinued, case .snapshot = delivery {
                // Of a stream that was opened before another one brought the first snapshot: the
                // events between the two are lost.
                deliver(.reset(reason: "trimmed"), to: session)
            }
            deliver(delivery, to: session)
            if let position = block.position, block.name != "reset", stream.demand.states {
                observe(block, position, session, stream, isFirst: isUnknown, at: now)
            }
        }
        return nil
    }

    private mutating func observe(
        _ block: StreamBlock, _ position: StreamPosition, _ session: SessionName,
        _ stream: StreamConnection, isFirst: Bool, at now: ClientInstant
    ) {
        let uncovered = links[session]?.overlay.beginLife(position.generation) ?? []
        for entry in uncovered { links[session]?.join(entry) }
        // Live events have their causes. A snapshot never has one, and a replay need not (R10).
        let opened = block.name == "snapshot" ? now.uptime : stream.openedAt
        let hold = now.uptime + limits.hold
        links[session]?.overlay.observe(
            position, cause: block.cause, isWhole: block.name == "snapshot", isFirst: isFirst,
            opened: opened, holdUntil: hold)
    }

    /// The session's events are over, as the server says.
    mutating func endSession(
        _ session: SessionName, _ reason: EndReason, at now: ClientInstant
    ) {
        guard reason == .unknown, links[session]?.following?.makes != nil else {
            return endSession(session, reason)
        }
        // Another client has not made it, so this one does. The position that is seen remains: in the
        // new life it leads to a `reset`.
        streams.end(session)
        dropEmptyStreams()
        create(session, at: now)
    }

    mutating func endSession(_ session: SessionName, _ reason: EndReason) {
        touched.insert(session)
        streams.end(session)
        dropEmptyStreams()
        guard links[session]?.end == nil else { return }
        links[session]?.end = reason
        deliver(.ended(reason), to: session)
    }
}
