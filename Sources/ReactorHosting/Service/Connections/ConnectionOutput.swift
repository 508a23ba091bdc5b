internal import Sockets

/// The encoded responses of one connection that the kernel has not accepted, in order.
///
/// Design: small responses are collected in a buffer of the loop's pool and sent together at the
/// end of the turn. A large body is sent from its array, which many connections may share.
struct ConnectionOutput {
    /// The output budget of a turn, in bytes of response bodies, sent or not (HEAD, 304).
    static let budgetBytes = 64 << 10

    /// The newest bytes of the current turn. Invariant: empty outside a turn.
    var encoded: [UInt8] = []
    /// The bytes before `encoded`. Outside a turn: those that the kernel did not accept.
    private var unsent = UnsentBytes()
    /// The charges of large bodies among the unsent bytes.
    private var charges: [AnyObject] = []
    private var turnBytes = 0
    private(set) var isInTurn = false
    /// Whether the kernel did not accept all offered bytes. Invariant: until it reports room, no
    /// more bytes are offered, so that none is sent before ``unsent``.
    private(set) var isBlocked = false

    /// Whether another response of the connection may be encoded now: the turn has a part of its
    /// budget left, and the kernel has accepted all responses before. This is the only check; it
    /// bounds the memory of a connection by the budget and one response.
    var hasRoom: Bool { !isBlocked && turnBytes < Self.budgetBytes }

    /// - Parameter buffer: An empty buffer for the responses of the turn.
    mutating func beginTurn(_ buffer: consuming [UInt8]) {
        isInTurn = true
        encoded = buffer
    }

    /// Ends the turn, after its responses were flushed.
    mutating func endTurn(recycling pool: BufferPool) {
        turnBytes = 0
        isInTurn = false
        pool.recycle(output: &encoded)
    }

    mutating func charge(_ bytes: Int) { turnBytes += bytes }

    /// Appends a body. A large one is not copied.
    ///
    /// - Parameter copyLimitBytes: The size up to which a copy costs less than a separate piece.
    mutating func append(_ body: [UInt8], copyLimitBytes: Int = 16 << 10) {
        guard body.count > copyLimitBytes else { return encoded.append(contentsOf: body) }
        moveEncoded()
        unsent.append(body[...])
    }

    /// Holds the charge of the body that was appended last, until the kernel has accepted the body.
    mutating func hold(_ charge: AnyObject) { charges.append(charge) }

    /// Offers the bytes to the kernel and keeps those that it does not accept. Returns whether the
    /// connection has started to wait for room.
    mutating func flush(to connection: ConnectionID, _ table: ConnectionTable) -> Bool {
        let wasBlocked = isBlocked
        if unsent.isEmpty {
            guard !encoded.isEmpty else { return false }
            let accepted = table.send(connection, encoded.span)
            if accepted < encoded.count { unsent.append(encoded[accepted...]) }
            encoded.removeAll(keepingCapacity: true)
            isBlocked = !unsent.isEmpty
            releaseCharges()
        } else {
            moveEncoded()
            if !wasBlocked { _ = sendUnsent(to: connection, table) }
        }
        return isBlocked && !wasBlocked
    }

    /// Offers the unsent bytes to the kernel. Returns the number of bytes that the kernel accepted.
    mutating func sendUnsent(to connection: ConnectionID, _ table: ConnectionTable) -> Int {
        var sum = 0
        while !unsent.isEmpty {
            let accepted = table.send(connection, gathering: unsent.pieces)
            // Once the kernel has accepted less than it was offered, it accepts nothing.
            if accepted == 0 { break }
            unsent.removeFirst(accepted)
            sum += accepted
        }
        isBlocked = !unsent.isEmpty
        releaseCharges()
        return sum
    }

    /// Drops all bytes: the connection ends, possibly during its turn. Returns their number.
    mutating func discard() -> Int {
        let count = unsent.count
        encoded.removeAll(keepingCapacity: true)
        unsent = UnsentBytes()
        charges = []
        isBlocked = false
        return count
    }

    private mutating func releaseCharges() {
        if !isBlocked, !charges.isEmpty { charges = [] }
    }

    private mutating func moveEncoded() {
        guard !encoded.isEmpty else { return }
        unsent.append(encoded[...])
        encoded.removeAll(keepingCapacity: true)
    }
}
