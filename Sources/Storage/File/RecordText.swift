/// Records as text, one behind the other.
///
/// Each is a line of numbers with a space between any two: number, part, kind, version, action,
/// time, then the bytes of its content, of its traceparent, and for each event of its name and of
/// its data. Then all of that, end to end, and a line feed. Lengths, so that reading it looks at
/// no byte of it, and nothing in it has to be escaped.
enum RecordText {
    static func append(_ record: Record, to text: inout [UInt8]) {
        append(record.number, to: &text)
        append(UInt64(record.part), to: &text)
        append(UInt64(record.kind.rawValue), to: &text)
        append(record.version, to: &text)
        append(record.action, to: &text)
        // No time is before 1970; one that says so would come back as another.
        append(UInt64(bitPattern: record.time), to: &text)
        append(UInt64(record.content.count), to: &text)
        append(UInt64(record.traceparent?.utf8.count ?? 0), to: &text)
        for event in record.events {
            append(UInt64(event.name.utf8.count), to: &text)
            append(UInt64(event.data.count), to: &text)
        }
        text[text.count - 1] = lineFeed
        text.append(contentsOf: record.content)
        if let traceparent = record.traceparent { text.append(contentsOf: traceparent.utf8) }
        for event in record.events {
            text.append(contentsOf: event.name.utf8)
            text.append(contentsOf: event.data)
        }
        text.append(lineFeed)
    }

    /// Shows the records, for as long as `act` wants more. Answers whether it does still.
    ///
    /// - Throws: ``Damage``; what `act` throws.
    static func each(
        _ text: [UInt8], of life: Life, act: (Record) throws -> Bool
    ) throws -> Bool {
        var reader = Reader(text: text)
        while !reader.isAtEnd {
            guard try act(try reader.next(life)) else { return false }
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

    private static let lineFeed = UInt8(ascii: "\n")
    private static let space = UInt8(ascii: " ")

    /// The number and a space.
    private static func append(_ number: UInt64, to text: inout [UInt8]) {
        guard number >= 10 else {
            text.append(UInt8(ascii: "0") + UInt8(number))
            text.append(space)
            return
        }
        var digits = 1
        var bound: UInt64 = 10
        while number >= bound {
            digits += 1
            let (next, isOver) = bound.multipliedReportingOverflow(by: 10)
            guard !isOver else { break }
            bound = next
        }
        let start = text.count
        text.append(contentsOf: repeatElement(space, count: digits + 1))
        var rest = number
        var index = start + digits
        repeat {
            index -= 1
            text[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        } while rest > 0
    }

    private struct Reader {
        let text: [UInt8]
        private var place = 0
        private var last = "the beginning"

        init(text: [UInt8]) { self.text = text }

        var isAtEnd: Bool { place == text.count }

        mutating func next(_ life: Life) throws(Damage) -> Record {
            guard let record = read(life) else {
                throw Damage(session: life.key.session, place: last)
            }
            last = "record \(record.number)" + (record.part > 0 ? " note \(record.part)" : "")
            return record
        }

        private mutating func read(_ life: Life) -> Record? {
            guard let number = takeNumber(), let part = takeNumber().flatMap(UInt32.init(exactly:)),
                let kind = takeNumber().flatMap(UInt8.init(exactly:)).flatMap(
                    Record.Kind.init(rawValue:)),
                let version = takeNumber(), let action = takeNumber(), let time = takeNumber(),
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
                session: life.key.session, reactor: life.reactor, generation: life.key.generation,
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
