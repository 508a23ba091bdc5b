#if os(Linux)
    /// Decides what the connections of a ``ClientPool`` send, and judges what they receive.
    ///
    /// Each call gets the pool, to send more, to close or to open connections.
    protocol ClientDriver {
        /// The connection is there: nothing has been sent over it.
        mutating func connected(_ index: Int, _ pool: inout ClientPool) throws(BenchError)
        /// The head of an answer has come; its status is in the pool.
        mutating func began(_ index: Int, _ pool: inout ClientPool) throws(BenchError)
        /// A piece of the body of an answer that the pool does not gather.
        mutating func read(
            _ index: Int, _ bytes: Span<UInt8>, _ range: Range<Int>, _ pool: inout ClientPool)
        /// The answer is whole; what was gathered of it is in the pool.
        mutating func answered(_ index: Int, _ pool: inout ClientPool) throws(BenchError)
        /// The connection is over, and its place is free.
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

/// Why a connection is over that its driver did not close.
enum ClientLoss: Equatable {
    /// It was never made.
    case refused
    /// The server closed it; `inAnswer` when an answer had begun and was not whole.
    case closed(inAnswer: Bool)
    /// It was reset, or failed in another way.
    case failed
    /// The received bytes are no HTTP.
    case unreadable(ResponseFault)
}
