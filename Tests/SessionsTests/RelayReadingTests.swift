import Testing

@testable import Feeds
@testable import Sessions

@Suite("A reader of the program waits, and its memory is bounded", .timeLimit(.minutes(60)))
struct RelayReadingTests {
    /// A reader, and what its relay sends.
    private struct Source {
        var reading: RelayReading
        private var key: RelayKey?

        init(_ number: UInt64, _ work: WorkBudget = WorkBudget()) throws {
            reading = RelayReading(
                number, of: try #require(SessionID("s")), from: .snapshot, limit: 256,
                countedBy: work
            ) { _, _ in .end(.unknown) }
            open()
        }

        mutating func open() {
            if case .open(let key, _) = reading.open({ _ in }) { self.key = key }
        }

        mutating func send(_ bytes: [UInt8] = [], end: RelayReport.End? = nil) throws {
            var report = RelayReport(key: try #require(key))
            (report.bytes, report.end) = (bytes, end)
            reading.receive(report)
        }

        /// Takes blocks until there is no next step.
        mutating func receive() -> [String] {
            var ids: [String] = []
            while case .block(let block)? = reading.next() { ids.append(block.id ?? "-") }
            return ids
        }
    }

    private func block(_ id: Int, _ bytes: Int) -> [UInt8] {
        let data = String(repeating: "7", count: bytes)
        let block = "event: state\nid: g.\(id)\ndata: \(data)\n\n"
        return Array("\(String(block.utf8.count, radix: 16))\r\n\(block)\r\n".utf8)
    }

    private func pause(_ step: RelayReading.Step?) -> Duration? {
        if case .reopen(let pause)? = step { pause } else { nil }
    }

    @Test func `while its session cannot be read, each pause is longer, up to a bound`() throws {
        var source = try Source(1)
        let problem = RelayReport.End.problem(RelayProblem(code: "quarantined", body: []))
        var pauses: [Duration?] = []
        for _ in 1...8 {
            try source.send(end: problem)
            pauses.append(pause(source.reading.next()))
            source.open()
        }
        #expect(
            pauses
                == [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 16_000].map {
                    .milliseconds($0)
                })
        try source.send(block(1, 10), end: .finished)
        #expect(source.receive() == ["g.1"])
        // `take` has consumed the step.
        source.open()
        try source.send(end: problem)
        #expect(pause(source.reading.next()) == .milliseconds(250))
    }

    @Test func `a relay that ends after an event is followed at once`() throws {
        var source = try Source(1)
        try source.send(block(1, 10), end: .finished)
        guard case .block? = source.reading.next() else { throw Rig.NoSession(id: "s") }
        #expect(pause(source.reading.next()) == .zero)
    }

    @Test func `the unread blocks of all readers have a bound together, and none is lost`() throws {
        // Optional bytes may use half of it.
        let work = WorkBudget(limit: 400_000)
        var (one, other) = (try Source(1, work), try Source(2, work))
        for number in 1...10 {
            try one.send(block(number, 50_000))
            try other.send(block(number, 50_000))
        }
        var (first, second) = (one.receive(), other.receive())
        #expect(first == ["g.1", "g.2", "g.3", "g.4"])
        #expect(second == ["g.1"], "a reader may always have one")
        #expect(work.used == 200_000)
        #expect(one.reading.takeCredit() == nil)
        while first.count < 10 || second.count < 10 {
            if second.count < 10, other.reading.wasRead() { second += other.receive() }
            if first.count < 10, one.reading.wasRead() { first += one.receive() }
            #expect(work.used <= 200_000)
            guard first.count + second.count < 30 else { break }
        }
        #expect(first == (1...10).map { "g.\($0)" })
        #expect(second == first)
    }

    @Test func `a block that is skipped takes no room`() throws {
        let work = WorkBudget(limit: 400_000)
        var source = try Source(1, work)
        for number in 1...10 {
            try source.send(block(number, 150_000))
            guard case .block? = source.reading.next() else { throw Rig.NoSession(id: "s") }
            source.reading.wasSkipped()
        }
        #expect(work.used == 0)
    }
}
