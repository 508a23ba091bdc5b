public import Reactors

extension Cycler {
    /// The number of commits that have written something.
    public var version: UInt64 { state.version }

    /// The activities from now on, including equal ones. Ends with the cycler.
    ///
    /// - Parameter limit: The number of activities by which the reader may be behind. Default: 256;
    ///   beyond it the reader gets `ReaderTooSlow` after those.
    public func activities(buffer limit: Int = 256) -> ReactorStream<Activity> {
        let (stream, feed) = ReactorStream<Activity>.make(buffer: limit)
        let core = state.core
        guard !core.isEnded else {
            feed.finish()
            return stream
        }
        core.hub(for: Activity.self).add(Subscription(feed))
        return stream
    }

    /// Adds a logger. All loggers are called, in the order in which they were added.
    ///
    /// - Returns: a token for removing or replacing it.
    @discardableResult
    public func add(logger: any CyclerLogger) -> StorageToken { state.add(logger: logger) }

    /// Removes all loggers that were added or set before. Streams of ``log(buffer:)`` stay.
    ///
    /// - Returns: a token for removing or replacing it.
    @discardableResult
    public func set(logger: any CyclerLogger) -> StorageToken { state.set(logger: logger) }

    /// Removes a logger. An unknown token is ignored.
    public func remove(logger token: StorageToken) { state.remove(logger: token) }

    /// Replaces a logger; the token then identifies the new one.
    ///
    /// - Returns: Whether there was such a logger; if not, the call has no effect.
    @discardableResult
    public func replace(logger token: StorageToken, with logger: any CyclerLogger) -> Bool {
        state.replace(logger: token, with: logger)
    }
}

extension Cycler {
    /// The log of the cycler from now on, line by line. Ends with the cycler.
    ///
    /// For slow readers: they run in another isolation and delay no other observer. Lines are made
    /// only while there is a reader.
    ///
    /// - Parameter limit: The number of lines by which the reader may be behind. Default: 1024;
    ///   beyond it the reader gets `ReaderTooSlow` after those.
    public func log(buffer limit: Int = 1024) -> ReactorStream<CyclerLogEntry> {
        let (stream, feed) = ReactorStream<CyclerLogEntry>.make(buffer: limit)
        state.core.add(StreamLogger(feed))
        return stream
    }
}
