/// Records as text, one behind the other.
///
/// Each is a line of numbers with a space between any two: number, part, kind, version, action,
/// time, then the bytes of its content, of its traceparent, and for each event of its name and of
/// its data. Then all of that, end to end, and a line feed. Lengths, so that reading it looks at
/// no byte of it, and nothing in it has to be escaped.
enum RecordText {
    static func append(_ record: Record, to text: inout [UInt8]) {
        var pen = RecordPen()
        pen.begin(record.head, traceparent: record.traceparent)
        pen.content = record.content
        for event in record.events { pen.write(event.name, event.data) }
        pen.finish(&text)
    }

    /// Shows the records, for as long as `act` wants more. Answers whether it does still.
    ///
    /// - Throws: ``Damage``; what `act` throws.
    static func each(
        _ text: [UInt8], of key: SessionKey, _ reactor: String, act: (Record) throws -> Bool
    ) throws -> Bool {
        var reader = Reader(text: text, key: key, reactor: reactor)
        while !reader.isAtEnd {
            guard try act(try reader.next()) else { return false }
        }
        return true
    }

    /// It is not what ``append(_:to:)`` writes: somebody else has changed the file.
    struct Damage: Error, CustomStringConvertible {
        let session: String
        let place: String

        var description: String {
            "a record of the session \(session) behind \(place) is damaged"
        }
    }

    fileprivate static let lineFeed = UInt8(ascii: "\n")
    fileprivate static let space = UInt8(ascii: " ")

    private struct Reader {
        let text: [UInt8]
        let key: SessionKey
        let reactor: String
        private var place = 0
        private var last = "the beginning"

        init(text: [UInt8], key: SessionKey, reactor: String) {
            self.text = text
            self.key = key
            self.reactor = reactor
        }

        var isAtEnd: Bool { place == text.count }

        mutating func next() throws(Damage) -> Record {
            guard let record = read() else {
                throw Damage(session: key.session, place: last)
            }
            last = "record \(record.number)" + (record.part > 0 ? " note \(record.part)" : "")
            return record
        }

        private mutating func read() -> Record? {
            guard let number = takePlace(), let part = takeNumber().flatMap(UInt32.init(exactly:)),
                let kind = takeNumber().flatMap(UInt8.init(exactly:)).flatMap(
                    Record.Kind.init(rawValue:)),
                let version = takePlace(), let action = takePlace(), let time = takeNumber(),
                let contentBytes = takeNumber(), let traceBytes = takeNumber()
            else { return nil }
            var lengths: [(name: UInt64, data: UInt64)] = []
            while text[place - 1] == space {
                guard let name = takeNumber(), let data = takeNumber() else { return nil }
                lengths.append((name, data))
            }
            guard let content = takeBytes(contentBytes), let trace = takeBytes(traceBytes) else {
                return nil
            }
            var record = Record(
                session: key.session, reactor: reactor, generation: key.generation,
                number: number, version: version, kind: kind, content: Array(content),
                traceparent: trace.isEmpty ? nil : String(decoding: trace, as: UTF8.self))
            record.part = part
            record.action = action
            record.time = Int64(bitPattern: time)
            record.events.reserveCapacity(lengths.count)
            for length in lengths {
                guard let name = takeBytes(length.name), let data = takeBytes(length.data) else {
                    return nil
                }
                record.events.append(
                    Record.Event(name: String(decoding: name, as: UTF8.self), data: Array(data)))
            }
            guard takeBytes(1)?.first == lineFeed else { return nil }
            return record
        }

        /// A number that counts records, versions or actions.
        private mutating func takePlace() -> UInt64? {
            takeNumber().flatMap { $0 < RecordPlace.limit ? $0 : nil }
        }

        /// Digits, and the space or the end of the line behind them.
        private mutating func takeNumber() -> UInt64? {
            var number: UInt64 = 0
            let start = place
            while place < text.count, case let digit = text[place] &- UInt8(ascii: "0"), digit < 10
            {
                let (tens, isOver) = number.multipliedReportingOverflow(by: 10)
                let (sum, isMore) = tens.addingReportingOverflow(UInt64(digit))
                guard !isOver, !isMore else { return nil }
                number = sum
                place += 1
            }
            guard place > start, place < text.count,
                text[place] == space || text[place] == lineFeed
            else { return nil }
            place += 1
            return number
        }

        private mutating func takeBytes(_ count: UInt64) -> ArraySlice<UInt8>? {
            guard count <= UInt64(text.count - place) else { return nil }
            defer { place += Int(count) }
            return text[place..<(place + Int(count))]
        }
    }
}

/// Writes records as text, one at a time: begun, filled, finished. Its memory is kept.
package struct RecordPen {
    private var head = RecordHead(.created, number: 0)
    private var traceparent: String?
    /// Of each event the bytes of its name and of its data.
    private var lengths: [Int] = []
    private var events: [UInt8] = []
    /// The line of numbers is made here from its end on.
    private var line: [UInt8] = Array(repeating: RecordText.space, count: 256)

    /// One line of JSON.
    package var content: [UInt8] = []

    package init() {}

    package mutating func begin(_ head: RecordHead, traceparent: String?) {
        self.head = head
        self.traceparent = traceparent
        // A rush's memory is not kept for ever.
        content.removeAll(keepingCapacity: content.capacity <= Self.keptBytes)
        events.removeAll(keepingCapacity: events.capacity <= Self.keptBytes)
        lengths.removeAll(keepingCapacity: lengths.capacity <= Self.keptBytes)
    }

    private static let keptBytes = 65_536

    /// Adds an event that was sent to subscribers, in their order.
    package mutating func write(_ name: String, _ data: [UInt8]) {
        let start = events.count
        events.append(contentsOf: name.utf8)
        lengths.append(events.count - start)
        lengths.append(data.count)
        events.append(contentsOf: data)
    }

    /// Adds the record to a run that it continues.
    package mutating func finish(in run: inout RecordRun) {
        run.append(head) { finish(&$0) }
    }

    fileprivate mutating func finish(_ text: inout [UInt8]) {
        var start = line.count - 1
        line[start] = RecordText.lineFeed
        for length in lengths.reversed() { write(UInt64(length), before: &start) }
        write(UInt64(traceparent?.utf8.count ?? 0), before: &start)
        write(UInt64(content.count), before: &start)
        // No time is before 1970; one that says so comes back as it was.
        write(UInt64(bitPattern: head.time), before: &start)
        write(head.action, before: &start)
        write(head.version, before: &start)
        write(UInt64(head.kind.rawValue), before: &start)
        write(UInt64(head.part), before: &start)
        write(head.number, before: &start)
        text.append(contentsOf: line[start...])
        text.append(contentsOf: content)
        if let traceparent { text.append(contentsOf: traceparent.utf8) }
        text.append(contentsOf: events)
        text.append(RecordText.lineFeed)
    }

    /// Writes a number in front of what is there, with a space between the two.
    private mutating func write(_ number: UInt64, before start: inout Int) {
        // 2^64 has twenty digits.
        if start < 21 {
            line.insert(contentsOf: repeatElement(RecordText.space, count: line.count), at: 0)
            start += line.count / 2
        }
        if line[start] != RecordText.lineFeed {
            start -= 1
            line[start] = RecordText.space
        }
        var rest = number
        repeat {
            start -= 1
            line[start] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        } while rest > 0
    }
}
