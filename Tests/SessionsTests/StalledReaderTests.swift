import Feeds
import Sessions
import Testing

@Suite("Contract §3.2 — a stalled reader delays nobody", .timeLimit(.minutes(60)))
struct StalledReaderTests {
    @Test func `case 134: a stalled reader resumes at the very byte`() throws {
        for capacity in 0..<120 {
            let rig = Rig()
            let session = try rig.create("s", .ledger())
            let reader = rig.subscribe(session, .allPulses, .snapshot, capacity: capacity)
            let other = rig.subscribe(session)
            for a in 1...3 { try rig.act(Post.both(a, -a), on: session) }
            #expect(rig.output.bytes(of: reader).count <= capacity)
            rig.output.setCapacity(nil, of: reader)
            #expect(rig.output.bytes(of: reader) == rig.output.bytes(of: other))
            try rig.act(Post.set(9), on: session)
            #expect(rig.lines(reader).last == "a 4 9")
        }
    }

    @Test func `a reader that accepts one byte at a time misses nothing`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .everything, .snapshot, capacity: 0)
        let other = rig.subscribe(session, .everything)
        for a in 1...5 {
            try rig.act(Post.several(a), on: session)
            for _ in 0..<7 { rig.output.setCapacity(1, of: reader) }
        }
        while rig.output.bytes(of: reader).count < rig.output.bytes(of: other).count {
            rig.output.setCapacity(1, of: reader)
        }
        #expect(rig.output.bytes(of: reader) == rig.output.bytes(of: other))
    }

    @Test func `a reader that fell behind gets a reset after its event; others notice nothing`()
        throws
    {
        for capacity in 0..<160 {
            let rig = Rig(retention: Retention(records: 3, bytes: 60))
            let session = try rig.create("s", .ledger())
            let other = rig.subscribe(session, .allPulses, .now)
            let stalled = rig.subscribe(session, .allPulses, .now, capacity: capacity)
            for a in 1...40 { try rig.act(Post.both(a, -a), on: session) }
            rig.output.setCapacity(nil, of: stalled)
            try rig.act(Post.set(99), on: session)
            #expect(rig.lines(other).count == 81)
            let all = rig.transcript(other).events
            let heard = rig.transcript(stalled).events
            let gap = try #require(
                heard.firstIndex { $0.name == "reset" }, "it fell out, at capacity \(capacity)")
            #expect(heard[..<gap] == all[..<gap], "what came before the gap is whole")
            #expect(heard[gap].data == #"{"reason":"trimmed"}"#)
            #expect(heard[gap + 1].name == "snapshot")
            #expect(heard[gap + 1].data == #"{"a":40,"b":-40,"filling":""}"#)
            #expect(heard[(gap + 2)...].map(\.description) == ["a 41 99"])
        }
    }

    @Test func `a reader that is cut off before the snapshot of a reset gets both again`() throws {
        let rig = Rig(retention: Retention(records: 3, bytes: 60))
        let session = try rig.create("s", .ledger())
        let stalled = rig.subscribe(session, .allPulses, .now, capacity: 10)
        for a in 1...40 { try rig.act(Post.set(a), on: session) }
        rig.output.setCapacity(nil, of: stalled)
        let bytes = rig.output.bytes(of: stalled)
        let blocks = StreamBody(bytes).content.split(separator: Array("\n\n".utf8))
        let reset = try #require(blocks.firstIndex { $0.starts(with: Array("event: reset".utf8)) })
        #expect(!blocks[reset].contains(Array("\nid: ".utf8)))
        // As EventSource: the last id of what was received, including the reset.
        let received = blocks[...reset].flatMap { Array($0) + Array("\n\n".utf8) }
        let last = Transcript(plain: received).lastEventID
        let again = rig.transcript(rig.subscribe(session, .allPulses, .after(last)))
        #expect(again.events.map(\.name) == ["reset", "snapshot"])
        #expect(again.events.last == rig.transcript(stalled).events.last)
    }

    @Test func `a reader may fall behind again and again`() throws {
        let rig = Rig(retention: Retention(records: 3, bytes: 60))
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .allPulses, .now, capacity: 10)
        for round in 1...20 {
            for a in 1...40 { try rig.act(Post.set(a), on: session) }
            rig.output.setCapacity(round * 3, of: reader)
        }
        rig.output.setCapacity(nil, of: reader)
        try rig.act(Post.set(-1), on: session)
        let events = rig.transcript(reader).events
        #expect(events.last?.data == "-1")
        #expect(events.allSatisfy { ["a", "reset", "snapshot"].contains($0.name) })
    }

    @Test func `the snapshot after a reset shows the committed state`() throws {
        let rig = Rig(slow: true, retention: Retention(records: 2, bytes: 10))
        let session = try rig.create("s", .ledger())
        rig.settle()
        let reader = rig.subscribe(session, .allPulses, .now, capacity: 0)
        for a in 1...60 {
            try rig.act(Post.set(a), on: session)
            rig.settle()
        }
        try rig.act(Post.set(61), on: session)
        rig.output.setCapacity(nil, of: reader)
        #expect(
            rig.lines(reader) == [
                #"reset 0 {"reason":"trimmed"}"#, #"snapshot 60 {"a":60,"b":0,"filling":""}"#,
            ])
        rig.settle()
        #expect(rig.lines(reader).last == "a 61 61")
    }

    @Test func `activities have no snapshot: a reset sets the position alone`() throws {
        let rig = Rig(retention: Retention(records: 2, bytes: 10))
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .allActivities, .now, capacity: 0)
        for number in 1...60 { try rig.act(Post.say("\(number)"), on: session) }
        rig.output.setCapacity(nil, of: reader)
        #expect(rig.lines(reader) == [#"reset 60 {"reason":"trimmed"}"#])
        #expect(rig.transcript(reader).lastEventID == session.position.text)
    }

    @Test func `a reader that stalls through the end gets the rest and then the end`() throws {
        for capacity in 0..<130 {
            let rig = Rig()
            var session: Session? = try rig.create("s", .ledger())
            let reader = rig.subscribe(try #require(session), .allPulses, .now, capacity: capacity)
            try rig.act(Post.both(1, 2), on: try #require(session))
            _ = rig.end(try #require(session))
            session = nil
            rig.endRound()
            rig.output.setCapacity(nil, of: reader)
            #expect(
                rig.lines(reader) == ["a 1.1 1", "b 1 2", #"end 2 {"reason":"deleted"}"#])
            #expect(rig.output.finished == [reader])
        }
    }

    @Test func `a reader that fell behind before the end gets a reset and the end, however late`()
        throws
    {
        let rig = Rig(retention: Retention(records: 2, bytes: 10))
        var session: Session? = try rig.create("s", .ledger())
        let reader = rig.subscribe(try #require(session), .allPulses, .now, capacity: 0)
        for a in 1...60 { try rig.act(Post.set(a), on: try #require(session)) }
        _ = rig.end(try #require(session))
        rig.endRound()
        weak let gone = session
        session = nil
        rig.output.forgetAnswers()
        #expect(gone == nil)
        rig.output.setCapacity(nil, of: reader)
        #expect(
            rig.lines(reader) == [
                #"reset 61 {"reason":"trimmed"}"#, #"end 61 {"reason":"deleted"}"#,
            ])
        #expect(rig.output.finished == [reader])
    }

    @Test func `a stream without readers is dropped`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let readers = (0..<3).map { _ in rig.subscribe(session, .everything) }
        #expect(rig.table.subscriberCount == 3)
        rig.output.disconnect(readers[1])
        rig.output.disconnect(readers[1])
        #expect(rig.table.subscriberCount == 2)
        try rig.act(Post.set(1), on: session)
        #expect(rig.lines(readers[0]).count == 3)
        #expect(rig.lines(readers[1]).count == 1)
        #expect(rig.lines(readers[2]).count == 3)
        rig.output.disconnect(readers[0])
        rig.output.disconnect(readers[2])
        #expect(rig.table.subscriberCount == 0)
        try rig.act(Post.set(2), on: session)
        #expect(rig.lines(rig.subscribe(session, .everything, .after(session.position.text))) == [])
    }
}
