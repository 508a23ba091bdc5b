/// The events of a record as text: a line for each: name, tab, JSON.
///
/// Law: names have no control characters (they are checked when a reactor is registered), and an
/// event's JSON is one line (RFC 8259 §7: control characters are escaped).
enum EventLines {
    static func text(_ events: [Record.Event]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(events.reduce(0) { $0 + $1.name.utf8.count + $1.data.count + 2 })
        for event in events {
            text.append(contentsOf: event.name.utf8)
            text.append(0x09)
            text.append(contentsOf: event.data)
            text.append(0x0A)
        }
        return text
    }

    static func events(_ text: [UInt8]) -> [Record.Event] {
        text.split(separator: 0x0A).compactMap { line in
            guard let tab = line.firstIndex(of: 0x09) else { return nil }
            return Record.Event(
                name: String(decoding: line[..<tab], as: UTF8.self), data: Array(line[(tab + 1)...])
            )
        }
    }
}
