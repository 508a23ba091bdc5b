/// The connections of one loop, and the operations on them.
///
/// Not Sendable: used only in callbacks of the `LoopHandler` and in the loop's jobs. A method with
/// a stale id does nothing. No method calls the handler; it hears of consequences in a later pass.
package final class ConnectionTable {
    package enum Closing: Sendable {
        /// Drops unread bytes. If there are any, the kernel resets the connection, and the peer may
        /// lose the bytes that were sent last.
        case now
        /// Ends the output, then reads and drops input until the peer closes, at most 4 MiB or 2 s:
        /// a peer that still sends can read the response that refuses its request (RFC 9112 §9.6).
        /// At most 256 connections of a loop linger; further ones are closed as with `now`.
        case lingering
        /// Resets the connection: the kernel frees the unsent bytes of a peer that does not read.
        case reset
    }

    /// Precedent: nginx limits the time only (lingering_time 30 s).
    static let lingerLimitBytes: Int32 = 4 << 20
    /// Precedent: Apache httpd lingers 2 s for a peer that stays silent.
    static let lingerLimit = Duration.seconds(2)

    /// Lingering connections of a loop; further ones are closed at once. They hold a descriptor,
    /// and are not counted for their client any more (`ConnectionGate`): without this bound, one
    /// client that is refused again and again would use all descriptors.
    static let lingerCountLimit = 256

    let poller: any Poller
    let load: LoopLoad
    let slots = ConnectionSlots()
    let ahead: ReceivedAhead
    /// Received bytes that the handler does not accept yet, by slot. Invariant: a slot has bytes
    /// here while it has the flag `holdsBytes`. At most one slice each.
    var held: [Int: [UInt8]] = [:]
    /// To serve in the next pass without an event. Invariant: each is in the list once (`queued`).
    var ready: [ConnectionID] = []
    var deadlines: LoopDeadlines

    /// The beginning of this pass, on the monotonic clock.
    package var now: LoopInstant { roundBegin.instant }
    /// The same by the wall clock, in milliseconds since 1970 (UTC).
    package var wallClockMilliseconds: Int64 { roundBegin.wallClockMilliseconds }
    // Why private: the compiler sees every access, so that none is checked at run time.
    private var roundBegin = ClockReading()
    /// Connections that hold a descriptor, lingering ones included.
    package private(set) var count = 0
    /// The connections of these that linger.
    var lingeringCount = 0

    /// Requests a round when there is work and none is running. Set by the loop.
    var requestRound: () -> Void = {}
    /// Whether a round is running; it needs no request.
    var isInRound = false
    /// Whether the round ends with the present pass.
    var isRoundYielded = false

    init(poller: any Poller, load: LoopLoad, aheadBytes: Int) {
        self.poller = poller
        self.load = load
        self.ahead = ReceivedAhead(sliceBytes: aheadBytes)
        self.deadlines = LoopDeadlines(at: .read())
    }

    /// Ends the round with the present pass, for a handler with much to do: other work on the
    /// loop's queue, such as the listener's, runs first. The handler requests the next round.
    package func yieldRound() { isRoundYielded = true }

    /// Whether the id names a connection that the handler may still use.
    package func isOpen(_ connection: ConnectionID) -> Bool { usable(connection) != nil }

    /// Reads the clocks: at the beginning of a pass, and after work that took long.
    package func readClocks() { roundBegin = ClockReading() }

    /// The slot of a connection that exists, lingering or not.
    func live(_ connection: ConnectionID) -> Int? {
        let index = Int(connection.slot)
        guard index < slots.count, slots[index].generation == connection.generation,
            slots[index].flags.contains(.open)
        else { return nil }
        return index
    }

    /// The slot of a connection that is visible to the handler.
    func usable(_ connection: ConnectionID) -> Int? {
        guard let index = live(connection), !slots[index].flags.contains(.lingering) else {
            return nil
        }
        return index
    }

    func id(at index: Int) -> ConnectionID {
        ConnectionID(slot: UInt32(index), generation: slots[index].generation)
    }

    /// If the poller refuses the descriptor, the connection exists and is reported as broken.
    func insert(_ descriptor: Int32, peerHasFinished: Bool = false) -> ConnectionID {
        let index = slots.allocate()
        slots[index].descriptor = descriptor
        slots[index].flags = peerHasFinished ? [.open, .peerFinished] : .open
        slots[index].failure = 0
        count += 1
        let id = id(at: index)
        do throws(SystemFailure) {
            try poller.add(descriptor, id)
            if peerHasFinished { poller.setReading(false, id) }
        } catch {
            fail(index, error.code)
        }
        return id
    }

    /// Frees the slot. Returns the descriptor, which the caller owns from now on.
    func remove(_ index: Int) -> Int32 {
        let descriptor = slots[index].descriptor
        if slots[index].flags.contains(.holdsBytes) { held[index] = nil }
        if slots[index].flags.contains(.lingering) { lingeringCount -= 1 }
        deadlines.set(slot: index, nil)
        slots.free(index)
        count -= 1
        load.subtract(1)
        return descriptor
    }

    /// Adds the connection to those that the next pass serves.
    func queue(_ index: Int) {
        guard !slots[index].flags.contains(.queued) else { return }
        slots[index].flags.insert(.queued)
        ready.append(id(at: index))
        askForRound()
    }

    /// Marks the connection broken; the handler is notified in the next pass, never from here.
    func fail(_ index: Int, _ code: Int32) {
        guard !slots[index].flags.contains(.failed) else { return }
        slots[index].flags.insert(.failed)
        slots[index].failure = code
        queue(index)
    }

    func askForRound() {
        if !isInRound { requestRound() }
    }
}

private struct ClockReading {
    let instant = LoopInstant.read()
    let wallClockMilliseconds = LoopInstant.readWallClockMilliseconds()
}
