internal import JSONCoding

// An entry as one line of an exported journal; ``JournalLine`` describes all lines.
extension HistoryCodec {
    static func line(_ entry: HistoryEntry) -> [UInt8] {
        var line = JournalLine("record", entry.number)
        if entry.part > 0 { line.add("part", UInt64(entry.part)) }
        line.add("kind", entry.kind.word)
        line.add("version", entry.version)
        line.add("action", entry.action)
        line.add("time", entry.time)
        line.add("content", json: entry.content)
        line.add("events", events: entry.events)
        if let traceparent = entry.traceparent { line.add("traceparent", traceparent) }
        return line.finished
    }

    static func entry(
        _ fields: JournalFields, of key: SessionKey
    ) throws(JournalFields.Missing) -> HistoryEntry {
        guard let kind = HistoryEntry.Kind(word: try fields.string("kind")) else {
            throw JournalFields.Missing(name: "kind")
        }
        let head = HistoryEntry.Head(
            kind, at: try position(fields), version: try fields.number("version"),
            action: try fields.number("action"), time: try fields.integer("time"))
        return HistoryEntry(
            session: key.session, reactor: "", generation: key.generation, head: head,
            content: try fields.json("content"), events: try events(fields),
            traceparent: fields.has("traceparent") ? try fields.string("traceparent") : nil)
    }

    private static func position(
        _ fields: JournalFields
    ) throws(JournalFields.Missing) -> HistoryPosition {
        let number = try fields.number("record")
        guard fields.has("part") else { return HistoryPosition(number) }
        guard let part = UInt32(exactly: try fields.number("part")),
            let position = HistoryPosition(stored: number, part: part)
        else { throw JournalFields.Missing(name: "part") }
        return position
    }

    private static func events(
        _ fields: JournalFields
    ) throws(JournalFields.Missing) -> [HistoryEntry.Event] {
        guard let array = fields.members["events"] else { return [] }
        guard let elements = JSON.elements(of: array) else {
            throw JournalFields.Missing(name: "events")
        }
        var events: [HistoryEntry.Event] = []
        for element in elements {
            guard let fields = JournalFields(element) else {
                throw JournalFields.Missing(name: "events")
            }
            events.append(
                HistoryEntry.Event(
                    name: try fields.string("name"), data: try fields.json("data")))
        }
        return events
    }
}

extension HistoryEntry.Kind {
    /// The name of the kind in text lines and tables.
    var word: String { "\(self)" }

    init?(word: String) {
        let all: [HistoryEntry.Kind] = [.created, .mutation, .activity, .failure, .deleted, .note]
        guard let kind = all.first(where: { $0.word == word }) else { return nil }
        self = kind
    }
}
