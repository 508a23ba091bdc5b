import Testing
import WireFeeds

@testable import Wire

/// The messages beside requests that have a stream, and an answer on it.
private enum Message: CaseIterable, CustomTestStringConvertible {
    case topicValue
    case partAction

    var testDescription: String {
        switch self {
        case .topicValue: "values of topics"
        case .partAction: "actions of parts"
        }
    }

    /// The word of a node that accepts them.
    var feature: LinkFeatures {
        switch self {
        case .topicValue: .topics
        case .partAction: .parts
        }
    }

    private func value(_ bodyBytes: Int) -> LinkPublication {
        LinkPublication(
            place: 3, topic: "news", body: [UInt8](repeating: 1, count: bodyBytes))
    }

    private func action(_ bodyBytes: Int) -> LinkPartAction {
        LinkPartAction(
            parent: "t", reactors: ["table"], subject: nil,
            body: [UInt8](repeating: 1, count: bodyBytes))
    }

    /// - Returns: The stream; nil if it was not sent.
    func send(_ ends: inout LinkEnds, bodyBytes: Int = 1) -> UInt32? {
        switch self {
        case .topicValue: ends.outgoing.send(value(bodyBytes))
        case .partAction: ends.outgoing.send(action(bodyBytes))
        }
    }

    func append(stream: UInt32, to bytes: inout [UInt8]) {
        switch self {
        case .topicValue: value(1).append(stream: stream, to: &bytes)
        case .partAction: action(1).append(stream: stream, to: &bytes)
        }
    }

    func event(_ stream: UInt32) -> IncomingLink.Event {
        switch self {
        case .topicValue: .publish(stream: stream, value(1))
        case .partAction: .partAction(stream: stream, action(1))
        }
    }
}

@Suite("Links — messages that have a stream as requests have", .timeLimit(.minutes(15)))
struct LinkStreamTests {
    private let answer = LinkAnswer(status: 200, body: [3])
    private let request = LinkRequest(waitMilliseconds: 0, head: [1], body: [])

    private func introduced(_ message: Message) throws -> LinkEnds {
        try LinkEnds.introduced(message.feature)
    }

    private func send(_ message: Message, _ ends: inout LinkEnds) throws -> UInt32 {
        let stream = message.send(&ends)
        return try #require(stream)
    }

    @Test(arguments: Message.allCases)
    fileprivate func `each is answered, beside requests`(_ message: Message) throws {
        var ends = try introduced(message)
        let streams = [
            try send(message, &ends), try ends.send(request), try send(message, &ends),
        ]
        #expect(Set(streams).count == 3)
        try ends.deliver()
        #expect(
            ends.incomingEvents == [
                message.event(streams[0]), .request(stream: streams[1], request),
                message.event(streams[2]),
            ])
        for stream in streams.reversed() { ends.incoming.answer(stream, answer) }
        try ends.deliver()
        #expect(ends.outgoingEvents == streams.reversed().map { .answer(stream: $0, answer) })
        #expect(ends.outgoing.underWay.isEmpty && ends.incoming.underWay.isEmpty)
    }

    // Such a node ends a link on which a kind comes that it does not know.
    @Test(arguments: Message.allCases)
    fileprivate func `a node that does not say that it accepts them gets none`(
        _ message: Message
    ) throws {
        let others = LinkFeatures([.hints, .records, .topics, .parts]).subtracting(message.feature)
        for features in [nil, [], others] as [LinkFeatures?] {
            var ends = try features.map { try LinkEnds.introduced($0) } ?? LinkEnds.opened()
            #expect(message.send(&ends) == nil)
            #expect(ends.outgoing.output.unsent.isEmpty)
        }
    }

    @Test(arguments: Message.allCases)
    fileprivate func `a node that does not read gets no more`(_ message: Message) throws {
        var ends = try introduced(message)
        var sent = 0
        while message.send(&ends, bodyBytes: 1 << 20) != nil { sent += 1 }
        #expect(sent == 8)
    }

    @Test(arguments: Message.allCases)
    fileprivate func `those under way are bounded together with requests`(
        _ message: Message
    ) throws {
        var ends = try introduced(message)
        for _ in 0..<OutgoingLink.streamLimit { _ = try send(message, &ends) }
        #expect(message.send(&ends) == nil)
        try ends.deliver()
        var more: [UInt8] = []
        message.append(stream: .max, to: &more)
        #expect(throws: LinkFault.tooManyStreams(limit: OutgoingLink.streamLimit)) {
            try ends.incoming.receive(more.span) { _ in }
        }
    }

    @Test(arguments: Message.allCases)
    fileprivate func `one without room is answered early, and those behind it are served`(
        _ message: Message
    ) throws {
        var ends = try introduced(message)
        _ = message.send(&ends, bodyBytes: 100_000)
        let next = try send(message, &ends)
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
        #expect(events == [message.event(next)])
    }

    @Test(arguments: Message.allCases)
    fileprivate func `an end that finishes serves none`(_ message: Message) throws {
        var ends = try introduced(message)
        ends.incoming.finish()
        let stream = try send(message, &ends)
        try ends.deliver()
        #expect(ends.incomingEvents.isEmpty)
        #expect(ends.outgoingEvents == [.last])
        #expect(ends.outgoing.underWay == [stream], "it had no effect, as a request")
    }

    @Test(arguments: Message.allCases)
    fileprivate func `a stream is not used twice at a time`(_ message: Message) throws {
        for stream in [5, 0] as [UInt32] {
            var ends = try introduced(message)
            var bytes: [UInt8] = []
            request.append(stream: 5, to: &bytes)
            try ends.incoming.receive(bytes.span) { _ in }
            bytes = []
            message.append(stream: stream, to: &bytes)
            #expect(throws: LinkFault.repeatedStream(stream)) {
                try ends.incoming.receive(bytes.span) { _ in }
            }
        }
    }
}
