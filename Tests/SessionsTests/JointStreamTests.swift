import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("Several sessions on one stream", .timeLimit(.minutes(60)))
struct JointStreamTests {
    /// A rig with the sessions a, b and c.
    private func rig(retention: Retention = Retention()) throws -> (Rig, [Session]) {
        let rig = Rig(retention: retention)
        let sessions = try ["a", "b", "c"].map { try rig.create($0, .ledger()) }
        return (rig, sessions)
    }

    private func connect(
        _ rig: Rig, _ reader: JointReader, from start: SubscriptionRequest.Start = .snapshot,
        after: String? = nil, capacity: Int? = nil
    ) throws -> JointReader.Connection {
        let connection = try #require(
            reader.connect(rig, from: start, after: after, capacity: capacity))
        rig.drainInbox()
        return connection
    }

    /// Name and data of each event, with the session before the name.
    private func lines(_ connection: JointReader.Connection) -> [String] {
        connection.blocks.map { "\($0.name ?? "-") \($0.data ?? "")" }
    }

    /// Checks the vectors of all connections, and that each session's events are those of
    /// its own stream.
    private func check(_ rig: Rig, _ reader: JointReader, isOver: Set<String> = []) throws {
        let readers = reader.readers(rig) { Issue.record("\($0)") }
        for (session, reader) in zip(reader.sessions, readers) {
            let records = rig.journal.all.filter { $0.session == session.text }
            let truth = try Truth(rig.journal.all, of: try #require(records.last).key, from: nil)
            reader.check(
                rig, against: truth, "\(session.text)", mayReset: false,
                isOver: isOver.contains(session.text))
        }
    }

    @Test func `events have the names, data and positions of the sessions' own streams`() throws {
        let (rig, sessions) = try rig()
        let reader = JointReader(["b", "a"], .everything)
        let connection = try connect(rig, reader)
        try rig.act(Post.both(1, 2), on: sessions[0])
        try rig.act(Post.say("hi"), on: sessions[1])
        rig.drainInbox()
        let (a, b) = (sessions[0].generation.text, sessions[1].generation.text)
        #expect(
            connection.blocks.map(\.name) == [
                "b/snapshot", "a/snapshot", "a/a", "a/b", "a/state", "b/said",
            ])
        #expect(
            connection.blocks.map(\.id) == [
                "\(b).0,-", "\(b).0,\(a).0", "\(b).0,\(a).1.1", "\(b).0,\(a).1.2", "\(b).0,\(a).1",
                "\(b).1,\(a).1",
            ])
        try check(rig, reader)
    }

    @Test func `ids=own: an event has its session's position`() throws {
        let (rig, sessions) = try rig()
        let reader = JointReader(["a", "nobody", "b"], .allPulses, idsAreOwn: true)
        let connection = try connect(rig, reader)
        try rig.act(Post.set(3), on: sessions[1])
        rig.drainInbox()
        let (a, b) = (sessions[0].generation.text, sessions[1].generation.text)
        #expect(connection.blocks.map(\.id) == ["a/\(a).0", "nobody/x", "b/\(b).0", "b/\(b).1"])
    }

    @Test func `cut at any byte and resumed: every event once`() throws {
        let length = try transcript(cutAt: nil)
        for cut in 0...length { _ = try transcript(cutAt: cut) }
    }

    /// - Returns: the number of bytes of the first connection.
    private func transcript(cutAt cut: Int?) throws -> Int {
        let (rig, sessions) = try rig()
        let reader = JointReader(["a", "b", "c"], .everything)
        let first = try connect(rig, reader, capacity: cut)
        for number in 1...3 {
            for session in sessions { try rig.act(Post.both(number, -number), on: session) }
            rig.drainInbox()
        }
        _ = try connect(rig, reader)
        try rig.act(Post.set(9), on: sessions[1])
        rig.drainInbox()
        try check(rig, reader)
        return first.bytes.count
    }

    @Test func `a connection that accepts one byte at a time misses nothing`() throws {
        let (rig, sessions) = try rig()
        let reader = JointReader(["a", "b", "c"], .everything)
        let connection = try connect(rig, reader, capacity: 0)
        for number in 1...4 {
            for session in sessions { try rig.act(Post.several(number), on: session) }
            rig.drainInbox()
        }
        var count = -1
        while connection.bytes.count > count {
            count = connection.bytes.count
            connection.setCapacity(1)
            rig.drainInbox()
        }
        try check(rig, reader)
    }

    @Test func `from now and from the start`() throws {
        let (rig, sessions) = try rig()
        try rig.act(Post.set(1), on: sessions[0])
        let (now, start) = (
            JointReader(["a", "b"], .allPulses), JointReader(["a", "b"], .allPulses)
        )
        let connections = (
            try connect(rig, now, from: .now), try connect(rig, start, from: .start)
        )
        try rig.act(Post.set(2), on: sessions[0])
        rig.drainInbox()
        #expect(lines(connections.0) == ["- ", "- ", "a/a 2"])
        #expect(lines(connections.1) == ["a/a 1", "- ", "a/a 2"])
        try check(rig, now)
        try check(rig, start)
    }

    @Test func `a text that is no vector: each session gets a reset and begins anew`() throws {
        let (rig, sessions) = try rig()
        try rig.act(Post.set(1), on: sessions[0])
        let reader = JointReader(["a", "b"], .allPulses)
        for text in [
            "", "-", "-,-,-", "\(sessions[0].position.text)", "a/\(sessions[0].position.text)",
        ] {
            let connection = try connect(rig, reader, after: text)
            #expect(
                lines(connection) == [
                    #"a/reset {"reason":"malformed"}"#, #"a/snapshot {"a":1,"b":0,"filling":""}"#,
                    #"b/reset {"reason":"malformed"}"#, #"b/snapshot {"a":0,"b":0,"filling":""}"#,
                ])
        }
    }

    @Test func `a reader that is cut off between resets gets those that are left`() throws {
        let (rig, sessions) = try rig()
        let reader = JointReader(["a", "b", "c"], .allPulses)
        let first = try connect(rig, reader, from: .now, after: "-")
        #expect(
            first.blocks.map(\.id) == [
                nil, "\(sessions[0].position.text),00000000.0,00000000.0",
                nil, "\(sessions[0].position.text),\(sessions[1].position.text),00000000.0",
                nil, sessions.map(\.position.text).joined(separator: ","),
            ])
        first.lose()
        let second = try connect(rig, reader, from: .now, after: first.blocks[1].id)
        #expect(
            lines(second) == [
                #"b/reset {"reason":"malformed"}"#, #"b/snapshot {"a":0,"b":0,"filling":""}"#,
                #"c/reset {"reason":"malformed"}"#, #"c/snapshot {"a":0,"b":0,"filling":""}"#,
            ])
    }

    @Test func `an entry that cannot be continued resets its session alone`() throws {
        let (rig, sessions) = try rig()
        let reader = JointReader(["a", "b", "c"], .allPulses)
        let own = sessions.map(\.position.text)
        let ahead = "\(sessions[2].generation.text).7"
        let connection = try connect(rig, reader, after: "\(own[1]),\(own[1]),\(ahead)")
        #expect(
            lines(connection).filter { $0.contains("/reset") } == [
                #"a/reset {"reason":"generation"}"#, #"c/reset {"reason":"ahead"}"#,
            ])
        #expect(!lines(connection).contains { $0.hasPrefix("b/") })
    }

    @Test func `unknown and forbidden sessions end, and fail no other one`() throws {
        let (rig, sessions) = try rig()
        let reader = JointReader(["nobody", "a", "b"], .allPulses, forbidden: ["b"])
        let connection = try connect(rig, reader)
        try rig.act(Post.set(1), on: sessions[0])
        try rig.act(Post.set(1), on: sessions[1])
        rig.drainInbox()
        #expect(
            Set(lines(connection)) == [
                #"nobody/end {"reason":"unknown"}"#, #"b/end {"reason":"forbidden"}"#,
                #"a/snapshot {"a":0,"b":0,"filling":""}"#, "a/a 1",
            ])
        #expect(rig.table.subscriberCount == 1)
        #expect(reader.lastID?.hasPrefix("x,") == true)
        #expect(reader.lastID?.hasSuffix(",x") == true)
        // An end is not repeated.
        #expect(lines(try connect(rig, reader)) == [])
    }

    @Test func `a deleted session ends; when all are over, so does the stream`() throws {
        let (rig, sessions) = try rig()
        let reader = JointReader(["a", "b"], .allPulses)
        let connection = try connect(rig, reader)
        _ = rig.end(sessions[0])
        rig.endRound()
        rig.drainInbox()
        #expect(lines(connection).last == #"a/end {"reason":"deleted"}"#)
        #expect(connection.howItEnded == nil)
        try rig.act(Post.set(1), on: sessions[1])
        _ = rig.end(sessions[1])
        rig.endRound()
        rig.drainInbox()
        #expect(lines(connection).suffix(2) == ["b/a 1", #"b/end {"reason":"deleted"}"#])
        #expect(connection.howItEnded == .whole)
        #expect(reader.lastID == "x,x")
        #expect(rig.table.relays.count == 0)
        #expect(rig.table.subscriberCount == 0)
        #expect(reader.connect(rig) == nil)
    }

    @Test func `a session that was created anew begins with a reset`() throws {
        let (rig, sessions) = try rig()
        let reader = JointReader(["a", "b"], .allPulses)
        try connect(rig, reader).lose()
        _ = rig.end(sessions[0])
        rig.endRound()
        try rig.create("a", .ledger())
        let connection = try connect(rig, reader)
        #expect(
            lines(connection) == [
                #"a/reset {"reason":"generation"}"#, #"a/snapshot {"a":0,"b":0,"filling":""}"#,
            ])
    }

    @Test func `a pulse that no session's reactor has is refused, when all have been asked`() throws
    {
        let (rig, _) = try rig()
        let reader = JointReader(["a", "nobody"], .allPulses, pulses: ["a", "zz"])
        let connection = try connect(rig, reader)
        #expect(connection.howItEnded == .refused("zz"))
        #expect(!connection.hasBegun)
        #expect(rig.table.relays.count == 0)
        #expect(rig.table.subscriberCount == 0)
        // One that a reactor has is not.
        #expect(try connect(rig, JointReader(["a"], .allPulses, pulses: ["b"])).hasBegun)
        // None is known if there is no session.
        let nobody = try connect(rig, JointReader(["nobody"], .allPulses, pulses: ["zz"]))
        #expect(lines(nobody) == [#"nobody/end {"reason":"unknown"}"#])
    }

    @Test func `a stream that ends leaves no subscriber, wherever its sessions are`() throws {
        let rig = Rig(slow: true, answers: true)
        rig.journal.setLate(true)
        let session = try rig.create("a", .ledger())
        let reader = JointReader(["a", "elsewhere"], .allPulses)
        // One waits for a commit, the other for the journal.
        _ = reader.connect(rig)
        rig.drainInbox()
        #expect(rig.table.relays.count == 2)
        reader.last?.lose()
        rig.drainInbox()
        #expect(rig.table.relays.count == 0)
        rig.settleAll()
        while rig.journal.askedCount > 0 { rig.journal.answer(at: 0) }
        rig.drainInbox()
        #expect(rig.table.subscriberCount == 0)
        try rig.act(Post.set(1), on: session)
        rig.settleAll()
        #expect(reader.last?.bytes == [])
    }

    @Test func `a commit that fails is no event; its session is read again`() throws {
        let rig = Rig(slow: true)
        let sessions = try ["a", "b"].map { try rig.create($0, .ledger()) }
        rig.settleAll()
        let reader = JointReader(["a", "b"], .allPulses)
        let connection = try connect(rig, reader)
        try rig.act(Post.set(1), on: sessions[0])
        // It begins with the failing commit.
        let late = JointReader(["a"], .allPulses)
        let other = try connect(rig, late)
        rig.settle(.full)
        rig.drainInbox()
        try rig.act(Post.set(2), on: sessions[0])
        rig.settleAll()
        rig.drainInbox()
        #expect(lines(connection).last == "a/a 2")
        #expect(lines(other) == [#"a/snapshot {"a":0,"b":0,"filling":""}"#, "a/a 2"])
        try check(rig, reader)
    }

    @Test func `a session with a problem is tried again, and the others continue`() throws {
        let rig = Rig(subscribers: 1)
        let sessions = try ["a", "b"].map { try rig.create($0, .ledger()) }
        let occupant = rig.subscribe(sessions[0])
        let reader = JointReader(["a", "b"], .allPulses)
        let connection = try connect(rig, reader)
        #expect(lines(connection).map { $0.prefix(9) } == ["a/problem", "b/snapsho"])
        #expect(connection.problems == ["problem"])
        connection.stream.retry()
        rig.drainInbox()
        #expect(lines(connection).count == 3)
        #expect(reader.lastID?.hasPrefix("-,") == true)
        rig.output.disconnect(occupant)
        connection.stream.retry()
        rig.drainInbox()
        #expect(lines(connection).last == #"a/snapshot {"a":0,"b":0,"filling":""}"#)
        connection.stream.retry()
        rig.drainInbox()
        #expect(lines(connection).count == 4)
        try check(rig, reader)
    }

    // MARK: Bounds

    @Test func `a connection that accepts nothing costs no more than its windows`() throws {
        let (rig, sessions) = try rig(retention: Retention(records: 100_000, bytes: 3_000_000))
        let reader = JointReader(["a", "b", "c"], .allPulses)
        let connection = try connect(rig, reader, capacity: 0)
        for number in 1...60 {
            for session in sessions {
                try rig.act(Post.fill(9_000), on: session)
                if number.isMultiple(of: 7) { rig.drainInbox() }
            }
            let held = connection.stream.heldBytes
            #expect(held <= JointStream.bytesLimit + JointStream.windowLimit * 2)
        }
        rig.drainInbox()
        let window = min(JointStream.windowLimit, JointStream.bytesLimit / 3)
        #expect(connection.stream.heldBytes > window)
        connection.setCapacity(nil)
        rig.drainInbox()
        #expect(connection.stream.heldBytes == 0)
        try check(rig, reader)
    }

    @Test func `one hot session resets alone; the others have all of their events`() throws {
        let (rig, sessions) = try rig(retention: Retention(records: 100_000, bytes: 20_000))
        let names = ["a", "b", "c"]
        let reader = JointReader(names, .allPulses)
        let connection = try connect(rig, reader, capacity: 200)
        for number in 1...100 {
            try rig.act(Post.fill(9_000), on: sessions[0])
            rig.drainInbox()
            if number.isMultiple(of: 20) {
                for session in sessions.dropFirst() { try rig.act(Post.set(number), on: session) }
            }
        }
        connection.setCapacity(nil)
        rig.drainInbox()
        #expect(
            lines(connection).filter { $0.contains("/reset") } == [
                #"a/reset {"reason":"trimmed"}"#
            ])
        for name in names.dropFirst() {
            #expect(
                lines(connection).filter { $0.hasPrefix("\(name)/a ") }
                    == [20, 40, 60, 80, 100].map {
                        "\(name)/a \($0)"
                    })
        }
    }

    @Test func `sessions have turns: one with many events does not come first`() throws {
        let (rig, sessions) = try rig(retention: Retention(records: 100_000, bytes: 3_000_000))
        let reader = JointReader(["a", "b"], .allPulses)
        let connection = try connect(rig, reader)
        // After the snapshots: a session of which one waits would be the first.
        connection.setCapacity(0)
        for _ in 1...50 { try rig.act(Post.fill(1_000), on: sessions[0]) }
        rig.drainInbox()
        try rig.act(Post.set(7), on: sessions[1])
        rig.drainInbox()
        connection.setCapacity(nil)
        rig.drainInbox()
        let position = try #require(lines(connection).firstIndex(of: "b/a 7"))
        #expect(position < 25)
        try check(rig, reader)
    }

    @Test func `an event that exceeds the window comes whole`() throws {
        let (rig, sessions) = try rig(retention: Retention(records: 100_000, bytes: 3_000_000))
        for capacity in [nil, 0, 50_000, 300_000] as [Int?] {
            let reader = JointReader(["a", "b"], .everything)
            let connection = try connect(rig, reader, from: .now, capacity: capacity)
            try rig.act(Post.fill(250_000), on: sessions[0])
            try rig.act(Post.set(1), on: sessions[1])
            rig.drainInbox()
            #expect(connection.stream.heldBytes <= 4 * JointStream.windowLimit)
            connection.setCapacity(nil)
            rig.drainInbox()
            #expect(
                connection.blocks.map(\.name).sorted { ($0 ?? "") < ($1 ?? "") } == [
                    nil, nil, "a/filling", "a/state", "b/a", "b/state",
                ])
            try check(rig, reader)
            connection.lose()
        }
    }

    @Test func `a stream that is given up within an event is cut`() throws {
        let (rig, sessions) = try rig()
        let reader = JointReader(["a", "b"], .allPulses)
        let connection = try connect(rig, reader)
        try rig.act(Post.fill(250_000), on: sessions[0])
        // The beginning of the event arrives, when the window has no other bytes left; then its
        // subscriber is closed.
        for _ in 1...3 { #expect(rig.joints.deliver(to: rig.table)) }
        #expect(!connection.stream.isBetweenEvents)
        for subscriber in rig.table.relays.subscribers { subscriber.abandon() }
        rig.drainInbox()
        #expect(connection.howItEnded == .cut)
        #expect(rig.table.subscriberCount == 0)
        _ = try connect(rig, reader)
        try check(rig, reader)
    }

    @Test func `a stream that is given up between events is opened again, once at once`() throws {
        let (rig, sessions) = try rig()
        let reader = JointReader(["a", "b"], .allPulses)
        let connection = try connect(rig, reader)
        for _ in 1...2 {
            for subscriber in rig.table.relays.subscribers { subscriber.abandon() }
            try rig.act(Post.set(1), on: sessions[0])
            rig.drainInbox()
        }
        #expect(rig.table.subscriberCount == 0)
        connection.stream.retry()
        rig.drainInbox()
        #expect(rig.table.subscriberCount == 2)
        try check(rig, reader)
    }

    @Test func `a hundred sessions have a hundred windows within one bound`() throws {
        let rig = Rig(retention: Retention(records: 100_000, bytes: 3_000_000))
        let names = (0..<100).map { "s\($0)" }
        let sessions = try names.map { try rig.create($0, .ledger()) }
        let reader = JointReader(names, .allPulses)
        let connection = try connect(rig, reader, capacity: 0)
        for session in sessions {
            for _ in 1...8 { try rig.act(Post.fill(1_000), on: session) }
        }
        rig.drainInbox()
        #expect(
            connection.stream.heldBytes <= JointStream.bytesLimit + 2 * JointStream.windowLimit)
        connection.setCapacity(nil)
        rig.drainInbox()
        try check(rig, reader)
    }
}
