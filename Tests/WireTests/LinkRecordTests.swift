import Testing
import WireFeeds

@testable import Wire

@Suite("Links — records of followed sessions", .timeLimit(.minutes(60)))
struct LinkRecordTests {
    /// Ends that have said what they can.
    private func introduced(_ features: LinkFeatures = [.hints, .records]) throws -> LinkEnds {
        var ends = try LinkEnds.opened()
        ends.incoming.send(LinkPing(era: 1, features: [.hints, .records]))
        ends.outgoing.send(LinkPing(era: 1, features: features))
        try ends.deliver()
        ends.outgoingEvents = []
        ends.incomingEvents = []
        return ends
    }

    private func follow(_ session: String, _ ends: inout LinkEnds) throws -> UInt32 {
        let stream = ends.outgoing.follow(session)
        try ends.deliver()
        return try #require(stream)
    }

    /// The record of a number, with as many bytes.
    private func record(_ number: UInt64, bytes: Int = 3) -> LinkRecords {
        LinkRecords(
            afterNumber: number - 1, afterPart: 0, end: hint(number), version: number,
            text: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes))
    }

    private func hint(_ number: UInt64) -> LinkHint {
        LinkHint(generation: "abcd1234", number: number, part: 0)
    }

    private func written(_ ends: inout LinkEnds) throws -> [OutgoingLink.Event] {
        ends.incoming.writeHints()
        try ends.deliver()
        defer { ends.outgoingEvents = [] }
        return ends.outgoingEvents
    }

    @Test func `records that continue each other are one frame`() throws {
        var ends = try introduced()
        let stream = try follow("a", &ends)
        for number in 1...3 as ClosedRange<UInt64> { ends.incoming.records(stream, record(number)) }
        var all = record(1)
        all.append(record(2))
        all.append(record(3))
        #expect(try written(&ends) == [.records(stream: stream, all)])
        #expect(all.afterNumber == 0 && all.end.number == 3 && all.version == 3)
        #expect(all.text == [1, 1, 1, 2, 2, 2, 3, 3, 3])
        ends.incoming.records(stream, record(4))
        #expect(try written(&ends) == [.records(stream: stream, record(4))])
        #expect(try written(&ends).isEmpty)
    }

    // Such a node ends a link on which a kind comes that it does not know.
    @Test(arguments: [LinkFeatures.hints, [], nil] as [LinkFeatures?])
    func `a node that does not say that it accepts records gets hints`(features: LinkFeatures?)
        throws
    {
        var ends = try introduced(features ?? [])
        if features == nil {
            ends = try LinkEnds.opened()
            ends.incoming.send(LinkPing(era: 1, features: [.hints, .records]))
            try ends.deliver()
        }
        let stream = try follow("a", &ends)
        ends.outgoingEvents = []
        for number in 1...2 as ClosedRange<UInt64> { ends.incoming.records(stream, record(number)) }
        #expect(try written(&ends) == [.hint(stream: stream, hint(2))])
    }

    @Test func `records with a gap between them are a hint, and so are those after a hint`() throws
    {
        var ends = try introduced()
        let stream = try follow("a", &ends)
        ends.incoming.records(stream, record(1))
        ends.incoming.records(stream, record(3))
        #expect(try written(&ends) == [.hint(stream: stream, hint(3))])
        ends.incoming.hint(stream, hint(4))
        ends.incoming.records(stream, record(5))
        #expect(try written(&ends) == [.hint(stream: stream, hint(5))])
        ends.incoming.records(stream, record(6))
        ends.incoming.hint(stream, hint(7))
        #expect(try written(&ends) == [.hint(stream: stream, hint(7))])
        // Of another generation.
        var other = record(9)
        other.end.generation = "other123"
        ends.incoming.records(stream, record(8))
        ends.incoming.records(stream, other)
        #expect(try written(&ends) == [.hint(stream: stream, other.end)])
    }

    @Test func `more bytes of a session than a frame may have are a hint`() throws {
        var ends = try introduced()
        let stream = try follow("a", &ends)
        let half = LinkRecords.textLimitBytes / 2
        ends.incoming.records(stream, record(1, bytes: half))
        ends.incoming.records(stream, record(2, bytes: half))
        guard case .records(_, let all)? = try written(&ends).first else {
            Issue.record("as many as fit")
            return
        }
        #expect(all.text.count == LinkRecords.textLimitBytes)
        ends.incoming.records(stream, record(3, bytes: half))
        ends.incoming.records(stream, record(4, bytes: half + 1))
        #expect(try written(&ends) == [.hint(stream: stream, hint(4))])
        ends.incoming.records(stream, record(5, bytes: LinkRecords.textLimitBytes + 1))
        #expect(try written(&ends) == [.hint(stream: stream, hint(5))])
    }

    @Test func `the bytes of all sessions are bounded, and the others have hints`() throws {
        var ends = try introduced()
        let whole = LinkRecords.textLimitBytes
        let fitting = LinkNews.limitBytes / whole
        var streams: [UInt32] = []
        for number in 0...fitting { streams.append(try follow("s\(number)", &ends)) }
        // Twice: what was written counts no more. Before that, a session is left out
        // of the account.
        for round in 1...2 as ClosedRange<UInt64> {
            let left = try follow("left", &ends)
            ends.incoming.records(left, record(round, bytes: whole))
            ends.incoming.unfollow(left)
            try ends.deliver()
            ends.outgoingEvents = []
            for stream in streams {
                ends.incoming.records(stream, record(round, bytes: whole))
            }
            let events = try written(&ends)
            #expect(events.count == fitting + 1)
            #expect(events.contains(.hint(stream: streams[fitting], hint(round))))
            for stream in streams.dropLast() {
                #expect(events.contains(.records(stream: stream, record(round, bytes: whole))))
            }
        }
    }

    @Test func `records of a session that nobody follows are dropped`() throws {
        var ends = try introduced()
        let stream = try follow("a", &ends)
        ends.incoming.records(stream, record(1))
        ends.incoming.writeHints()
        // On their way.
        ends.outgoing.unfollow(stream)
        try ends.deliver()
        #expect(ends.outgoingEvents.isEmpty)
        ends.incoming.records(stream, record(2))
        #expect(!ends.incoming.hasHints)
    }

    @Test func `an end that finishes sends none`() throws {
        var ends = try introduced()
        let stream = try follow("a", &ends)
        ends.incoming.records(stream, record(1))
        ends.incoming.finish()
        ends.incoming.records(stream, record(2))
        #expect(try written(&ends) == [.last])
    }

    @Test func `records that come from the node that dialled end the link`() throws {
        var ends = try introduced()
        var bytes: [UInt8] = []
        record(1).append(stream: 1, to: &bytes)
        #expect(throws: LinkFault.unexpected(.records)) {
            try ends.incoming.receive(bytes.span) { _ in }
        }
    }
}
