package import Storage

/// Consecutive records that a session's owner has committed, on their way to nodes that follow the
/// session.
///
/// Why a node that follows may believe them: they are sent after the commit, and a position of a
/// generation has one content for ever, because the journal accepts only records that continue its
/// end. A deposed owner's commit is refused, and its records are not sent. If acknowledged records
/// are lost with a primary, every session has another generation in the era that begins. So the
/// records equal what the journal would return.
package struct CommittedRecords: Equatable, Sendable {
    /// For more bytes of text, a hint is sent instead.
    package static let limitBytes = 65_536

    package var generation: String
    /// The position that they continue.
    package var after: HistoryPosition
    /// The position of the last one.
    package var end: HistoryPosition
    /// The version there.
    package var version: UInt64
    /// As the journal keeps them.
    package var text: [UInt8]

    package init(
        _ generation: String, after: HistoryPosition, end: HistoryPosition, version: UInt64,
        text: [UInt8]
    ) {
        self.generation = generation
        self.after = after
        self.end = end
        self.version = version
        self.text = text
    }

    /// The records of a step; nil if there are none, too many, or those of a creation or of an end.
    package init?(_ runs: [RecordBatch]) {
        guard let first = runs.first, let after = first.after, let last = runs.last,
            last.deleted == nil, runs.reduce(0, { $0 + $1.text.count }) <= Self.limitBytes
        else { return nil }
        self.init(
            first.key.generation, after: after, end: last.last, version: last.version,
            text: runs.count == 1 ? first.text : runs.flatMap(\.text))
    }

    package var committedEnd: CommittedEnd { CommittedEnd(generation, end) }

    /// The entries, if they are those that come next after `present` and end where they say.
    ///
    /// They may come from any program that has the secret of the cluster, so nothing about them is
    /// assumed.
    package func entries(
        of key: SessionKey, _ reactor: String, after present: HistoryEnd
    ) -> [HistoryEntry]? {
        guard generation == key.generation, after == present.position,
            text.count <= Self.limitBytes
        else { return nil }
        var (found, last, version) = ([HistoryEntry](), present.position, present.version)
        do {
            let isWhole = try HistoryCodec.decode(text, of: key, reactor) { entry in
                version += entry.kind == .mutation ? 1 : 0
                guard entry.position.follows(last), entry.version == version,
                    entry.kind != .created, entry.kind != .deleted
                else { return false }
                last = entry.position
                found.append(entry)
                return true
            }
            return isWhole && last == end && version == self.version && !found.isEmpty ? found : nil
        } catch {
            return nil
        }
    }
}

/// One run of a program that writes records. The form of its records never changes.
package struct Writer: Hashable, Sendable {
    private let number: Int64

    package init(number: Int64) { self.number = number }
}

/// Records that the owner of a followed session has sent, until its subscribers here have got them.
struct ReceivedRecords {
    /// The position that the entries continue.
    private var after = HistoryPosition(0)
    /// Consecutive.
    private var entries: [HistoryEntry] = []
    private var bytes = 0

    /// Nil if it is not known.
    private(set) var writer: Writer?

    /// Beyond this, the older ones are dropped: the journal has them.
    private static let limitBytes = 4 * CommittedRecords.limitBytes

    mutating func append(
        _ more: [HistoryEntry], after position: HistoryPosition, by other: Writer, bytes: Int
    ) {
        let isNext = entries.last?.position == position && writer == other
        if !isNext || self.bytes + bytes > Self.limitBytes {
            removeAll()
            (after, writer) = (position, other)
        }
        entries += more
        self.bytes += bytes
    }

    /// The same as ``HistoryArchive/records(of:after:through:limitBytes:_:)``.
    ///
    /// - Returns: nil if the journal has to be read.
    func entries(
        after start: HistoryPosition, through last: UInt64, limitBytes: Int
    ) -> [HistoryEntry]? {
        guard !entries.isEmpty, start >= after else { return nil }
        var (found, bytes) = ([HistoryEntry](), 0)
        for entry in entries where entry.position > start {
            bytes += entry.storedBytes
            guard entry.number <= last, found.isEmpty || bytes <= limitBytes else { break }
            found.append(entry)
        }
        return found.isEmpty ? nil : found
    }

    mutating func removeAll() { (entries, bytes) = ([], 0) }
}

/// The feeds of a loop that keep received records, or events of them.
///
/// Why they are kept: most readers get an event within a pass or two. A slower reader reads the
/// journal.
package struct HeldRecords {
    private var feeds: [Feed] = []
    private var bytes = 0

    /// The limit for the bytes of all feeds of a loop. At the limit, all of them are dropped. One
    /// more message may exceed it.
    package static let limitBytes = 16 << 20

    package var isFull: Bool { bytes >= Self.limitBytes }

    package init() {}

    package mutating func append(_ feed: Feed, bytes: Int) {
        self.bytes += bytes
        guard let archive = feed.archive, !archive.holdsRecords else { return }
        archive.holdsRecords = true
        feeds.append(feed)
    }

    /// Called four times a second.
    package mutating func removeAll() {
        for feed in feeds { feed.dropReceived() }
        (feeds, bytes) = ([], 0)
    }
}
