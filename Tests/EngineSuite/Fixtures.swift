package import Storage

// Values for tests of journals.

extension Batch {
    /// States the end upon which a part without records was decided.
    package mutating func expect(
        _ session: String, _ number: UInt64, part: UInt32 = 0, generation: String = "g1"
    ) {
        let position = HistoryPosition(number, part: part)
        expected.append(ExpectedEnd(.of(session, generation), at: position, lineage: 0))
    }
}

extension SessionKey {
    package static func of(_ session: String, _ generation: String = "g1") -> SessionKey {
        SessionKey(session: session, generation: generation)
    }
}

extension HistoryEntry {
    package static func created(_ session: String, _ generation: String = "g1") -> HistoryEntry {
        HistoryEntry(
            session: session, reactor: "alerts", generation: generation,
            head: Head(.created, at: HistoryPosition(0)))
    }

    /// A mutation whose version is its number by default.
    package static func mutation(
        _ session: String, _ number: UInt64, version: UInt64? = nil, generation: String = "g1",
        content: String? = nil
    ) -> HistoryEntry {
        HistoryEntry(
            session: session, reactor: "alerts", generation: generation,
            head: Head(
                .mutation, at: HistoryPosition(number), version: version ?? number, action: number,
                time: 1_000_000),
            content: Array((content ?? "{\"n\":\(number)}").utf8),
            events: [Event(name: "alertMessage", data: Array("\"\(number)\"".utf8))])
    }

    package static func noteEntry(
        _ session: String, before number: UInt64, _ part: UInt32, version: UInt64
    ) -> HistoryEntry {
        HistoryEntry(
            session: session, reactor: "alerts", generation: "g1",
            head: Head(.note, at: HistoryPosition(number, part: part), version: version),
            content: Array("{\"note\":\(part)}".utf8))
    }

    package static func deleted(
        _ session: String, _ number: UInt64, generation: String = "g1", time: Int64 = 1_000_000
    ) -> HistoryEntry {
        HistoryEntry(
            session: session, reactor: "alerts", generation: generation,
            head: Head(.deleted, at: HistoryPosition(number), version: number - 1, time: time))
    }

    /// The session's creation and its first `count` mutations.
    package static func life(_ session: String, _ count: UInt64) -> [HistoryEntry] {
        [.created(session)] + (1..<(count + 1)).map { .mutation(session, $0) }
    }
}

extension Snapshot {
    package static func of(_ session: String, _ number: UInt64, time: Int64 = 1_000_000) -> Snapshot
    {
        Snapshot(
            session: session, generation: "g1", number: number, version: number,
            lastAction: number, stateVersion: 3, state: Array("{\"at\":\(number)}".utf8),
            time: time)
    }
}

extension StoredAnswer {
    package static func of(_ session: String, _ key: String, time: Int64 = 1_000_000)
        -> StoredAnswer
    {
        StoredAnswer(
            session: session, generation: "g1", key: key, bodyDigest: [1, 2, 3], status: 200,
            body: Array("{\"version\":1}".utf8), time: time)
    }
}
