internal import GRDB
internal import Synchronization

/// Where each session's records are in the tail: an index in the file would cost a page for each.
///
/// Invariants: only the writer changes it, after a commit and before its acknowledgement. A reader
/// copies its entries *before* it begins its transaction: then each of them is in the tail, or has
/// been moved to `records` within the view of that transaction.
final class TailIndex: Sendable {
    /// A row of the tail, described by its last record; 32 bytes.
    struct Entry {
        var sequence: Int64
        var number: UInt64
        var version: UInt64
        /// As in ``HistoryPosition``.
        var part: UInt32
        /// The number of records.
        var count: UInt32

        var position: HistoryPosition { HistoryPosition(number, part: part) }
    }

    private struct State {
        /// The entries in order, by the session's row.
        var runs: [Int64: [Entry]] = [:]
        var count = 0
        /// The first and the last sequence number.
        var sequences: ClosedRange<Int64>?
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.count } }

    /// Reads all entries from the file, whose tail is bounded.
    func rebuild(_ database: Database) throws {
        var fresh = State()
        try database.each(
            "SELECT place, session, number, part, version, count FROM tail ORDER BY place"
        ) { row in
            let position = try HistoryPosition(column: row.number(2), part: row.integer(3))
            let entry = Entry(
                sequence: row.integer(0), number: position.number, version: try row.number(4),
                part: position.part, count: UInt32(clamping: row.integer(5)))
            fresh.runs[row.integer(1), default: []].append(entry)
            fresh.count += Int(entry.count)
            fresh.sequences = (fresh.sequences?.lowerBound ?? row.integer(0))...row.integer(0)
        }
        let whole = fresh
        state.withLock { $0 = whole }
    }

    func append(_ entries: [(row: Int64, entry: Entry)]) {
        guard let first = entries.first?.entry, let last = entries.last?.entry else { return }
        state.withLock { state in
            state.sequences = (state.sequences?.lowerBound ?? first.sequence)...last.sequence
            for (row, entry) in entries {
                state.runs[row, default: []].append(entry)
                state.count += Int(entry.count)
            }
        }
    }

    /// Removes the entries of these sessions up to `sequence`.
    func drop(_ rows: [Int64], through sequence: Int64) {
        state.withLock { state in
            for row in rows {
                guard let run = state.runs[row] else { continue }
                let rest = Array(run.drop { $0.sequence <= sequence })
                for entry in run.dropLast(rest.count) { state.count -= Int(entry.count) }
                state.runs[row] = rest.isEmpty ? nil : rest
            }
            if let sequences = state.sequences {
                state.sequences =
                    sequence < sequences.upperBound ? (sequence + 1)...sequences.upperBound : nil
            }
        }
    }

    /// Removes all entries of these sessions.
    func remove(_ rows: Set<Int64>) {
        guard !rows.isEmpty else { return }
        state.withLock { state in
            for row in rows {
                for entry in state.runs.removeValue(forKey: row) ?? [] {
                    state.count -= Int(entry.count)
                }
            }
        }
    }

    var sequences: (first: Int64, last: Int64)? {
        state.withLock { $0.sequences.map { ($0.lowerBound, $0.upperBound) } }
    }

    func newest(of row: Int64) -> Entry? { state.withLock { $0.runs[row]?.last } }

    func holds(_ row: Int64) -> Bool { state.withLock { $0.runs[row] != nil } }

    /// The first `limit` entries with any record after `start`, up to the entry with `last`.
    func entries(
        of row: Int64, after start: HistoryPosition, through last: UInt64 = .max,
        limit: Int = .max
    ) -> [Entry] {
        state.withLock { state in
            guard let run = state.runs[row] else { return [] }
            let from = run.firstIndex(after: start)
            let rest = run[from...].prefix(limit)
            let end = rest.firstIndex { $0.number >= last && $0.part == 0 || $0.number > last }
            return Array(end.map { rest[...$0] } ?? rest)
        }
    }

    /// The entries of a session from the `offset`-th one on, up to a sequence number.
    func entries(of row: Int64, from offset: Int, through sequence: Int64, limit: Int) -> [Entry] {
        state.withLock { state in
            let run = state.runs[row] ?? []
            return Array(run.dropFirst(offset).prefix(limit).prefix { $0.sequence <= sequence })
        }
    }

    /// All sessions with entries in the tail, the one with the smallest row last.
    func rowsDescending() -> [Int64] { state.withLock { $0.runs.keys.sorted(by: >) } }
}

extension [TailIndex.Entry] {
    /// A binary search: there may be many entries.
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
