internal import Storage
internal import Wire

extension JournalStatistics {
    /// A table for a reader: a line for each reactor, then the totals.
    var table: String {
        let head = ["reactor", "sessions", "records", "notes", "snapshots", "bytes"]
        let rows = reactors.map { reactor in
            [reactor.name]
                + [
                    reactor.sessions, reactor.records, reactor.notes, reactor.snapshots,
                    reactor.bytes,
                ].map(String.init)
        }
        return TextTable.lines([head] + rows) + "\n" + rest
    }

    private var rest: String {
        var lines = [
            "deleted sessions that are remembered: \(tombstones)",
            "stored answers: \(answers)", "running actions: \(running)",
            "records not yet moved to their sessions: \(tail)",
        ]
        if let oldest, let newest {
            lines.append("records from \(Self.date(oldest)) to \(Self.date(newest))")
        }
        lines.append("file: \(fileBytes) bytes, of which free: \(freeBytes)")
        return lines.joined(separator: "\n") + "\n"
    }

    /// RFC 3339, UTC.
    static func date(_ milliseconds: Int64) -> String {
        var text: [UInt8] = []
        Timestamp.append(milliseconds: milliseconds, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
