internal import Feeds
internal import JSONCoding
internal import Reactors
internal import Storage

// How far a session has read its topics (ADR-0078).
//
// Design: a session commits its place together with its changes for the value. So it gets each
// value once, whichever process continues it. The places are a row among the running actions. Each
// journal already keeps, replaces, exports and removes such rows with their session.

/// The places of the last values that a session has read, by the names of its readers.
struct TopicReads {
    private(set) var places: [String: TopicPosition] = [:]

    init(_ saved: SavedSession?) {
        let row = saved?.running.first { $0.action == RunningAction.topicsRead }
        guard let row else { return }
        // A row of another program may not decode. The session then begins at the topics' ends.
        let entries = (try? JSON.decode([Entry].self, stored: row.content)) ?? []
        for entry in entries { places[entry.reader] = entry.place }
    }

    /// An element of the row. Why the row is a list: a program without ADR-0078 tries to decode it
    /// as an action, and fails, because no action is a list.
    private struct Entry: Codable {
        let reader: String
        let place: TopicPosition
    }

    mutating func advance(_ reader: String, to place: TopicPosition) { places[reader] = place }

    mutating func removeAll() { places = [:] }

    var content: [UInt8] {
        var content: [UInt8] = []
        do {
            try JSON.encode(places.map(Entry.init), into: &content)
        } catch {
            preconditionFailure("texts and numbers have JSON: \(error)")
        }
        return content
    }
}

extension Session {
    /// Whether the session has read the topic up to this place.
    func hasRead(_ reader: String, _ place: TopicPosition?) -> Bool {
        guard let place, let known = persistence?.topics.places[reader] else { return false }
        return known.includes(place)
    }

    /// The place after which the session reads a topic: where it stopped, or the topic's end.
    ///
    /// - Parameters:
    ///   - end: the topic's end; nil if the topic has no session.
    ///   - hasPresent: whether the topic remembers a value. That value replaces those before it.
    func start(of reader: String, at end: TopicPosition?, hasPresent: Bool) -> TopicPosition? {
        let known = persistence?.topics.places[reader]
        guard let end else { return known }
        if let known, !hasPresent || known.includes(end) { return known }
        recordRead(reader, end)
        return end
    }

    /// Adds to the present step how far the session has read a topic.
    func recordRead(_ reader: String, _ place: TopicPosition) {
        guard let persistence else { return }
        persistence.topics.advance(reader, to: place)
        step().batch.started.append(
            RunningAction(
                session: id.text, generation: generation.text, action: RunningAction.topicsRead,
                content: persistence.topics.content))
    }

    /// Removes all places if the reactor no longer listens to any topic.
    func forgetReads() {
        guard registration.topics.isEmpty, let persistence, !persistence.topics.places.isEmpty
        else { return }
        persistence.topics.removeAll()
        noteSettled(RunningAction.topicsRead)
    }
}

/// The values of topics in the journal.
struct ArchivedTopics: TopicHistory {
    let archive: any Archive
    let hop: LoopServices.Hop

    /// The maximum number of bytes of a page of records.
    private static let pageBytes = 65_536

    func values(
        of topic: String, after start: TopicPosition, through last: UInt64
    ) async -> TopicPage? {
        guard let id = SessionID(topic: topic) else { return nil }
        var key = SessionKey(session: id.text, generation: start.generation)
        var from = HistoryPosition(start.number)
        while true {
            let (present, after) = (key, from)
            let found = await read { archive, answer in
                archive.records(
                    of: present, after: after, through: last, limitBytes: Self.pageBytes, answer)
            }
            guard let records = found else { return nil }
            let values = records.filter { $0.kind == .mutation }.map { record in
                (
                    place: TopicPosition(present.generation, record.number),
                    value: TopicValue(record.content) as any TopicDecoder
                )
            }
            if let newest = values.last { return TopicPage(values, to: newest.place) }
            // A page may have only the notes that precede a value.
            if let newest = records.last {
                from = newest.position
                continue
            }
            guard let answer = await read({ $0.head(of: id.text, $1) }) else { return nil }
            // There are no more values, unless another era has begun.
            guard let head = answer, head.key != key else {
                let end = min(max(start.number, last), answer?.end.number ?? start.number)
                return TopicPage([], to: TopicPosition(key.generation, end))
            }
            key = head.key
        }
    }

    /// - Returns: nil if the calling task was cancelled before the journal could be read.
    private func read<Value: Sendable>(
        _ ask: (any Archive, @escaping ArchiveAnswer<Value>) -> Void
    ) async -> Value? {
        while !Task.isCancelled {
            let result: Result<Value, JournalFailure> = await withCheckedContinuation { waiting in
                ask(archive) { waiting.resume(returning: $0) }
            }
            if case .success(let value) = result { return value }
            // The session must not skip a value, because it would be lost. So it waits for the
            // journal.
            let isRunning = await withCheckedContinuation { continuation in
                let isTaken = hop { $0.topics.waitForRetry(continuation) }
                if !isTaken { continuation.resume(returning: false) }
            }
            guard isRunning else { return nil }
        }
        return nil
    }
}

extension SessionTable {
    /// Earlier values of topics; nil if the journal has no archive.
    var topicHistory: (any TopicHistory)? {
        journal.archive.map { ArchivedTopics(archive: $0, hop: services.hop) }
    }
}
