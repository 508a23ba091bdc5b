/// The text forms of history entries: the file's here, the export's in `HistoryCodec+Export.swift`.
///
/// In a file entries follow one another. Each is a line of numbers separated by spaces: number,
/// part, kind, version, action, time, then the byte counts of the content, of the traceparent, and
/// for each event of its name and of its data. Then all of these, end to end, and a line feed. The
/// byte counts allow a reader to skip the contents without any escaping.
///
/// ``RecordEncoder`` writes this form.
package enum HistoryCodec {
    static func append(_ entry: HistoryEntry, to text: inout [UInt8]) {
        var encoder = RecordEncoder()
        encoder.begin(entry)
        encoder.finish(&text)
    }

    /// Decodes the entries of `text`, in order, for as long as `act` returns true.
    ///
    /// - Returns: false if `act` returned false.
    /// - Throws: ``Damage``; errors of `act`.
    package static func decode(
        _ text: [UInt8], of key: SessionKey, _ reactor: String, act: (HistoryEntry) throws -> Bool
    ) throws -> Bool {
        var reader = Reader(text: text, key: key, reactor: reactor)
        while !reader.isAtEnd {
            guard try act(try reader.next()) else { return false }
        }
        return true
    }

    /// The text has a form that ``append(_:to:)`` never writes: another program changed the file.
    struct Damage: Error, CustomStringConvertible {
        let session: String
        /// The last entry that could be read.
        let last: String

        var description: String {
            "a record of the session \(session) after \(last) is damaged"
        }
    }

    static let lineFeed = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")

    private struct Reader {
        let text: [UInt8]
        let key: SessionKey
        let reactor: String
        private var offset = 0
        private var last = "the beginning"

        init(text: [UInt8], key: SessionKey, reactor: String) {
            self.text = text
            self.key = key
            self.reactor = reactor
        }

        var isAtEnd: Bool { offset == text.count }

        mutating func next() throws(Damage) -> HistoryEntry {
            guard let record = read() else {
                throw Damage(session: key.session, last: last)
            }
            last = "record \(record.number)" + (record.part > 0 ? " note \(record.part)" : "")
            return record
        }

        private mutating func read() -> HistoryEntry? {
            guard let number = takeNumber(),
                let part = takeNumber().flatMap(UInt32.init(exactly:)),
                let position = HistoryPosition(stored: number, part: part),
                let kind = takeNumber().flatMap(UInt8.init(exactly:)).flatMap(
                    HistoryEntry.Kind.init(rawValue:)),
                let version = takeSequence(), let action = takeSequence(), let time = takeNumber(),
                let contentBytes = takeNumber(), let traceBytes = takeNumber(),
                // The state before a mutation has the version before it.
                kind != .mutation || version > 0
            else { return nil }
            var lengths: [(name: UInt64, data: UInt64)] = []
            while text[offset - 1] == space {
                guard let name = takeNumber(), let data = takeNumber() else { return nil }
                lengths.append((name, data))
            }
            guard let content = takeBytes(contentBytes), let trace = takeBytes(traceBytes) else {
                return nil
            }
            let head = HistoryEntry.Head(
                kind, at: position, version: version, action: action,
                time: Int64(bitPattern: time))
            var record = HistoryEntry(
                session: key.session, reactor: reactor, generation: key.generation, head: head,
                content: Array(content),
                traceparent: trace.isEmpty ? nil : String(decoding: trace, as: UTF8.self))
            record.events.reserveCapacity(lengths.count)
            for length in lengths {
                guard let name = takeBytes(length.name), let data = takeBytes(length.data) else {
                    return nil
                }
                record.events.append(
                    HistoryEntry.Event(
                        name: String(decoding: name, as: UTF8.self), data: Array(data)))
            }
            guard takeBytes(1)?.first == lineFeed else { return nil }
            return record
        }

        /// A number that counts versions or actions.
        private mutating func takeSequence() -> UInt64? {
            takeNumber().flatMap { $0 < HistoryPosition.limit ? $0 : nil }
        }

        /// Reads digits and the space or line end after them.
        private mutating func takeNumber() -> UInt64? {
            var number: UInt64 = 0
            let start = offset
            while offset < text.count, case let digit = text[offset] &- UInt8(ascii: "0"),
                digit < 10
            {
                let (tens, isOver) = number.multipliedReportingOverflow(by: 10)
                let (sum, isMore) = tens.addingReportingOverflow(UInt64(digit))
                guard !isOver, !isMore else { return nil }
                number = sum
                offset += 1
            }
            guard offset > start, offset < text.count,
                text[offset] == space || text[offset] == lineFeed
            else { return nil }
            offset += 1
            return number
        }

        private mutating func takeBytes(_ count: UInt64) -> ArraySlice<UInt8>? {
            guard count <= UInt64(text.count - offset) else { return nil }
            defer { offset += Int(count) }
            return text[offset..<(offset + Int(count))]
        }
    }
}
