import Testing

@testable import Wire

@Suite("Links — requests and answers between two ends", .timeLimit(.minutes(60)))
struct LinkEndsTests {
    private let request = LinkRequest(waitMilliseconds: 5, head: [1], body: [2])
    private let answer = LinkAnswer(status: 200, body: [3])

    @Test func `each request gets its own answer, in any order`() throws {
        var ends = try LinkEnds.opened()
        var streams: [UInt32] = []
        for _ in 0..<3 { streams.append(try ends.send(request)) }
        #expect(Set(streams).count == 3)
        try ends.deliver()
        #expect(ends.incomingEvents == streams.map { .request(stream: $0, request) })
        ends.incoming.answer(streams[2], answer)
        ends.incoming.answer(streams[0], LinkMoved(node: 9))
        try ends.deliver()
        #expect(
            ends.outgoingEvents == [
                .answer(stream: streams[2], answer),
                .moved(stream: streams[0], LinkMoved(node: 9)),
            ])
        #expect(ends.outgoing.underWay == [streams[1]])
        #expect(ends.incoming.underWay == [streams[1]])
    }

    @Test func `nothing is sent before the other node has proved itself`() throws {
        var ends = LinkEnds()
        let refused = ends.outgoing.send(request)
        #expect(refused == nil)
        ends.outgoing.send(LinkPing(era: 1, features: []))
        ends.incoming.send(LinkPing(era: 1, features: []))
        try ends.deliver()
        #expect(ends.outgoing.isOpen)
        #expect(ends.outgoingEvents == [.opened])
        #expect(
            ends.incomingEvents == [.opened(LinkHandshake.Peer(node: 1, loop: 4))])
        _ = try ends.send(request)
    }

    @Test func `a link with another secret does not open`() throws {
        var ends = LinkEnds(secret: [1])
        #expect(throws: LinkFault.otherSecret) { try ends.deliver() }
        #expect(ends.outgoing.awaitsProof)
        #expect(!ends.outgoing.isOpen)
        #expect(!ends.incoming.isOpen)
        #expect(ends.incomingEvents.isEmpty)
    }

    @Test func `a client that has gone leaves neither a stream nor an answer`() throws {
        var ends = try LinkEnds.opened()
        let stream = try ends.send(request)
        try ends.deliver()
        ends.outgoing.abandon(stream)
        // Both are on their way.
        ends.incoming.answer(stream, answer)
        try ends.deliver()
        #expect(ends.outgoingEvents.isEmpty)
        #expect(ends.outgoing.underWay.isEmpty)
        let second = try ends.send(request)
        try ends.deliver()
        ends.outgoing.abandon(second)
        try ends.deliver()
        #expect(ends.incomingEvents.last == .gone(stream: second))
        ends.incoming.answer(second, answer)
        #expect(ends.incoming.output.unsent.isEmpty)
    }

    @Test func `pings arrive in both directions`() throws {
        var ends = try LinkEnds.opened()
        ends.outgoing.send(LinkPing(era: 1, features: .hints))
        ends.incoming.send(LinkPing(era: 3, features: []))
        try ends.deliver()
        #expect(ends.incomingEvents == [.ping(LinkPing(era: 1, features: .hints))])
        #expect(ends.outgoingEvents == [.ping(LinkPing(era: 3, features: []))])
    }

    @Test func `an end that finishes answers what is under way, and serves nothing else`() throws {
        var ends = try LinkEnds.opened()
        let begun = try ends.send(request)
        try ends.deliver()
        ends.incoming.finish()
        #expect(!ends.incoming.hasFinished)
        let late = try ends.send(request)
        try ends.deliver()
        #expect(ends.incomingEvents == [.request(stream: begun, request)])
        ends.incoming.answer(begun, answer)
        #expect(ends.incoming.hasFinished)
        ends.incoming.send(LinkPing(era: 1, features: []))
        try ends.deliver()
        #expect(ends.outgoingEvents == [.answer(stream: begun, answer), .last])
        #expect(ends.outgoing.underWay == [late])
    }

    @Test func `an end finishes once nobody waits for what is under way`() throws {
        var ends = try LinkEnds.opened()
        let stream = try ends.send(request)
        try ends.deliver()
        ends.incoming.finish()
        ends.outgoing.abandon(stream)
        try ends.deliver()
        #expect(ends.outgoingEvents == [.last])
    }

    @Test func `an answer can be hurried while it is due`() throws {
        var ends = try LinkEnds.opened()
        let stream = try ends.send(request)
        ends.outgoing.hurry(stream)
        try ends.deliver()
        #expect(ends.incomingEvents.last == .hurry(stream: stream))
        ends.incoming.answer(stream, answer)
        ends.outgoing.hurry(stream)
        try ends.deliver()
        #expect(ends.incomingEvents.count == 2)
    }

    @Test func `requests under way are bounded`() throws {
        var ends = try LinkEnds.opened()
        for _ in 0..<OutgoingLink.streamLimit { _ = try ends.send(request) }
        let refused = ends.outgoing.send(request)
        #expect(refused == nil)
        #expect(!ends.outgoing.hasRoom)
        try ends.deliver()
        // A peer without the bound is refused.
        var more: [UInt8] = []
        request.append(stream: .max, to: &more)
        #expect(throws: LinkFault.tooManyStreams(limit: OutgoingLink.streamLimit)) {
            try ends.incoming.receive(more.span) { _ in }
        }
    }

    @Test func `a peer that does not read gets no more requests`() throws {
        var ends = try LinkEnds.opened()
        var large = request
        large.body = [UInt8](repeating: 0, count: 1 << 20)
        var sent = 0
        while ends.outgoing.send(large) != nil { sent += 1 }
        #expect(sent == 8)
        #expect(!ends.outgoing.hasRoom)
        // The kernel has accepted a part.
        ends.outgoing.sent(1 << 20)
        #expect(ends.outgoing.hasRoom)
    }

    private final class Charge: Sendable {}

    @Test func `the charge of an answer is held until its last byte is sent`() throws {
        var ends = try LinkEnds.opened()
        var streams: [UInt32] = []
        for _ in 0..<3 { streams.append(try ends.send(request)) }
        try ends.deliver()
        weak var first: Charge?
        weak var second: Charge?
        let large = LinkAnswer(status: 200, body: [UInt8](repeating: 1, count: 9 << 20))
        do {
            let charges = (Charge(), Charge())
            (first, second) = charges
            ends.incoming.answer(streams[0], large, holding: charges.0)
            ends.incoming.answer(streams[1], answer)
            ends.incoming.answer(streams[2], large, holding: charges.1)
        }
        #expect(ends.incoming.isBlocked, "no further request is read")
        #expect(!ends.incoming.output.isFullOfUncounted, "the budget bounds what is counted")
        let total = ends.incoming.output.unsent.count
        let each = (total - 50) / 2
        ends.incoming.sent(each)
        #expect(first != nil)
        ends.incoming.sent(100)
        #expect(first == nil)
        #expect(second != nil)
        ends.incoming.sent(total - each - 101)
        #expect(second != nil)
        ends.incoming.sent(1)
        #expect(second == nil)
        #expect(!ends.incoming.isBlocked)
    }

    @Test func `answers that no budget counts fill the link`() throws {
        var ends = try LinkEnds.opened()
        let small = LinkAnswer(status: 200, body: [UInt8](repeating: 1, count: 64 << 10))
        var count = 0
        while !ends.incoming.output.isFullOfUncounted {
            let stream = try ends.send(request)
            try ends.deliverRequests()
            ends.incoming.answer(stream, small)
            count += 1
        }
        #expect((127...128).contains(count))
    }

    @Test func `an answer that has arrived in part is skipped without the ones after it`() throws {
        var ends = try LinkEnds.opened()
        let (skipped, next) = (try ends.send(request), try ends.send(request))
        try ends.deliver()
        let large = LinkAnswer(status: 200, body: [UInt8](repeating: 1, count: 100_000))
        ends.incoming.answer(skipped, large)
        ends.incoming.answer(next, answer)
        let all = Array(ends.incoming.output.unsent)
        let (begin, rest) = (Array(all[..<50_000]), Array(all[50_000...]))
        try ends.outgoing.receive(begin.span) { event in Issue.record("\(event)") }
        let partial = try #require(ends.outgoing.partialAnswer)
        #expect(partial.stream == skipped)
        #expect(partial.bytes >= 49_000)
        ends.outgoing.skipPartialAnswer()
        #expect(ends.outgoing.partialAnswer == nil)
        #expect(ends.outgoing.underWay == [next])
        var events: [OutgoingLink.Event] = []
        try ends.outgoing.receive(rest.span) { events.append($0) }
        #expect(events == [.answer(stream: next, answer)])
    }

    @Test func `a request without room is answered early, and those after it are served`() throws {
        var ends = try LinkEnds.opened()
        var large = request
        large.body = [UInt8](repeating: 0, count: 100_000)
        let refused = try ends.send(large)
        let next = try ends.send(request)
        let all = Array(ends.outgoing.output.unsent)
        ends.outgoing.sent(all.count)
        let (begin, rest) = (Array(all[..<50_000]), Array(all[50_000...]))
        try ends.incoming.receive(begin.span) { event in Issue.record("\(event)") }
        #expect(ends.incoming.partialBytes >= 49_000)
        let stream = ends.incoming.skipPartial()
        #expect(stream == refused)
        #expect(ends.incoming.partialBytes == 0)
        ends.incoming.answer(refused, answer)
        var events: [IncomingLink.Event] = []
        try ends.incoming.receive(rest.span) { events.append($0) }
        #expect(events == [.request(stream: next, request)])
        ends.incoming.answer(next, answer)
        try ends.deliver()
        #expect(
            ends.outgoingEvents == [
                .answer(stream: refused, answer), .answer(stream: next, answer),
            ])
    }

    @Test func `an end that finishes leaves a request without room to another node`() throws {
        var ends = try LinkEnds.opened()
        let late = try ends.send(request)
        let all = Array(ends.outgoing.output.unsent)
        ends.outgoing.sent(all.count)
        let (begin, rest) = (Array(all.dropLast()), Array(all.suffix(1)))
        try ends.incoming.receive(begin.span) { event in Issue.record("\(event)") }
        ends.incoming.finish()
        let stream = ends.incoming.skipPartial()
        #expect(stream == nil)
        try ends.incoming.receive(rest.span) { event in Issue.record("\(event)") }
        try ends.deliver()
        #expect(ends.outgoingEvents == [.last])
        #expect(ends.outgoing.underWay == [late])
    }

    @Test func `a stream is not used twice at a time`() throws {
        var ends = try LinkEnds.opened()
        var bytes: [UInt8] = []
        request.append(stream: 5, to: &bytes)
        try ends.incoming.receive(bytes.span) { _ in }
        #expect(throws: LinkFault.repeatedStream(5)) {
            try ends.incoming.receive(bytes.span) { _ in }
        }
        var other = try LinkEnds.opened()
        bytes = []
        request.append(stream: 0, to: &bytes)
        #expect(throws: LinkFault.repeatedStream(0)) {
            try other.incoming.receive(bytes.span) { _ in }
        }
    }

    @Test func `each end refuses the frames that are not for it`() throws {
        for kind in LinkFrame.Kind.allCases where kind != .ping {
            var bytes: [UInt8] = []
            LinkFrame(kind, stream: 1, payload: [1]).append(to: &bytes)
            var ends = try LinkEnds.opened()
            #expect(throws: LinkFault.self) { try ends.outgoing.receive(bytes.span) { _ in } }
            // Any payload is a session's name there.
            guard kind != .follow else { continue }
            #expect(throws: LinkFault.self) { try ends.incoming.receive(bytes.span) { _ in } }
        }
    }

    @Test func `an answer to no request is dropped`() throws {
        var ends = try LinkEnds.opened()
        var bytes: [UInt8] = []
        answer.append(stream: 77, to: &bytes)
        try ends.outgoing.receive(bytes.span) { event in Issue.record("\(event)") }
    }
}

