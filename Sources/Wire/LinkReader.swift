/// Reads the frames of a link as their bytes arrive.
///
/// Design: a state machine. The same bytes give the same frames and the same fault, however they
/// are split. The memory of a frame grows with the bytes that have arrived, up to the limit.
package struct LinkReader: Sendable {
    private enum State: Sendable {
        case head
        case payload(LinkFrame.Kind, stream: UInt32)
        /// The payload is read and not kept, and its frame not returned.
        case skipping
        case failed(LinkFault)
    }

    /// The maximum size of a payload. A peer that has not proved itself gets a small one
    /// (``LinkHandshake/payloadLimitBytes``).
    package var payloadLimitBytes: Int
    private var state = State.head
    /// The bytes of the head so far. Invariant: fewer than nine.
    private var head: [UInt8] = []
    private var payload: [UInt8] = []
    private var remaining = 0

    package init(payloadLimitBytes: Int) {
        self.payloadLimitBytes = payloadLimitBytes
    }

    /// The memory of a payload that has arrived in part, in bytes.
    ///
    /// - Parameter kind: Payloads of other kinds do not count.
    package func partialBytes(of kind: LinkFrame.Kind) -> Int { partial(of: kind)?.bytes ?? 0 }

    /// The same, with the stream of its frame; nil if no payload of that kind has partly arrived.
    package func partial(of kind: LinkFrame.Kind) -> (stream: UInt32, bytes: Int)? {
        guard case .payload(let present, let stream) = state, present == kind else { return nil }
        return (stream, payload.capacity)
    }

    /// Releases the payload that has arrived in part, and skips its rest. Its frame is
    /// not returned.
    ///
    /// - Returns: The stream of the frame; nil if no frame of that kind has arrived in part.
    package mutating func skipPayload(of kind: LinkFrame.Kind) -> UInt32? {
        guard case .payload(let present, let stream) = state, present == kind else { return nil }
        payload = []
        state = .skipping
        return stream
    }

    /// Reads from `input` at `offset` and moves `offset` past the consumed bytes, never beyond the
    /// end of the frame.
    ///
    /// - Returns: The next frame; nil if all input is consumed and no frame is complete.
    /// - Throws: The fault; every later call throws the same one and consumes nothing.
    package mutating func next(
        _ input: Span<UInt8>, at offset: inout Int
    ) throws(LinkFault) -> LinkFrame? {
        do {
            return try advance(input, at: &offset)
        } catch {
            state = .failed(error)
            throw error
        }
    }

    private mutating func advance(
        _ input: Span<UInt8>, at offset: inout Int
    ) throws(LinkFault) -> LinkFrame? {
        while true {
            switch state {
            case .failed(let fault): throw fault
            case .head:
                guard offset < input.count else { return nil }
                try readHead(input[offset])
                offset += 1
            case .payload(let kind, let stream):
                let count = min(remaining, input.count - offset)
                payload.append(copying: input.extracting(offset..<offset + count))
                offset += count
                remaining -= count
                guard remaining == 0 else { return nil }
                state = .head
                defer { payload = [] }
                return LinkFrame(kind, stream: stream, payload: payload)
            case .skipping:
                let count = min(remaining, input.count - offset)
                offset += count
                remaining -= count
                guard remaining == 0 else { return nil }
                state = .head
            }
        }
    }

    /// Each part is checked with its last byte, before more is read.
    private mutating func readHead(_ byte: UInt8) throws(LinkFault) {
        head.append(byte)
        switch head.count {
        case 4:
            remaining = Int(head.reduce(0) { $0 &<< 8 | UInt32($1) })
            guard remaining <= payloadLimitBytes else {
                throw .frameTooLarge(limit: payloadLimitBytes)
            }
        case 5:
            guard LinkFrame.Kind(rawValue: byte) != nil else { throw .unknownKind(byte) }
        case LinkFrame.headBytes:
            guard let kind = LinkFrame.Kind(rawValue: head[4]) else { throw .unknownKind(head[4]) }
            let stream = head[5...].reduce(0) { $0 &<< 8 | UInt32($1) }
            head.removeAll(keepingCapacity: true)
            state = .payload(kind, stream: stream)
        default: break
        }
    }
}
