import Testing
import WireFeeds

@testable import Wire

@Suite("Links — actions of parts", .timeLimit(.minutes(15)))
struct LinkPartTests {
    private let action = LinkPartAction(
        parent: "t", reactors: ["table"], subject: nil, body: [1])
    private let answer = LinkAnswer(status: 200, body: [3])

    private func introduced(_ features: LinkFeatures = .parts) throws -> LinkEnds {
        try LinkEnds.introduced(features)
    }

    private func send(_ ends: inout LinkEnds) throws -> UInt32 {
        let stream = ends.outgoing.send(action)
        return try #require(stream)
    }

    @Test func `each action is answered, beside requests`() throws {
        var ends = try introduced()
        let request = LinkRequest(waitMilliseconds: 0, head: [1], body: [])
        let streams = [try send(&ends), try ends.send(request), try send(&ends)]
        #expect(Set(streams).count == 3)
        try ends.deliver()
        #expect(
            ends.incomingEvents == [
                .partAction(stream: streams[0], action), .request(stream: streams[1], request),
                .partAction(stream: streams[2], action),
            ])
        for stream in streams.reversed() { ends.incoming.answer(stream, answer) }
        try ends.deliver()
        #expect(ends.outgoingEvents == streams.reversed().map { .answer(stream: $0, answer) })
        #expect(ends.outgoing.underWay.isEmpty && ends.incoming.underWay.isEmpty)
    }

    // Such a node ends a link on which a kind comes that it does not know.
    @Test func `a node that does not say that it accepts actions gets none`() throws {
        for features in [nil, [], [.hints, .records, .topics]] as [LinkFeatures?] {
            var ends = try features.map { try introduced($0) } ?? LinkEnds.opened()
            let stream = ends.outgoing.send(action)
            #expect(stream == nil)
            #expect(ends.outgoing.output.unsent.isEmpty)
        }
    }

    @Test func `a node that does not read gets no more actions`() throws {
        var ends = try introduced()
        var large = action
        large.body = [UInt8](repeating: 0, count: 1 << 20)
        var sent = 0
        while ends.outgoing.send(large) != nil { sent += 1 }
        #expect(sent == 8)
    }

    @Test func `actions under way are bounded together with requests`() throws {
        var ends = try introduced()
        for _ in 0..<OutgoingLink.streamLimit { _ = try send(&ends) }
        let refused = ends.outgoing.send(action)
        #expect(refused == nil)
        try ends.deliver()
        var more: [UInt8] = []
        action.append(stream: .max, to: &more)
        #expect(throws: LinkFault.tooManyStreams(limit: OutgoingLink.streamLimit)) {
            try ends.incoming.receive(more.span) { _ in }
        }
    }

    @Test func `an action without room is answered early, and those behind it are served`() throws {
        var ends = try introduced()
        var large = action
        large.body = [UInt8](repeating: 0, count: 100_000)
        _ = ends.outgoing.send(large)
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
        #expect(events == [.partAction(stream: next, action)])
    }

    @Test func `an end that finishes serves no action`() throws {
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
            LinkRequest(waitMilliseconds: 0, head: [], body: []).append(stream: 5, to: &bytes)
            try ends.incoming.receive(bytes.span) { _ in }
            bytes = []
            action.append(stream: stream, to: &bytes)
            #expect(throws: LinkFault.repeatedStream(stream)) {
                try ends.incoming.receive(bytes.span) { _ in }
            }
        }
    }
}
