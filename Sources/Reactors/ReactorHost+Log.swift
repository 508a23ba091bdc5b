// Entries are made only while there is a reader.

extension ReactorHost {
    /// The action log from now on: every event of this session, in order.
    ///
    /// - Parameter limit: The number of entries by which the reader may be behind. Default: 1024.
    public func log(buffer limit: Int = 1024) -> ReactorStream<ActionLogEntry<R>> {
        stream(buffer: limit) { feed in
            observer.add(
                ActionLogState<R>.Reader(
                    receive: { feed.push($0) }, finish: { feed.finish() }))
        }
    }

    /// Sends every later event to a logger, until it is removed or the session ends; entries that
    /// wait at that time are still delivered.
    ///
    /// Several loggers get the same entries in the same order. Adding a logger replaces none.
    ///
    /// - Parameters:
    ///   - logger: is called for every entry.
    ///   - limit: the maximum number of waiting entries; beyond it entries are left out and counted
    ///     (``ActionLogger/missed(_:)``). Default: 1024.
    /// - Returns: a token for removing it.
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

    /// Removes a logger, which still receives its waiting entries. An unknown token is ignored.
    public func remove(_ logger: LoggerToken) {
        observer.finish(logger.reader)
    }
}
