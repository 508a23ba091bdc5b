import Feeds
import Sessions
import Testing

@Suite(
    "Contract §5, case 155 — an event is one chunk, framed once for all readers",
    .timeLimit(.minutes(60)))
struct ChunkedStreamTests {
    private static let starts: [@Sendable (Session) -> SubscriptionRequest.Start] = [
        { _ in .snapshot }, { _ in .now }, { _ in .start },
        { .after("\($0.generation.text).1") }, { _ in .after("garbage") },
    ]

    private func chunked(_ selection: Selection) -> Selection {
        var selection = selection
        selection.isChunked = true
        return selection
    }

    @Test(arguments: Simulation.selections, starts.indices)
    func `case 155: each chunk is one whole block, with the same content as in HTTP 1.0`(
        selection: Selection, start: Int
    ) throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        for body in [Post.several(3), Post.say("x")] { try rig.act(body, on: session) }
        let begin = Self.starts[start](session)
        let new = rig.subscribe(session, chunked(selection), begin)
        let old = rig.subscribe(session, selection, begin)
        for body in [Post.name("n"), Post.touch, Post.both(1, 2), Post.say("y")] {
            try rig.act(body, on: session)
        }
        _ = rig.end(session)
        rig.endRound()
        let body = StreamBody(rig.output.bytes(of: new))
        #expect(body.isChunked)
        #expect(body.content == rig.output.bytes(of: old))
        #expect(body.chunks.joined().utf8.elementsEqual(body.content), "the last chunk is whole")
        for chunk in body.chunks {
            #expect(chunk.hasSuffix("\n\n"))
            #expect(chunk.dropLast(2).firstRange(of: "\n\n") == nil, "one block in a chunk")
        }
    }

    @Test func `case 155: all chunked readers get the same bytes of one log`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let readers = (0..<3).map { _ in rig.subscribe(session, chunked(.everything)) }
        try rig.act(Post.both(1, 2), on: session)
        #expect(Set(readers.map { rig.output.bytes(of: $0) }).count == 1)
        #expect(rig.lines(readers[0]).count == 4)
    }

    @Test func `case 155: a reader that falls behind in the middle of a chunk gets its rest`()
        throws
    {
        for capacity in 0..<200 {
            let rig = Rig(retention: Retention(records: 3, bytes: 60))
            let session = try rig.create("s", .ledger())
            let stalled = rig.subscribe(session, chunked(.allPulses), .now, capacity: capacity)
            for a in 1...40 { try rig.act(Post.both(a, -a), on: session) }
            rig.output.setCapacity(nil, of: stalled)
            try rig.act(Post.set(99), on: session)
            let body = StreamBody(rig.output.bytes(of: stalled))
            #expect(body.chunks.joined().utf8.elementsEqual(body.content))
            #expect(body.chunks.allSatisfy { $0.hasSuffix("\n\n") }, "at capacity \(capacity)")
            #expect(rig.lines(stalled).last == "a 41 99")
        }
    }
}

@Suite(
    "Contract §5 — a stream has no block without an event before an id or an event",
    .timeLimit(.minutes(60)))
struct EmptyBlockTests {
    private func text(_ rig: Rig, _ reader: UInt64) -> String {
        String(decoding: rig.output.bytes(of: reader), as: UTF8.self)
    }

    @Test(arguments: Simulation.selections)
    func `case 155: a client that has an id gets no second one`(selection: Selection) throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        let reader = rig.subscribe(session, selection, .after(session.position.text))
        #expect(text(rig, reader) == "")
        let lost = rig.subscribe(session, selection, .after("garbage"))
        #expect(!text(rig, lost).contains("\n\nid: "))
    }

    @Test(arguments: Simulation.selections)
    func `case 155: a stream that begins with an event has no id before it`(
        selection: Selection
    ) throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.all(Post.set(1), Post.say("x"), Post.name("n")), on: session)
        for start in [SubscriptionRequest.Start.start, .snapshot]
        where selection.hasSnapshot || start.isFromStart {
            let reader = rig.subscribe(session, selection, start)
            #expect(text(rig, reader).hasPrefix("event: "))
        }
    }

    @Test(arguments: [Selection.allPulses, .allActivities, .log])
    func `a stream without an event yet has an id to continue from`(selection: Selection) throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        for start in [SubscriptionRequest.Start.now, .start] {
            let reader = rig.subscribe(session, selection, start)
            #expect(text(rig, reader) == "id: \(session.position.text)\n\n")
        }
    }

    @Test(arguments: [false, true])
    func `from=start over the journal has an id, if it shows nothing`(isChunked: Bool) throws {
        let rig = Rig(answers: true, retention: Retention(records: 2, bytes: 100))
        let session = try rig.create("s", .ledger())
        for a in 1...9 { try rig.act(Post.set(a), on: session) }
        var selection = Selection.allActivities
        selection.isChunked = isChunked
        let reader = rig.subscribe(session, selection, .start)
        for _ in 1...4 { rig.drainInbox() }
        let body = StreamBody(rig.output.bytes(of: reader))
        #expect(
            String(decoding: body.content, as: UTF8.self) == "id: \(session.position.text)\n\n")
        #expect(body.isChunked == isChunked)
        try rig.act(Post.say("x"), on: session)
        #expect(rig.transcript(reader).events.count == 1)
    }
}

extension SubscriptionRequest.Start {
    fileprivate var isFromStart: Bool {
        if case .start = self { true } else { false }
    }
}
