/// All connections of one loop, and everything that may be done with them.
///
/// Not Sendable: it is used only on its loop, that is in callbacks of the `LoopHandler` and in jobs
/// given to the loop. A method given a stale id does nothing. No method calls the handler; what it
/// causes is reported later.
package final class ConnectionTable {
    /// How to close a connection.
    package enum Closing: Sendable {
        /// Drops what is unread. When there is any, the kernel resets the connection, and the peer
        /// may lose what was sent last.
        case now
        /// Says that nothing more comes, then reads and drops until the peer closes too, at most 4
        /// MiB or 2 s: so a peer that still sends can read why it was refused (RFC 9112 §9.6).
        case lingering
        /// Resets: frees at once what the kernel still holds for a peer that does not read.
        case reset
    }

    /// Precedent: nginx bounds it by time alone (lingering_time 30 s).
    static let lingerLimitBytes: Int32 = 4 << 20
    /// Precedent: Apache httpd lingers 2 s for a peer that stays silent.
    static let lingerLimit = Duration.seconds(2)

    let poller: any Poller
    let load: LoopLoad
    let slots = ConnectionSlots()
    let ahead: ReceivedAhead
    /// By slot: bytes that were received and that the handler does not want yet. Invariant: a slot
    /// has bytes here while it is flagged `holdsBytes`. At most one slice each.
    var held: [Int: [UInt8]] = [:]
    /// First of the free slots, each of which names the next; -1 ends the list.
    private var firstFree: Int32 = -1
    /// Connections that continue in the next pass without a new event. Invariant: each is in it once
    /// (`queued`).
    var ready: [ConnectionID] = []
    var deadlines: LoopDeadlines

    /// The moment this round began, on the monotonic clock.
    package var now: LoopInstant { roundBegan }
    /// The same by the wall clock, in milliseconds since 1970 (UTC).
    package var wallClockMilliseconds: Int64 { roundBeganMilliseconds }
    // Private, so that the compiler sees every access and the runtime need not watch any.
    private var roundBegan: LoopInstant
    private var roundBeganMilliseconds: Int64
    /// Connections that hold a descriptor, lingering ones included.
    package private(set) var count = 0

    /// Asks for a round when something is due and none is running; the loop sets it when it starts.
    var requestRound: () -> Void = {}
    /// While a round runs it sees for itself what is due.
    var isInRound = false
    /// The round ends with the present pass.
    var isRoundYielded = false

    init(poller: any Poller, load: LoopLoad, aheadBytes: Int) {
        self.poller = poller
        self.load = load
        self.ahead = ReceivedAhead(sliceBytes: aheadBytes)
        self.roundBegan = .read()
        self.roundBeganMilliseconds = LoopInstant.readWallClockMilliseconds()
        self.deadlines = LoopDeadlines(at: .read())
    }

    /// Ends the round with the present pass, for a handler that has done much and has more to do: what
    /// else is on the loop's queue has its turn first, the listener's new connections above all. The
    /// handler sees to it that there is another round.
    package func yieldRound() { isRoundYielded = true }

    /// Whether the id names a connection that the handler may still use.
    package func isOpen(_ connection: ConnectionID) -> Bool { usable(connection) != nil }

    func readClocks() {
        roundBegan = .read()
        roundBeganMilliseconds = LoopInstant.readWallClockMilliseconds()
    }

    // MARK: Slots

    /// The slot of a connection that exists, be it only to linger.
    func live(_ connection: ConnectionID) -> Int? {
        let index = Int(connection.slot)
        guard index < slots.count, slots[index].generation == connection.generation,
            slots[index].flags.contains(.open)
        else { return nil }
        return index
    }

    /// The slot of a connection that exists for the handler.
    func usable(_ connection: ConnectionID) -> Int? {
        guard let index = live(connection), !slots[index].flags.contains(.lingering) else {
            return nil
        }
        return index
    }

    func id(at index: Int) -> ConnectionID {
        ConnectionID(slot: UInt32(index), generation: slots[index].generation)
    }

    /// Adds a descriptor. When the poller refuses it, the connection exists and is reported to be
    /// broken.
    func insert(_ descriptor: Int32, peerHasFinished: Bool = false) -> ConnectionID {
        let index = takeFreeSlot()
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

    /// Frees the slot and gives the descriptor, which is the caller's from now on.
    func remove(_ index: Int) -> Int32 {
        let descriptor = slots[index].descriptor
        if slots[index].flags.contains(.holdsBytes) { held[index] = nil }
        deadlines.set(slot: index, nil)
        let next = slots[index].generation &+ 1
        slots[index] = ConnectionSlot(
            generation: next == 0 ? 1 : next, flags: [], failure: firstFree)
        firstFree = Int32(index)
        count -= 1
        load.subtract(1)
        return descriptor
    }

    private func takeFreeSlot() -> Int {
        guard firstFree >= 0 else {
            slots.append(ConnectionSlot())
            return slots.count - 1
        }
        let index = Int(firstFree)
        firstFree = slots[index].failure
        return index
    }

    // MARK: What continues without an event

    /// Puts the connection into the next pass.
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
