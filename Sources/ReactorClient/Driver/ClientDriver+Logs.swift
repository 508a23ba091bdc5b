internal import ClientMachine
internal import Reactors
internal import Synchronization

extension ClientDriver {
    func readLog(
        of hold: SessionHold, from start: LogReading.Start, limit: Int
    ) throws(ClientFailure) -> ReactorStream<RemoteLogEvent> {
        precondition(limit > 0, "a log needs room for one entry")
        defer { carryOut() }
        return try core.withLock { core throws(ClientFailure) in
            guard !core.isClosing else { throw .closed }
            guard core.sessions[hold.session]?.sink === hold.sink else { throw .ended(.left) }
            guard core.logs.count < limits.logs else {
                throw .exhausted("this client reads \(limits.logs) action logs already")
            }
            let reading = LogReading(hold.session, from: start, limit: min(limit, 1 << 20))
            let (stream, sink) = LogSink.make(
                core.newLog(), reading, bytesLimit: limits.bytesInLog
            ) { [weak self] id, amount in
                self?.post(.logRead(id, amount))
            } close: { [weak self] id in
                self?.closeLog(id)
            }
            core.add(sink)
            _ = core.decide(.readLog(sink.id, reading), at: clock.now)
            return stream
        }
    }

    func deliver(_ delivery: LogDelivery, to log: LogID) {
        core.withLock { $0.logs[log] }?.receive(delivery)
    }

    private func closeLog(_ id: LogID) {
        core.withLock { $0.removeLog(id) }
        post(.closeLog(id))
    }
}

/// The driver's end of an action log's stream.
final class LogSink: Sendable {
    let id: LogID
    let session: SessionName
    private let feed: ReactorStream<RemoteLogEvent>.Feed

    private init(
        _ id: LogID, _ session: SessionName, _ feed: ReactorStream<RemoteLogEvent>.Feed
    ) {
        self.id = id
        self.session = session
        self.feed = feed
    }

    /// - Parameter report: called in the reader's task when it has read a quarter of what may wait.
    ///   So a log that waits for its reader hears of it: half of that is read when nothing waits.
    static func make(
        _ id: LogID, _ reading: LogReading, bytesLimit: Int,
        report: @escaping @Sendable (LogID, LogAmount) -> Void,
        close: @escaping @Sendable (LogID) -> Void
    ) -> (ReactorStream<RemoteLogEvent>, LogSink) {
        let count = LogCount(limit: LogAmount(entries: reading.limit / 4, bytes: bytesLimit / 4))
        // The end needs no room of the reader.
        let (stream, feed) = ReactorStream<RemoteLogEvent>.make(
            buffer: reading.limit + 1
        ) { event in
            if let amount = count.add(event.amount) { report(id, amount) }
        }
        feed.whenAbandoned { close(id) }
        return (stream, LogSink(id, reading.session, feed))
    }

    func receive(_ delivery: LogDelivery) {
        let event = RemoteLogEvent(delivery)
        _ = feed.push(event)
        if event.isLast { feed.finish() }
    }

    func finish() { feed.finish() }
}

/// Counts what a reader has read.
private final class LogCount: Sendable {
    private let limit: LogAmount
    private let count = Mutex(LogAmount())

    init(limit: LogAmount) { self.limit = limit }

    func add(_ amount: LogAmount) -> LogAmount? {
        count.withLock { count in
            count.entries += amount.entries
            count.bytes += amount.bytes
            guard count.entries >= max(limit.entries, 1) || count.bytes >= max(limit.bytes, 1)
            else { return nil }
            defer { count = LogAmount() }
            return count
        }
    }
}
