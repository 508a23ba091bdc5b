import Glibc
import Synchronization
import Testing

@testable import Sockets

extension Loops {
    @Suite("A connection ends once, and its handler is notified", .timeLimit(.minutes(60)))
    struct EndingTests {
        @Test(arguments: PollerKind.allCases)
        func `a peer that closed its sending half still gets the response`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(
                poller,
                Scripted.Script(peerFinished: { handler, id in
                    handler.send(id, Array("answer".utf8))
                    handler.table.close(id, .now)
                }))
            let client = try host.connect()
            client.send("question")
            client.finishWriting()
            let (bytes, ending) = client.receiveAll()
            #expect(String(decoding: bytes, as: UTF8.self) == "answer")
            #expect(ending == .finished)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `the peer's end is reported once, and writing continues`(_ poller: PollerKind)
            async throws
        {
            let host = try Host(poller)
            let client = try host.connect()
            let id = try await host.opened()
            client.finishWriting()
            try await host.until(.peerFinished(id))
            for index in 0..<10 {
                _ = await host.on { handler in
                    handler.table.pauseReading(id)
                    handler.table.resumeReading(id)
                    handler.send(id, [UInt8(index)])
                }
                #expect(client.receive(1).bytes == [UInt8(index)])
            }
            _ = await host.on { $0.say("sentinel") }
            #expect(await host.next() == .said("sentinel"))
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a reset is reported as such, and the id becomes stale`(_ poller: PollerKind)
            async throws
        {
            let host = try Host(
                poller,
                Scripted.Script(closed: { handler, id in
                    #expect(handler.table.count == 0)
                    #expect(handler.table.send(id, [1].span) == 0)
                }))
            var client: Client? = try host.connect()
            let id = try await host.opened()
            client?.armReset()
            client = nil
            try await host.until(.closed(id, .reset))
            #expect(host.loop.connections == 0)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `sending to a vanished peer is reported by closed, never from inside send`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(
                poller,
                Scripted.Script(opened: { handler, id, _ in
                    handler.table.pauseReading(id)
                }))
            var client: Client? = try host.connect()
            let id = try await host.opened()
            client?.armReset()
            client = nil
            try await host.untilReset(id)
            #expect(await host.on { $0.table.send(id, Array("hello".utf8).span) } == 0)
            try await host.until(.closed(id, .reset))
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a handler may close in any callback and gets no further events`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(
                poller,
                Scripted.Script(
                    received: { handler, id, _ in handler.table.close(id, .now) },
                    peerFinished: { handler, id in handler.table.close(id, .now) },
                    closed: { _, _ in Issue.record("closed after our own close") }))
            for _ in 0..<20 {
                let client = try host.connect()
                let id = try await host.opened()
                client.send("bytes")
                client.finishWriting()
                try await host.until(.received(id, Array("bytes".utf8)))
                _ = client.receiveAll()
            }
            #expect(await host.on { $0.table.count } == 0)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `close with reset drops what the peer has not read`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(
                poller,
                Scripted.Script(received: { handler, id, _ in
                    handler.send(id, pattern(16 << 20))
                    handler.table.close(id, .reset)
                    handler.say("reset")
                }))
            let client = try host.connect()
            client.send("go")
            try await host.until(.said("reset"))
            let (bytes, ending) = client.receiveAll()
            #expect(bytes.count < 16 << 20)
            #expect(ending == .failed(ECONNRESET))
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a stale id reaches no connection, not even the next one in its slot`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, Scripted.Script(received: { $0.send($1, $2) }))
            let first = try host.connect()
            let old = try await host.opened()
            _ = await host.on { $0.table.close(old, .now) }
            #expect(first.receiveAll().ending == .finished)
            let second = try host.connect()
            let new = try await host.opened()
            #expect(new.slot == old.slot)
            #expect(new != old)
            _ = await host.on { handler in
                let table = handler.table
                #expect(table.send(old, [1, 2].span) == 0)
                #expect(table.send(old, gathering: [[1]]) == 0)
                table.pauseReading(old)
                table.setDeadline(old, table.now)
                table.close(old, .now)
                table.close(old, .reset)
                table.close(old, .lingering)
                if table.detach(old) != nil { Issue.record("detached a stale id") }
                #expect(!table.isOpen(old))
                #expect(table.isOpen(new))
                // Nor does an id that never existed.
                let never = ConnectionID(slot: 4_000_000, generation: 1)
                #expect(table.send(never, [1].span) == 0)
                table.close(never, .now)
                #expect(table.send(ConnectionID(slot: 0, generation: 0), [1].span) == 0)
            }
            second.send("still here")
            #expect(second.receiveText(10) == "still here")
            await host.end()
        }
    }

    @Suite(
        "A refused client that is still sending can read the response (RFC 9112 §9.6)",
        .timeLimit(.minutes(60)))
    struct LingeringTests {
        static let refuse = Scripted.Script(received: { handler, id, _ in
            handler.send(id, Array("413 Content Too Large".utf8))
            handler.table.close(id, .lingering)
            #expect(!handler.table.isOpen(id))
            #expect(handler.table.send(id, [1].span) == 0)
        })

        @Test(arguments: PollerKind.allCases)
        func `the response is whole although the client sends three more megabytes`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, Self.refuse)
            let client = try host.connect()
            client.send("head")
            #expect(client.send(pattern(3 << 20)) == 3 << 20)
            let (bytes, ending) = client.receiveAll()
            #expect(String(decoding: bytes, as: UTF8.self) == "413 Content Too Large")
            #expect(ending == .finished)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `when the client closes too, the connection is gone and nothing is reported`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, Self.refuse)
            let client = try host.connect()
            let id = try await host.opened()
            client.send("head")
            try await host.until(.received(id, Array("head".utf8)))
            // The response ends before the client does anything, and while it could still send.
            #expect(client.receiveAll().ending == .finished)
            #expect(await host.on { $0.table.count } == 1)
            client.finishWriting()
            while await host.on(0, { $0.table.count }) > 0 { await Task.yield() }
            _ = await host.on { $0.say("sentinel") }
            #expect(await host.next() == .said("sentinel"))
            await host.end()
        }

        // Without the bound: one client holds any number of descriptors, two seconds each.
        @Test(arguments: PollerKind.allCases)
        func `at most 256 linger, and further ones are closed at once`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(
                poller,
                Scripted.Script(opened: { handler, id, _ in handler.table.close(id, .lingering) }))
            var clients: [Client] = []
            for _ in 0..<ConnectionTable.lingerCountLimit + 40 {
                clients.append(try host.connect())
                _ = try await host.opened()
            }
            let (open, lingering) = await host.on { ($0.table.count, $0.table.lingeringCount) }
            #expect(open <= ConnectionTable.lingerCountLimit)
            #expect(lingering == open)
            clients = []
            while await host.on(0, { $0.table.count }) > 0 { await Task.yield() }
            #expect(await host.on { $0.table.lingeringCount } == 0)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a client that never stops sending is disconnected`(_ poller: PollerKind) async throws
        {
            let host = try Host(poller, Self.refuse)
            let client = try host.connect()
            client.send("head")
            let sent = client.send(pattern(64 << 20))
            #expect(sent >= 4 << 20)
            #expect(sent < 64 << 20)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a client that does nothing is disconnected after the time limit`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, Self.refuse)
            let client = try host.connect()
            let id = try await host.opened()
            client.send("head")
            try await host.until(.received(id, Array("head".utf8)))
            _ = await host.on { handler in
                let table = handler.table
                let slot = Int(id.slot)
                #expect(table.count == 1)
                #expect(table.deadlines.next != nil)
                // Advances the clock by two seconds.
                table.deadlines.set(slot: slot, table.now)
                table.setTimer(token: 7, at: table.now + .milliseconds(200))
            }
            try await host.until(.timer(7))
            #expect(await host.on { $0.table.count } == 0)
            await host.end()
        }
    }
}