@Suite("Links — the bytes to send, and the signs of life", .timeLimit(.minutes(60)))
struct LinkOutputTests {
    @Test func `what is sent of counted bytes hides no others`() {
        final class Charge: Sendable {}
        var output = LinkOutput()
        output.append(holding: Charge()) { $0 += [UInt8](repeating: 1, count: 9 << 20) }
        #expect(!output.isFullOfUncounted)
        output.append { $0 += [UInt8](repeating: 2, count: LinkOutput.limitBytes) }
        #expect(output.isFullOfUncounted)
        output.removeFirst(8 << 20)
        #expect(output.isFullOfUncounted)
        output.removeFirst((1 << 20) + 1)
        #expect(!output.isFullOfUncounted)
    }

    @Test func `bytes leave in order, whatever the kernel accepts`() {
        var output = LinkOutput()
        let all = (0..<1_000).map { UInt8(truncatingIfNeeded: $0) }
        var sent: [UInt8] = []
        for (index, byte) in all.enumerated() {
            output.append { $0.append(byte) }
            guard index % 3 == 0 else { continue }
            let count = min(index % 7, output.unsent.count)
            sent += output.unsent.prefix(count)
            output.removeFirst(count)
        }
        #expect(sent + output.unsent == all)
        output.removeFirst(output.unsent.count)
        #expect(output.unsent.isEmpty)
    }

