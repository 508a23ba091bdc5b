import Testing
import WireFeeds

@testable import Wire

@Suite("Links — values of topics have a stream as requests have", .timeLimit(.minutes(60)))
struct LinkStreamTests {
    private let answer = LinkAnswer(status: 200, body: [3])
    private let request = LinkRequest(waitMilliseconds: 0, head: [1], body: [])

    private func value(_ bodyBytes: Int = 1) -> LinkPublication {
        LinkPublication(
            place: 3, topic: "news", body: [UInt8](repeating: 1, count: bodyBytes))
    }

    private func introduced() throws -> LinkEnds { try LinkEnds.introduced(.topics) }

    private func send(_ ends: inout LinkEnds) throws -> UInt32 {
        let stream = ends.outgoing.send(value())
        return try #require(stream)
    }

    @Test func `each is answered, beside requests`() throws {
        var ends = try introduced()
        let streams = [
            try send(&ends), try ends.send(request), try send(&ends),
        ]
        #expect(Set(streams).count == 3)
        try ends.deliver()
        #expect(
            ends.incomingEvents == [
                .publish(stream: streams[0], value()), .request(stream: streams[1], request),
                .publish(stream: streams[2], value()),
            ])
        for stream in streams.reversed() { ends.incoming.answer(stream, answer) }
        try ends.deliver()
        #expect(ends.outgoingEvents == streams.reversed().map { .answer(stream: $0, answer) })
        #expect(ends.outgoing.underWay.isEmpty && ends.incoming.underWay.isEmpty)
    }

    // Such a node ends a link on which a kind comes that it does not know.
    @Test func `a node that does not say that it accepts them gets none`() throws {
        let others = LinkFeatures([.hints, .records])
        for features in [nil, [], others] as [LinkFeatures?] {
            var ends = try features.map { try LinkEnds.introduced($0) } ?? LinkEnds.opened()
            #expect(ends.outgoing.send(value()) == nil)
            #expect(ends.outgoing.output.unsent.isEmpty)
        }
    }

    @Test func `a node that does not read gets no more`() throws {
        var ends = try introduced()
        var sent = 0
        while ends.outgoing.send(value(1 << 20)) != nil { sent += 1 }
        #expect(sent == 8)
    }

    @Test func `those under way are bounded together with requests`() throws {
        var ends = try introduced()
        for _ in 0..<OutgoingLink.streamLimit { _ = try send(&ends) }
        #expect(ends.outgoing.send(value()) == nil)
        try ends.deliver()
        var more: [UInt8] = []
        value().append(stream: .max, to: &more)
        #expect(throws: LinkFault.tooManyStreams(limit: OutgoingLink.streamLimit)) {
            try ends.incoming.receive(more.span) { _ in }
        }
    }

    @Test func `one without room is answered early, and those after it are served`() throws {
        var ends = try introduced()
        _ = ends.outgoing.send(value(100_000))
        let next = try send(&ends)
        let all = Array(ends.outgoing.output.unsent)
        ends.outgoing.sent(all.count)
        try ends.incoming.receive(Array(all[..<50_000]).span) { Issue.record("\($0)") }
        #expect(ends.incoming.partialBytes >= 49_000)
        let skipped = ends.incoming.skipPartial()
        let refused = try #require(skipped)
        #expect(ends.incoming.partialBytes == 0)
        ends.incoming.answer(refused, answer)
        var events: [IncomingLink.Event] = []
        try ends.incoming.receive(Array(all[50_000...]).span) { events.append($0) }
        #expect(events == [.publish(stream: next, value())])
    }

    @Test func `an end that finishes serves none`() throws {
        var ends = try introduced()
        ends.incoming.finish()
        let stream = try send(&ends)
        try ends.deliver()
        #expect(ends.incomingEvents.isEmpty)
        #expect(ends.outgoingEvents == [.last])
        #expect(ends.outgoing.underWay == [stream], "it had no effect, as a request")
    }

    @Test func `a stream is not used twice at a time`() throws {
        for stream in [5, 0] as [UInt32] {
            var ends = try introduced()
            var bytes: [UInt8] = []
            request.append(stream: 5, to: &bytes)
            try ends.incoming.receive(bytes.span) { _ in }
            bytes = []
            value().append(stream: stream, to: &bytes)
            #expect(throws: LinkFault.repeatedStream(stream)) {
                try ends.incoming.receive(bytes.span) { _ in }
            }
        }
    }
}
