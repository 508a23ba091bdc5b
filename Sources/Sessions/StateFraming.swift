internal import JSONCoding
internal import Storage

/// Frames committed states for the streams of one session.
///
/// Design: version by version, so that each is encoded once for all streams, and its parts are
/// found in one pass. A few bytes of actions may make many states, and there may be many streams:
/// after some megabytes a later pass continues. A stream without a live reader is not framed.
struct StateFraming {
    let session: Session

    /// The bytes that are encoded and framed in one pass. The last state may exceed it.
    static let passBytes = 4 << 20
    /// Larger states are encoded when they are framed, not with their records, because history
    /// keeps what is encoded with a record.
    static let aheadBytes = 256 << 10

    private var table: SessionTable { session.table }
    private var end: HistoryPosition { HistoryPosition(session.history.committed.number) }

    private var streams: [SharedStream] {
        session.streams.all.filter { $0.selection.readsStates }
    }

    private var limit: Int { session.streams.limitBytes(table.limits.retention) }

    /// Frames as much as one pass may, and leaves the rest to a later one.
    func frame() {
        // One commit may publish a session many times.
        guard !session.isFramingStates else { return }
        var lagging = streams.filter { $0.framedThrough < end }
        for stream in lagging where !stream.isRead { stream.skip(to: end) }
        lagging.removeAll { $0.framedThrough == end }
        defer {
            table.buffers.shrinkScratch()
            session.endReplay()
        }
        guard var number = lagging.map(\.framedThrough.number).min() else { return deliver() }
        var made = 0
        while number < end.number {
            let version = Version(session, after: number)
            for stream in lagging where stream.framedThrough.number == number {
                guard stream.isRead else {
                    stream.skip(to: end)
                    continue
                }
                guard made + version.encodedBytes <= Self.passBytes else { return continueLater() }
                made += version.frame(stream)
                settle(stream)
            }
            made += version.encodedBytes
            number += 1
        }
        deliver()
    }

    /// Frames everything for a stream that is read from now on, or ends. If that is too much, its
    /// subscribers read the journal.
    func frameAll(of stream: SharedStream) {
        var made = 0
        while stream.framedThrough < end {
            guard stream.isRead else { return stream.skip(to: end) }
            guard made <= Self.passBytes else {
                stream.restart(at: end)
                return stream.forgetPart()
            }
            let version = Version(session, after: stream.framedThrough.number)
            made += version.frame(stream) + version.encodedBytes
            settle(stream)
        }
    }

    /// Subscribers fall behind if their stream has not framed entries that were trimmed.
    func leaveTrimmed() {
        for stream in streams where stream.framedThrough.number < session.history.keptAfter {
            stream.restart(at: end)
            stream.forgetPart()
        }
    }

    private func deliver() {
        for stream in streams {
            table.deliveries.deliver(stream, table.limits.deliveries, to: table.output)
        }
    }

    /// Keeps the stream within its limits: subscribers get its events, or fall behind.
    private func settle(_ stream: SharedStream) {
        table.deliveries.deliver(stream, table.limits.deliveries, to: table.output)
        if stream.isFull(limit) { stream.trim(keptAfter: stream.coveredAfter, limit: limit) }
        stream.account()
    }

    private func continueLater() {
        deliver()
        guard !session.isFramingStates else { return }
        session.isFramingStates = true
        table.background.append { [session] in
            session.isFramingStates = false
            if session.isAwake { session.publish() }
        }
    }

    /// The record after a position, with the state that it has left.
    private final class Version {
        private let session: Session
        private let number: UInt64
        private var state: ShownVersion?
        /// The state before the record.
        private var earlier: ShownVersion?
        /// The bytes of the states, if a stream has needed them.
        private(set) var encodedBytes = 0

        init(_ session: Session, after number: UInt64) {
            self.session = session
            self.number = number + 1
        }

        /// - Returns: the bytes of the events.
        func frame(_ stream: SharedStream) -> Int {
            // In the order of the versions: a later one is found from an earlier one.
            if stream.lacksPart { _ = before() }
            return stream.frameNext(
                of: session, showing: shown(), before: before,
                scratch: &session.table.buffers.scratch)
        }

        private func before() -> ShownVersion {
            if let earlier { return earlier }
            let made = version(session.state(at: number - 1)[...])
            earlier = made
            return made
        }

        private func version(_ bytes: ArraySlice<UInt8>) -> ShownVersion {
            encodedBytes += bytes.count
            return ShownVersion(bytes) { [session] in
                session.streams.all.compactMap(\.selection.pointer)
            }
        }

        private func shown() -> ShownVersion? {
            if let state { return state }
            guard let (head, events) = session.history.record(number), head.kind == .mutation else {
                return nil
            }
            let made = version(events.state ?? session.state(at: number)[...])
            state = made
            return made
        }
    }
}
