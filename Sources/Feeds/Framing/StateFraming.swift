internal import JSONCoding
internal import Storage

/// Frames committed states for the streams of one feed.
///
/// Design: version by version, so that each is encoded once for all streams, and its parts are
/// found in one pass. A few bytes of actions may make many states, and there may be many streams:
/// after some megabytes a later pass continues. A stream without a live reader is not framed.
package struct StateFraming {
    let feed: Feed

    /// Larger states are encoded when they are framed, not with their records, because history
    /// keeps what is encoded with a record.
    static let aheadBytes = 256 << 10

    private var loop: FeedLoop { feed.loop }
    private var end: HistoryPosition { HistoryPosition(feed.history.committed.number) }

    private var streams: [SharedStream] {
        feed.streams.all.filter { $0.selection.readsStates }
    }

    private var limit: Int { feed.streams.limitBytes(loop.limits.retention) }

    /// Frames as much as the pass has room for, and leaves the rest to a later one.
    ///
    /// - Parameter isContinued: whether an earlier pass has left work. This pass then frames at
    ///   least something.
    func frame(isContinued: Bool = false) {
        // One commit may publish a session many times.
        guard !feed.areStatesLeft else { return }
        var lagging = streams.filter { $0.framedThrough < end }
        for stream in lagging where !stream.isRead { stream.skip(to: end) }
        lagging.removeAll { $0.framedThrough == end }
        defer {
            loop.buffers.shrinkScratch()
            feed.endReplay()
        }
        guard var number = lagging.map(\.framedThrough.number).min() else { return deliver() }
        var framed = 0
        var mustFrame = isContinued
        var isFirst = isContinued
        while number < end.number {
            guard mustFrame || !loop.pass.isUsedUp else { return continueLater() }
            mustFrame = false
            let version = Version(feed, after: number)
            if version.showBefore(to: lagging), loop.pass.isUsedUp { return continueLater() }
            for stream in lagging where stream.framedThrough.number == number {
                guard stream.isRead else {
                    stream.skip(to: end)
                    continue
                }
                // Streams of small events share the cost of the version, but each has its own
                // patch.
                guard isFirst || framed + loop.pass.patchWork <= loop.pass.limitBytes else {
                    return continueLater()
                }
                isFirst = false
                framed += frame(stream, version)
            }
            number += 1
        }
        deliver()
    }

    private func frame(_ stream: SharedStream, _ version: Version) -> Int {
        let made = stream.frameNext(
            of: feed, showing: version.shown(), scratch: &loop.buffers.scratch)
        loop.pass.count(made)
        settle(stream)
        return made
    }

    private func deliver() {
        for stream in streams {
            loop.deliver(stream)
        }
    }

    /// Keeps the stream within its limits: subscribers get its events, or fall behind.
    private func settle(_ stream: SharedStream) {
        loop.deliver(stream)
        if stream.isFull(limit) { stream.trim(keptAfter: stream.coveredAfter, limit: limit) }
        stream.account()
    }

    private func continueLater() {
        deliver()
        feed.areStatesLeft = true
        feed.continueLater()
    }

    /// The record after a position, with the state that it has left.
    private final class Version {
        private let feed: Feed
        private let number: UInt64
        private var state: ShownVersion?

        init(_ feed: Feed, after number: UInt64) {
            self.feed = feed
            self.number = number + 1
        }

        /// Sets the state before the record for the streams that show the record next and do not
        /// know their part of that state. This comes first, because a later state is found from an
        /// earlier one.
        ///
        /// - Returns: whether there are any.
        func showBefore(to streams: [SharedStream]) -> Bool {
            var before: ShownVersion?
            for stream in streams
            where stream.lacksPart && stream.framedThrough.number + 1 == number && stream.isRead {
                if before == nil {
                    guard feed.history.record(number)?.head.kind == .mutation else {
                        return false
                    }
                    before = feed.shown(at: number - 1)
                }
                if let before { stream.showsPart(of: before) }
            }
            return before != nil
        }

        func shown() -> ShownVersion? {
            if let state { return state }
            guard let (head, events) = feed.history.record(number), head.kind == .mutation else {
                return nil
            }
            let made = feed.shown(at: number, events)
            state = made
            return made
        }
    }
}
