#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension ConnectionTable {
    /// The maximum number of pieces that `send(_:gathering:)` passes to the kernel at once.
    package static let gatherLimit = 16

    /// Passes bytes to the kernel and returns how many it accepted: 0 up to all of them.
    ///
    /// If it accepted fewer, the caller keeps the rest, and `writable` is called once there is
    /// room; until then every send returns 0 without a system call. This never throws: after an
    /// error the connection accepts no more bytes, and `closed` reports the reason in a later pass.
    package func send(_ connection: ConnectionID, _ bytes: RawSpan) -> Int {
        guard let index = sendable(connection), !bytes.isEmpty else { return 0 }
        let outcome = SocketCalls.transmit(slots[index].descriptor, bytes)
        return account(outcome, of: bytes.byteCount, index)
    }

    /// The same for a typed span of bytes.
    package func send(_ connection: ConnectionID, _ bytes: Span<UInt8>) -> Int {
        // Every UInt8 is valid as a raw byte.
        unsafe send(connection, bytes.bytes)
    }

    /// Sends the pieces as if they were one. Only the first `gatherLimit` (16) are sent at a time.
    /// If the kernel accepted all of these, it may have more room: call again with the rest.
    package func send(_ connection: ConnectionID, gathering pieces: [ArraySlice<UInt8>]) -> Int {
        guard let index = sendable(connection), !pieces.isEmpty else { return 0 }
        let offered = min(pieces.count, Self.gatherLimit)
        let descriptor = slots[index].descriptor
        let total = pieces[..<offered].reduce(0) { $0 + $1.count }
        guard total > 0 else { return 0 }
        let outcome = unsafe withUnsafeTemporaryAllocation(of: iovec.self, capacity: offered) {
            unsafe Self.pin(pieces[..<offered], into: $0, filled: 0) {
                unsafe SocketCalls.transmit(descriptor, $0)
            }
        }
        return account(outcome, of: total, index)
    }

    /// The slot of a connection that can accept bytes now.
    private func sendable(_ connection: ConnectionID) -> Int? {
        guard let index = usable(connection),
            slots[index].flags.isDisjoint(with: [.awaitsRoom, .failed])
        else { return nil }
        return index
    }

    private func account(_ outcome: SocketCalls.Outcome, of offered: Int, _ index: Int) -> Int {
        switch outcome {
        case .moved(let count):
            if count < offered { awaitRoom(index) }
            return count
        case .wouldBlock:
            awaitRoom(index)
            return 0
        case .failed(let code):
            fail(index, code)
            return 0
        }
    }

    private func awaitRoom(_ index: Int) {
        slots[index].flags.insert(.awaitsRoom)
        // The kernel's buffer is full again: an earlier report of room is obsolete.
        slots[index].flags.remove(.roomArrived)
        poller.awaitRoom(id(at: index))
    }

    /// Pins all slices (one recursion each, at most `gatherLimit`), then calls `body`.
    private static func pin(
        _ slices: ArraySlice<ArraySlice<UInt8>>, into vector: UnsafeMutableBufferPointer<iovec>,
        filled: Int, _ body: (UnsafeMutableBufferPointer<iovec>) -> SocketCalls.Outcome
    ) -> SocketCalls.Outcome {
        guard let slice = slices.first else { return unsafe body(vector) }
        return unsafe slice.withUnsafeBytes { bytes in
            unsafe vector.initializeElement(
                at: filled,
                to: iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                    iov_len: bytes.count))
            return unsafe pin(slices.dropFirst(), into: vector, filled: filled + 1, body)
        }
    }
}
