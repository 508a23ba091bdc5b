import EngineSuite
import Testing

@testable import Storage

@Suite("Records survive encoding as text, or are refused", .timeLimit(.minutes(60)))
struct RecordTextTests {
    private let key = SessionKey.of("s")

    private static let records: [HistoryEntry] = {
        let odd = HistoryEntry(
            session: "s", reactor: "alerts", generation: "g1",
            head: HistoryEntry.Head(
                .failure, at: HistoryPosition(HistoryPosition.limit - 1, part: .max - 1),
                version: HistoryPosition.limit - 1, action: 4_000_000_000_000_000_000, time: -1),
            content: Array("1 2 3\n4\t\u{0}é".utf8),
            events: [
                HistoryEntry.Event(name: "", data: []),
                HistoryEntry.Event(name: "a b\n", data: Array("\n0 0 0\n".utf8)),
            ], traceparent: "00-aa-bb-01")
        return [.created("s"), .mutation("s", 9), .noteEntry("s", before: 10, 1, version: 9), odd]
    }()

    private func read(_ text: [UInt8]) throws -> [HistoryEntry] {
        var found: [HistoryEntry] = []
        _ = try HistoryCodec.decode(text, of: key, "alerts") { record in
            found.append(record)
            return true
        }
        return found
    }

    private static let text: [UInt8] = {
        var text: [UInt8] = []
        for record in records { HistoryCodec.append(record, to: &text) }
        return text
    }()

    @Test func `any values survive encoding and decoding`() throws {
        #expect(try read(Self.text) == Self.records)
        #expect(try read([]) == [])
    }

    @Test func `any number of events survives encoding and decoding`() throws {
        var record = HistoryEntry.mutation("s", 1)
        for count in 0...200 {
            var text: [UInt8] = []
            HistoryCodec.append(record, to: &text)
            #expect(try read(text) == [record])
            let data = [UInt8](repeating: 7, count: count * 100)
            record.events.append(HistoryEntry.Event(name: "e\(count)", data: data))
        }
    }

    @Test func `records of several generations are read from a batch in order`() {
        var records: [HistoryEntry] = [.created("s"), .mutation("s", 1), .created("t")]
        records.append(.mutation("s", 2))
        records += [
            .noteEntry("s", before: 3, 1, version: 2), .noteEntry("s", before: 3, 2, version: 2),
        ]
        records += [.deleted("s", 3), .created("s", "g2"), .mutation("t", 1), .mutation("t", 3)]
        let batch = Batch(records: records)
        #expect(batch.records == records)
        #expect(batch.runs.map(\.count) == [2, 1, 4, 1, 1, 1])
        #expect(batch.runs.map { $0.created != nil } == [true, true, false, true, false, false])
        #expect(batch.runs.map { $0.deleted != nil } == [false, false, true, false, false, false])
    }

    @Test func `reading stops when the caller asks for it`() throws {
        var count = 0
        let wantsMore = try HistoryCodec.decode(Self.text, of: key, "alerts") { _ in
            count += 1
            return count < 2
        }
        #expect(count == 2)
        #expect(!wantsMore)
    }

    @Test func `text cut anywhere is read up to the last whole record, and the rest is reported`()
        throws
    {
        var ends: Set<Int> = [0]
        var text: [UInt8] = []
        for record in Self.records {
            HistoryCodec.append(record, to: &text)
            ends.insert(text.count)
        }
        for end in 0...text.count {
            let part = Array(text[..<end])
            guard ends.contains(end) else {
                #expect(throws: HistoryCodec.Damage.self) { try read(part) }
                continue
            }
            #expect(try read(part) == Array(Self.records.prefix(try read(part).count)))
        }
    }

    // Found by the fuzz target of records: arithmetic with these positions ended the process.
    @Test(arguments: [
        HistoryPosition(0, part: 1), HistoryPosition(0, part: .max), HistoryPosition(1, part: .max),
        HistoryPosition(HistoryPosition.limit), HistoryPosition(.max, part: 1),
    ])
    func `a position that no session has is damage`(_ position: HistoryPosition) throws {
        let (number, part) = (position.number, position.part)
        let kind = part == 0 ? 1 : 5
        let text = Array("\(number) \(part) \(kind) 0 0 0 0 0\n\n".utf8)
        #expect(throws: HistoryCodec.Damage.self) { try read(text) }
        let word = part == 0 ? "mutation" : "note"
        let line =
            #"{"record":\#(number),"part":\#(part),"kind":"\#(word)","version":0,"action":0,"#
            + #""time":0}"#
        let fields = try #require(JournalFields(Array(line.utf8)))
        #expect(throws: JournalFields.Missing.self) { try HistoryCodec.entry(fields, of: key) }
    }

    // Arithmetic with its version ended the process.
    @Test func `a mutation of version 0 is damage`() throws {
        #expect(throws: HistoryCodec.Damage.self) { try read(Array("1 0 1 0 0 0 0 0\n\n".utf8)) }
        _ = try read(Array("1 0 1 1 0 0 0 0\n\n".utf8))
    }

    // Found by the fuzz target of positions: a client may send any part.
    @Test func `nothing follows the greatest part but its record`() {
        let last = HistoryPosition(7, part: .max)
        #expect(HistoryPosition(7).follows(last))
        for part: UInt32 in [1, .max - 1, .max] {
            #expect(!HistoryPosition(7, part: part).follows(last))
        }
        #expect(HistoryPosition(7, part: 2).follows(HistoryPosition(7, part: 1)))
        #expect(HistoryPosition(7, part: 1).follows(HistoryPosition(6)))
        #expect(!HistoryPosition(7, part: 2).follows(HistoryPosition(6)))
    }

    @Test func `a changed byte yields a record with other values, or an error`() throws {
        for index in Self.text.indices {
            var text = Self.text
            for byte: UInt8 in [0, 0x0A, 0x20, 0x2D, 0x30, 0x39, 0xFF] {
                text[index] = byte
                // No crash, no endless loop, and never more records than possible.
                let found = (try? read(text)) ?? []
                #expect(found.count <= text.count / 16)
            }
        }
    }

    @Test func `the rows of a session become one when they move`() async throws {
        var retention = JournalRetention()
        retention.tailRecords = 500
        let rig = try JournalRig(retention)
        #expect(await rig.commit([.created("s"), .created("t")]) == nil)
        for number: UInt64 in 1...300 {
            #expect(await rig.commit([.mutation("s", number), .mutation("t", number)]) == nil)
        }
        await rig.journal.trimNow()
        let rows = try rig.count("SELECT count(*) FROM records")
        let moved = try rig.count("SELECT sum(count) FROM records")
        #expect(moved >= 500)
        #expect(rows <= moved / 50, "\(rows) rows for \(moved) records")
        #expect(try await rig.records("s").map(\.number) == Array(1...300))
        #expect(try JournalCheck(rig.path).run().problems == [])
    }
}
