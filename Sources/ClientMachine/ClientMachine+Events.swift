extension ClientMachine {
    /// Reads a block of a session's stream. Returns the fault of a block that no server writes.
    mutating func feed(
        _ block: StreamBlock, to session: SessionName, from id: StreamID, at now: ClientInstant
    ) -> String? {
        if presence != .off, block.name == "presence" {
            if streams[id]?.isLive(session) == true { deliver(.presence(block.data), to: session) }
            return nil
        }
        // Also while the session is made again: nothing brings a second time what a stream has
        // brought. In place: links and streams are large, and this is done for each event.
        guard links[session]?.asksForEvents() == true,
            let context = streams[id]?.beginEvent(of: session),
            let read = links[session]?.read(block, context)
        else { return nil }
        if read.isBehindGap { deliver(.reset(reason: "trimmed"), to: session) }
        touched.insert(session)
        switch read.reading {
        case .nothing: return nil
        case .malformed(let fault): return fault
        case .deliver(.ended(let reason)): endSession(session, reason, at: now)
        case .deliver(let delivery):
            if read.isContinued, case .snapshot = delivery {
                // This stream was opened before another one brought the first snapshot. The events
                // between the two are lost.
                deliver(.reset(reason: "trimmed"), to: session)
            }
            deliver(delivery, to: session)
            if let position = block.position, block.name != "reset", context.demand.states {
                let end = now.uptime + limits.hold
                let isHeld = links[session]?.observe(
                    block, position, context, isFirst: read.isUnknown, at: now.uptime,
                    holdUntil: end)
                // Whether the state has the actions, the answer says.
                if isHeld == true { attempts.ask(.post(session), at: now.uptime) }
            }
        }
        return nil
    }

    /// The session's events are over, as the server says.
    mutating func endSession(
        _ session: SessionName, _ reason: EndReason, at now: ClientInstant
    ) {
        guard reason == .unknown, links[session]?.following?.makes != nil else {
            return endSession(session, reason)
        }
        // Another client has not made it, so this one does. The position that is seen remains: in
        // the new life it leads to a `reset`.
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
