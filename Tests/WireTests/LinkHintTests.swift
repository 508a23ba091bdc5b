import Testing
import WireFeeds

@testable import Wire

@Suite("Links — hints of followed sessions", .timeLimit(.minutes(60)))
struct LinkHintTests {
    private let first = LinkHint(generation: "abcd1234", number: 5, part: 0)
    private let second = LinkHint(generation: "abcd1234", number: 6, part: 0)

    private func introduced(_ features: LinkFeatures = .hints) throws -> LinkEnds {
        try LinkEnds.introduced(features)
    }

    private func follow(_ session: String, _ ends: inout LinkEnds) throws -> UInt32 {
        let stream = ends.outgoing.follow(session)
        try ends.deliver()
        return try #require(stream)
    }

    @Test func `each followed session has hints of its own`() throws {
        var ends = try introduced()
        let (a, b) = (try follow("a", &ends), try follow("b", &ends))
        #expect(
            ends.incomingEvents == [
                .follow(stream: a, LinkFollow(session: "a")),
                .follow(stream: b, LinkFollow(session: "b")),
            ])
        ends.incoming.hint(b, second)
        #expect(ends.incoming.output.unsent.isEmpty, "it is written with the round")
        ends.incoming.writeHints()
        try ends.deliver()
        #expect(ends.outgoingEvents == [.hint(stream: b, second)])
    }

    @Test func `presence travels both ways on the streams of followed sessions`() throws {
        let (mine, others) = (
            LinkPresence(names: ["ada"], count: 1, others: 2),
            LinkPresence(names: nil, count: 200, others: 0)
        )
        var ends = try introduced([.hints, .presence])
        ends.outgoing.send(LinkPing(era: 1, features: [.hints, .presence]))
        let stream = try follow("a", &ends)
        let sent = [
            ends.outgoing.send(mine, on: stream), ends.incoming.send(others, on: stream),
        ]
        #expect(sent == [true, true])
        try ends.deliver()
        #expect(ends.incomingEvents.last == .presence(stream: stream, mine))
        #expect(ends.outgoingEvents.last == .presence(stream: stream, others))
        ends.outgoing.unfollow(stream)
        try ends.deliver()
        _ = ends.outgoing.send(mine, on: stream)
        #expect(ends.outgoing.output.unsent.isEmpty, "nobody follows it any more")
    }

    @Test func `a node that does not know presence is sent none`() throws {
        var ends = try introduced()
        let stream = try follow("a", &ends)
        let presence = LinkPresence(names: [], count: 0, others: 1)
        let sent = [
            ends.outgoing.send(presence, on: stream), ends.incoming.send(presence, on: stream),
        ]
        #expect(sent == [true, true], "it need not be sent again")
        #expect(ends.outgoing.output.unsent.isEmpty && ends.incoming.output.unsent.isEmpty)
    }

    // Such a node ends a link on which a kind comes that it does not know.
    @Test func `a node that does not say that it sends hints is asked for none`() throws {
        for features in [nil, [], LinkFeatures(rawValue: 2)] as [LinkFeatures?] {
            var ends = try features.map { try introduced($0) } ?? LinkEnds.opened()
            let stream = ends.outgoing.follow("a")
            #expect(stream == nil)
            #expect(ends.outgoing.output.unsent.isEmpty)
        }
    }

    @Test func `a newer hint replaces one that waits`() throws {
        var ends = try introduced()
        let stream = try follow("a", &ends)
        ends.incoming.hint(stream, first)
        ends.incoming.hint(stream, second)
        ends.incoming.writeHints()
        ends.incoming.writeHints()
        try ends.deliver()
        #expect(ends.outgoingEvents == [.hint(stream: stream, second)])
    }

    @Test func `hints wait for a node that does not read, one for each session`() throws {
        var ends = try introduced()
        let streams = [try follow("a", &ends), try follow("b", &ends)]
        let requests = try (0..<8).map { _ in
            try ends.send(LinkRequest(waitMilliseconds: 0, head: [], body: []))
        }
        try ends.deliver()
        let large = LinkAnswer(status: 200, body: [UInt8](repeating: 0, count: 1 << 20))
        for request in requests { ends.incoming.answer(request, large) }
        #expect(ends.incoming.isBlocked)
        let full = ends.incoming.output.unsent.count
        for number in 0..<1_000 as Range<UInt64> {
            for stream in streams {
                ends.incoming.hint(
                    stream, LinkHint(generation: "abcd1234", number: number, part: 0))
            }
            ends.incoming.writeHints()
        }
        #expect(ends.incoming.output.unsent.count == full)
        try ends.deliver()
        #expect(ends.incoming.hasHints)
        ends.incoming.writeHints()
        try ends.deliver()
        let hints = ends.outgoingEvents.suffix(2)
        let last = LinkHint(generation: "abcd1234", number: 999, part: 0)
        #expect(hints.contains(.hint(stream: streams[0], last)))
        #expect(hints.contains(.hint(stream: streams[1], last)))
        #expect(!ends.incoming.hasHints)
    }

    @Test func `hints end in both directions, also when both sides end them`() throws {
        var ends = try introduced()
        let (a, b) = (try follow("a", &ends), try follow("b", &ends))
        ends.incomingEvents = []
        // A hint is on its way.
        ends.incoming.hint(a, first)
        ends.incoming.writeHints()
        ends.outgoing.unfollow(a)
        ends.incoming.unfollow(b)
        ends.outgoing.unfollow(b)
        try ends.deliver()
        #expect(ends.outgoingEvents.isEmpty)
        #expect(ends.incomingEvents == [.unfollow(stream: a)])
        #expect(ends.outgoing.followed.isEmpty && ends.incoming.followed.isEmpty)
        ends.incoming.hint(a, second)
        #expect(!ends.incoming.hasHints)
        let third = try follow("a", &ends)
        #expect(![a, b].contains(third), "a late frame belongs to no later wish")
        ends.incoming.unfollow(third)
        try ends.deliver()
        #expect(ends.outgoingEvents == [.unfollowed(stream: third)])
    }

    @Test func `the sessions of a link are bounded, and more of them have no hints`() throws {
        var ends = try introduced()
        for _ in 0..<OutgoingLink.followLimit {
            let stream = ends.outgoing.follow("s")
            try #require(stream != nil)
        }
        let refused = ends.outgoing.follow("s")
        #expect(refused == nil)
        try ends.deliver()
        ends.incomingEvents = []
        // A peer with another bound is no fault.
        var more: [UInt8] = []
        LinkFollow(session: "t").append(stream: .max, to: &more)
        try ends.incoming.receive(more.span) { event in Issue.record("\(event)") }
        let answer = readFrames(Array(ends.incoming.output.unsent)).frames
        #expect(answer == [LinkFrame(.unfollow, stream: .max)])
        #expect(ends.incoming.followed.count == OutgoingLink.followLimit)
    }

    @Test func `a node that does not read is asked for no hints`() throws {
        var ends = try introduced()
        var large = LinkRequest(waitMilliseconds: 0, head: [], body: [])
        large.body = [UInt8](repeating: 0, count: 9 << 20)
        _ = ends.outgoing.send(large)
        let refused = ends.outgoing.follow("a")
        #expect(refused == nil)
    }

    @Test func `an end that finishes sends no hints`() throws {
        var ends = try introduced()
        let stream = try follow("a", &ends)
        ends.incoming.hint(stream, first)
        ends.incoming.finish()
        ends.incoming.writeHints()
        ends.incoming.hint(stream, second)
        ends.incoming.unfollow(stream)
        try ends.deliver()
        #expect(ends.outgoingEvents == [.last])
    }

    @Test func `an end that finishes promises no hints`() throws {
        var ends = try introduced()
        let request = try ends.send(LinkRequest(waitMilliseconds: 0, head: [], body: []))
        try ends.deliver()
        ends.incomingEvents = []
        ends.incoming.finish()
        let stream = try follow("a", &ends)
        #expect(ends.incomingEvents.isEmpty)
        #expect(ends.outgoingEvents == [.unfollowed(stream: stream)])
        ends.incoming.answer(request, LinkAnswer(status: 200))
        try ends.deliver()
        #expect(ends.outgoingEvents.last == .last)
    }

    @Test func `a stream is not followed twice at a time`() throws {
        for stream in [5, 0] as [UInt32] {
            var ends = try introduced()
            var bytes: [UInt8] = []
            LinkFollow(session: "a").append(stream: 5, to: &bytes)
            try ends.incoming.receive(bytes.span) { _ in }
            bytes = []
            LinkFollow(session: "b").append(stream: stream, to: &bytes)
            #expect(throws: LinkFault.repeatedStream(stream)) {
                try ends.incoming.receive(bytes.span) { _ in }
            }
        }
    }

    @Test func `a request and a followed session may have one number`() throws {
        var ends = try introduced()
        let stream = try follow("a", &ends)
        let request = try ends.send(LinkRequest(waitMilliseconds: 0, head: [], body: []))
        #expect(stream == request)
        try ends.deliver()
        ends.incoming.hint(stream, first)
        ends.incoming.writeHints()
        ends.incoming.answer(request, LinkAnswer(status: 200))
        try ends.deliver()
        #expect(
            ends.outgoingEvents == [
                .hint(stream: stream, first), .answer(stream: request, LinkAnswer(status: 200)),
            ])
        #expect(ends.outgoing.followed == [stream])
    }
}
