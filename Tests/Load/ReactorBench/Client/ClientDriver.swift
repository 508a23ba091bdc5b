#if os(Linux)
    /// Decides what the connections of a ``ClientPool`` send, and judges what they receive.
    ///
    /// Each call gets the pool, in order to send, to close or to open connections.
    protocol ClientDriver {
        /// The connection is established; nothing has been sent over it.
        mutating func connected(_ index: Int, _ pool: inout ClientPool) throws(BenchError)
        /// The head of a response arrived; its status is in the pool.
        mutating func began(_ index: Int, _ pool: inout ClientPool) throws(BenchError)
        /// A piece of a body arrived that the pool does not collect.
        mutating func read(
            _ index: Int, _ bytes: Span<UInt8>, _ range: Range<Int>, _ pool: inout ClientPool)
        /// The response is complete; the collected body is in the pool.
        mutating func answered(_ index: Int, _ pool: inout ClientPool) throws(BenchError)
        /// The connection has ended; its slot is free.
        mutating func lost(
            _ index: Int, _ loss: ClientLoss, _ pool: inout ClientPool) throws(BenchError)
    }

    extension ClientDriver {
        mutating func began(_ index: Int, _ pool: inout ClientPool) throws(BenchError) {}
        mutating func read(
            _ index: Int, _ bytes: Span<UInt8>, _ range: Range<Int>, _ pool: inout ClientPool
        ) {}
    }
#endif

/// The reason why a connection ended that the driver did not close.
enum ClientLoss: Equatable {
    /// The connection could not be established.
    case refused
    /// The server closed it; `inAnswer` if it did so within a response.
    case closed(inAnswer: Bool)
    /// The connection was reset, or failed in another way.
    case failed
    /// The received bytes are not valid HTTP.
    case unreadable(ResponseFault)
}
