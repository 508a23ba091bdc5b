// Entries are made only while somebody reads.

extension ReactorHost {
    /// The action log from now on: everything that happens in this session, in one order.
    ///
    /// - Parameter limit: how far the reader may fall behind. Default: 1024 entries.
    public func log(buffer limit: Int = 1024) -> ReactorStream<ActionLogEntry<R>> {
        let (stream, feed) = ReactorStream<ActionLogEntry<R>>.make(buffer: limit)
        guard !isEnded else {
            feed.finish()
            return stream
        }
        let reader = ActionLogState<R>.Reader(receive: { feed.push($0) }, finish: { feed.finish() })
        forgetWhenAbandoned(feed, observer.add(reader))
        return stream
    }

    /// Sends a logger everything from now on, until it is removed or the session ends; what waits
    /// for it then it is still told.
    ///
    /// Several loggers get the same, in the same order. Adding one replaces none.
    ///
    /// - Parameters:
    ///   - logger: is called for every entry.
    ///   - limit: how many entries wait for it at most; what comes when they do is left out and
    ///     counted (``ActionLogger/missed(_:)``). Default: 1024.
    /// - Returns: what to remove it by.
    @discardableResult
    public func add(_ logger: some ActionLogger<R>, buffer limit: Int = 1024) -> LoggerToken {
        let queue = LoggerQueue<ActionLogEntry<R>>(limit: limit)
        let reader = ActionLogState<R>.Reader(
            receive: { entry in
                queue.push(entry)
                return true
            },
            finish: { queue.finish() })
        Task { @concurrent in
            while let batch = await queue.dequeue() {
                for entry in batch.elements { await logger.log(entry) }
                if batch.missed > 0 { await logger.missed(batch.missed) }
            }
        }
        guard !isEnded else {
            queue.finish()
            return LoggerToken(reader: 0)
        }
        return LoggerToken(reader: observer.add(reader))
    }

    /// Sends a logger only what already waits for it. An unknown token changes nothing.
    public func remove(_ logger: LoggerToken) {
        observer.finish(logger.reader)
    }
}
