extension ConnectionTable {
    /// Closes the connection. The id is stale at once and no callback follows. Unsent bytes are
    /// lost with `.now` and `.lingering`, so send everything before.
    package func close(_ connection: ConnectionID, _ how: Closing) {
        guard let index = usable(connection) else { return }
        switch how {
        case .now:
            closeNow(index)
        case .reset:
            SocketCalls.armReset(slots[index].descriptor)
            closeNow(index)
        case .lingering:
            linger(index)
        }
    }

    /// Removes the connection, with its descriptor open; the id is stale and no callback follows.
    ///
    /// Nil for a stale id, and without a descriptor for the move (the connection then stays).
    package func detach(_ connection: ConnectionID) -> DetachedSocket? {
        guard let index = usable(connection), !slots[index].flags.contains(.failed) else {
            return nil
        }
        let peerHasFinished = slots[index].flags.contains(.peerFinished)
        let unread = held[index] ?? ahead.undelivered(connection)
        guard let descriptor = try? poller.release(slots[index].descriptor, connection) else {
            // Only `EMFILE`, `ENFILE` or `ENOMEM` are possible: nil, see above.
            return nil
        }
        _ = remove(index)
        return DetachedSocket(
            descriptor: descriptor, peerHasFinished: peerHasFinished, unread: unread)
    }

    /// Frees the slot and closes the descriptor.
    func closeNow(_ index: Int) {
        let id = id(at: index)
        let descriptor = remove(index)
        poller.close(descriptor, id)
    }

    /// Frees every slot.
    func closeAll() {
        for index in slots.indices where slots[index].flags.contains(.open) {
            closeNow(index)
        }
        ready.removeAll()
    }

    private func linger(_ index: Int) {
        // Unread input of a peer that has finished cannot cause a reset that loses its response.
        guard slots[index].flags.isDisjoint(with: [.peerFinished, .failed]),
            lingeringCount < Self.lingerCountLimit
        else {
            closeNow(index)
            return
        }
        SocketCalls.finishWriting(slots[index].descriptor)
        if slots[index].flags.contains(.paused) {
            slots[index].flags.remove(.paused)
            poller.setReading(true, id(at: index))
        }
        if slots[index].flags.contains(.holdsBytes) {
            slots[index].flags.remove(.holdsBytes)
            held[index] = nil
        }
        slots[index].flags.insert(.lingering)
        lingeringCount += 1
        slots[index].lingerBytesLeft = Self.lingerLimitBytes
        deadlines.set(slot: index, now + Self.lingerLimit)
        queue(index)
    }
}
