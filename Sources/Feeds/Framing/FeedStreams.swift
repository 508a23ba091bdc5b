internal import JSONCoding
internal import Storage

/// The streams of a session: one for each selection that has subscribers.
///
/// Invariant: no two streams have the same selection.
///
/// Why methods return a changed copy: if a property is changed in place by a call that is not
/// inlined, each of its reads is checked for overlapping access at run time (ADR-0013).
package struct FeedStreams {
    package private(set) var all: [SharedStream] = []
    /// Invariant: true exactly if one of the streams shows states. The state after each mutation is
    /// then encoded at once, up to a limit.
    private(set) var showStates = false

    /// Up to this number of streams, each may keep as many bytes as a single one.
    private static let fullCount = 16

    package var isEmpty: Bool { all.isEmpty }

    /// Whether every subscriber has everything, and no read of the journal is under way.
    package var isAtRest: Bool { all.allSatisfy(\.isAtRest) }

    /// Whether each stream may keep fewer bytes than a single one.
    var areMany: Bool { all.count > Self.fullCount }

    func of(_ selection: Selection) -> SharedStream? { all.first { $0.selection == selection } }

    /// The subscribers of all streams, on all loops.
    package var subscriberCount: Int { all.reduce(0) { $0 + $1.readerCount } }

    /// Whether the selection has a stream, or one more stream is permitted.
    func hasRoom(for selection: Selection, limit: Int) -> Bool {
        all.count < limit || of(selection) != nil
    }

    /// The bytes that each stream may keep. All of them together may keep 16 times as many as a
    /// single one.
    func limitBytes(_ retention: Retention) -> Int {
        let limit = retention.bytes
        return areMany ? limit / all.count * Self.fullCount : limit
    }

    func adding(_ stream: SharedStream) -> FeedStreams { FeedStreams(all + [stream]) }

    func removing(_ stream: SharedStream) -> FeedStreams {
        FeedStreams(all.filter { $0 !== stream })
    }

    private init(_ streams: [SharedStream]) {
        all = streams
        showStates = streams.contains { $0.selection.readsStates }
    }

    init() {}
}

extension Selection {
    /// The position after which a stream needs everything, to serve a reader at `position`.
    func start(after position: HistoryPosition) -> HistoryPosition {
        log ? position : position.recordBefore
    }
}
