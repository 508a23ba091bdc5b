internal import GRDB
internal import Synchronization

/// Which records of which session are in the tail, and where: what an index of it in the file
/// would say, if it did not cost a page for each session in each commit.
///
/// Invariants: the writer alone changes it, after a commit and before it is acknowledged. A reader
/// takes its entries *before* it begins its transaction: then each of them is in the tail, or has
/// been moved to `records` within what that transaction sees.
final class TailIndex: Sendable {
    /// A row of the tail, by its last record; 32 bytes.
    struct Entry {
        var place: Int64
        var number: UInt64
        var version: UInt64
        /// As in ``HistoryPosition``.
        var part: UInt32
        /// How many records there are.
        var count: UInt32

        var position: HistoryPosition { HistoryPosition(number, part: part) }
    }

    private struct Book {
        /// By the session's row, in order.
        var runs: [Int64: [Entry]] = [:]
        /// Of records.
        var count = 0
        /// The first and the last place.
        var places: ClosedRange<Int64>?
    }

    private let book = Mutex(Book())

    var count: Int { book.withLock { $0.count } }

    /// Reads it all from the file, whose tail is bounded.
    func rebuild(_ database: Database) throws {
        var fresh = Book()
        let rows = try database.cachedStatement(
            sql: "SELECT place, session, number, part, version, count FROM tail ORDER BY place")
        try rows.each { row in
            let entry = Entry(
                place: row.integer(0), number: try row.number(2), version: try row.number(4),
                part: try HistoryPosition.part(stored: row.integer(3)),
                count: UInt32(clamping: row.integer(5)))
            fresh.runs[row.integer(1), default: []].append(entry)
            fresh.count += Int(entry.count)
            fresh.places = (fresh.places?.lowerBound ?? row.integer(0))...row.integer(0)
            return true
        }
        let whole = fresh
        book.withLock { $0 = whole }
    }

    func append(_ entries: [(row: Int64, entry: Entry)]) {
        guard let first = entries.first?.entry, let last = entries.last?.entry else { return }
        book.withLock { book in
            book.places = (book.places?.lowerBound ?? first.place)...last.place
            for (row, entry) in entries {
                book.runs[row, default: []].append(entry)
                book.count += Int(entry.count)
            }
        }
    }

    /// Forgets what these sessions had in the tail up to `place`.
    func drop(_ rows: [Int64], through place: Int64) {
        book.withLock { book in
            for row in rows {
                guard let run = book.runs[row] else { continue }
                let rest = Array(run.drop { $0.place <= place })
                for entry in run.dropLast(rest.count) { book.count -= Int(entry.count) }
                book.runs[row] = rest.isEmpty ? nil : rest
            }
            if let places = book.places {
                book.places = place < places.upperBound ? (place + 1)...places.upperBound : nil
            }
        }
    }

    /// Forgets all that these sessions had in the tail.
    func remove(_ rows: Set<Int64>) {
        guard !rows.isEmpty else { return }
        book.withLock { book in
            for row in rows {
                for entry in book.runs.removeValue(forKey: row) ?? [] {
                    book.count -= Int(entry.count)
                }
            }
        }
    }

    /// The first and the last place that are taken.
    var places: (first: Int64, last: Int64)? {
        book.withLock { $0.places.map { ($0.lowerBound, $0.upperBound) } }
    }

    func newest(of row: Int64) -> Entry? { book.withLock { $0.runs[row]?.last } }

    func holds(_ row: Int64) -> Bool { book.withLock { $0.runs[row] != nil } }

    /// The first `limit` entries with anything after `start`, up to the one with the record `last`.
    func entries(
        of row: Int64, after start: HistoryPosition, through last: UInt64 = .max,
        limit: Int = .max
    ) -> [Entry] {
        book.withLock { book in
            guard let run = book.runs[row] else { return [] }
            let from = run.firstIndex(after: start)
            let rest = run[from...].prefix(limit)
            let end = rest.firstIndex { $0.number >= last && $0.part == 0 || $0.number > last }
            return Array(end.map { rest[...$0] } ?? rest)
        }
    }

    /// From the `offset`-th entry of a session on, up to a place.
    func entries(of row: Int64, from offset: Int, through place: Int64, limit: Int) -> [Entry] {
        book.withLock { book in
            let run = book.runs[row] ?? []
            return Array(run.dropFirst(offset).prefix(limit).prefix { $0.place <= place })
        }
    }

    /// All sessions with something in the tail, the one with the smallest row last.
    func rowsDescending() -> [Int64] { book.withLock { $0.runs.keys.sorted(by: >) } }
}

extension [TailIndex.Entry] {
    /// By halving: runs may be long.
    fileprivate func firstIndex(after start: HistoryPosition) -> Int {
        var low = startIndex
        var high = endIndex
        while low < high {
            let middle = (low + high) / 2
            if start < self[middle].position { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