    private enum Moment {
        case dialled(Int64), received(Int64), resumed(Int64)
    }

    // Milliseconds. Without the phases, each link is silent a second after its beginning.
    @Test(
        arguments: [
            ("its name is looked up", [], 1_999, .alive),
            ("its name is looked up for long", [], 2_000, .overdue),
            ("a lookup is never a sign of the node", [], 60_000, .overdue),
            ("dialled after a long lookup", [.dialled(1_999)], 3_498, .alive),
            ("a lookup that was overdue ends", [.dialled(9_000)], 9_001, .alive),
            ("a SYN was lost, and the next one is on its way", [.dialled(0)], 1_499, .alive),
            ("nothing has come since it was dialled", [.dialled(0)], 1_500, .silent),
            ("open", [.dialled(0), .received(1_400)], 2_399, .alive),
            ("open, and then nothing", [.dialled(0), .received(1_400)], 2_400, .silent),
            ("the last bytes count", [.received(0), .received(900)], 1_899, .alive),
            ("paused itself while open", [.received(0), .resumed(5_000)], 5_999, .alive),
            ("silent after its own pause", [.received(0), .resumed(5_000)], 6_000, .silent),
            ("paused itself during the lookup", [.resumed(5_000)], 6_999, .alive),
            ("paused itself while dialling", [.dialled(0), .resumed(5_000)], 6_499, .alive),
        ] as [(String, [Moment], Int64, LinkPulse.Sign)])
    private func `only a node that was asked can be silent`(
        _ name: String, _ moments: [Moment], _ now: Int64, _ sign: LinkPulse.Sign
    ) {
        var pulse = LinkPulse(resolvingAt: 0)
        for moment in moments {
            switch moment {
            case .dialled(let time): pulse.dialled(at: time * 1_000_000)
            case .received(let time): pulse.received(at: time * 1_000_000)
            case .resumed(let time): pulse.resumed(at: time * 1_000_000)
            }
        }
        #expect(pulse.sign(at: now * 1_000_000) == sign, "\(name)")
    }

