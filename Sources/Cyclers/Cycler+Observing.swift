public import Reactors

extension Cycler {
    /// The number of commits that have written something.
    public var version: UInt64 { state.version }

    /// The activities from now on, equal ones too. Ends with the cycler.
    ///
    /// - Parameter limit: how far the reader may fall behind. Default: 256 activities; at the limit
    ///   it gets `ReaderTooSlow` after those.
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

    /// Makes this the only logger: removes those that were added or set before. Streams by
    /// ``log(buffer:)`` stay.
    ///
    /// - Returns: a token for removing or replacing it.
    @discardableResult
    public func set(logger: any CyclerLogger) -> StorageToken { state.set(logger: logger) }

    /// Removes a logger. Does nothing if it is not there.
    public func remove(logger token: StorageToken) { state.remove(logger: token) }

    /// Replaces a logger; the token names the new one from then on.
    ///
    /// - Returns: whether there was one; if not, nothing happens.
    @discardableResult
    public func replace(logger token: StorageToken, with logger: any CyclerLogger) -> Bool {
        state.replace(logger: token, with: logger)
    }
}

extension Cycler {
    /// The log of the cycler from now on, line by line. Ends with the cycler.
    ///
    /// For slow readers: they run elsewhere and delay nobody. Lines are made only while there is a
    /// reader.
    ///
    /// - Parameter limit: how far the reader may fall behind. Default: 1024 lines; at the limit it
    ///   gets `ReaderTooSlow` after those.
    public func log(buffer limit: Int = 1024) -> ReactorStream<CyclerLogEntry> {
        let (stream, feed) = ReactorStream<CyclerLogEntry>.make(buffer: limit)
        state.core.add(StreamLogger(feed))
        return stream
    }
}