    @Test func `a ping is due a quarter of a second after the last bytes`() {
        var pulse = LinkPulse(openAt: 0)
        #expect(!pulse.isPingDue(at: LinkPulse.pingNanoseconds - 1))
        #expect(pulse.isPingDue(at: LinkPulse.pingNanoseconds))
        pulse.sent(at: LinkPulse.pingNanoseconds)
        #expect(!pulse.isPingDue(at: 2 * LinkPulse.pingNanoseconds - 1))
    }
}

/// Two ends of a link without a network between them.
struct LinkEnds {
    var outgoing: OutgoingLink
    var incoming: IncomingLink
    var outgoingEvents: [OutgoingLink.Event] = []
    var incomingEvents: [IncomingLink.Event] = []

    /// - Parameter secret: That of the node that dials; the other has `[7, …]`.
    init(secret: [UInt8] = [UInt8](repeating: 7, count: 32)) {
        outgoing = OutgoingLink(
            to: LinkHandshake.Peer(node: 2, loop: 4), from: 1, secret: secret,
            nonce: [UInt8](repeating: 1, count: 32), payloadLimitBytes: 2 << 20)
        incoming = IncomingLink(
            at: 2, secrets: [[UInt8](repeating: 7, count: 32)],
            nonce: [UInt8](repeating: 2, count: 32), payloadLimitBytes: 2 << 20)
    }

    /// Ends of which the one that listens has said what it can.
    static func introduced(_ features: LinkFeatures) throws -> LinkEnds {
        var ends = try opened()
        ends.incoming.send(LinkPing(era: 1, features: features))
        try ends.deliver()
        ends.outgoingEvents = []
        return ends
    }

    static func opened() throws -> LinkEnds {
        var ends = LinkEnds()
        try ends.deliver()
        ends.outgoingEvents = []
        ends.incomingEvents = []
        return ends
    }

    mutating func send(_ request: LinkRequest) throws -> UInt32 {
        let stream = outgoing.send(request)
        return try #require(stream)
    }

    /// Delivers all bytes, in pieces of any sizes, until neither end has more to send.
    mutating func deliver() throws {
        while !outgoing.output.unsent.isEmpty || !incoming.output.unsent.isEmpty {
            let question = Array(outgoing.output.unsent)
            outgoing.sent(question.count)
            var requests: [IncomingLink.Event] = []
            defer { incomingEvents += requests }
            for piece in Self.pieces(question) {
                try incoming.receive(piece.span) { requests.append($0) }
            }
            let reply = Array(incoming.output.unsent)
            incoming.sent(reply.count)
            var answers: [OutgoingLink.Event] = []
            defer { outgoingEvents += answers }
            for piece in Self.pieces(reply) {
                try outgoing.receive(piece.span) { answers.append($0) }
            }
        }
    }

    /// Delivers the requests alone: the end that has sent them does not read.
    mutating func deliverRequests() throws {
        let question = Array(outgoing.output.unsent)
        outgoing.sent(question.count)
        try incoming.receive(question.span) { _ in }
    }

    private static func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
        guard bytes.count > 2 else { return [bytes] }
        let cut = bytes.count / 3
        return [Array(bytes[..<cut]), Array(bytes[cut...])]
    }
}
