import Dispatch
import Sockets
import Testing

extension Loops {
    @Suite("Bytes go through unchanged and in order", .timeLimit(.minutes(60)))
    struct EchoTests {
        static let echo = Scripted.Script(received: { $0.send($1, $2) })

        @Test(arguments: PollerKind.allCases)
        func `bytes sent one at a time come back one at a time`(_ poller: PollerKind) async throws {
            let host = try Host(poller, Self.echo)
            let client = try host.connect()
            for byte in "hello, world".utf8 {
                client.send([byte])
                #expect(client.receive(1).bytes == [byte])
            }
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `requests in one segment are all answered`(_ poller: PollerKind) async throws {
            let host = try Host(poller, Self.echo)
            let client = try host.connect()
            client.send("one two three ")
            client.send("four")
            #expect(client.receiveText(18) == "one two three four")
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `eight megabytes are echoed while they are still being sent`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, readBufferBytes: 10_007, Self.echo)
            let client = try host.connect()
            let bytes = pattern(8 << 20)
            DispatchQueue.global().async {
                client.send(bytes)
                client.finishWriting()
            }
            #expect(client.receive(bytes.count).bytes == bytes)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a slow reader gets everything, resumed by writable`(
            _ poller: PollerKind
        ) async throws {
            let bytes = pattern(16 << 20)
            let host = try Host(
                poller,
                Scripted.Script(received: { handler, id, _ in
                    handler.send(id, bytes)
                    handler.say("short: \(handler.shortSends)")
                }))
            let client = try host.connect()
            client.send("go")
            // Only now anything is read: the kernel's buffers are full.
            try await host.until(.said("short: 1"))
            #expect(client.receive(bytes.count).bytes == bytes)
            let sends = await host.on { $0.shortSends }
            #expect(sends > 1)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a send without room accepts nothing and disturbs nothing`(
            _ poller: PollerKind
        ) async throws {
            let bytes = pattern(16 << 20)
            let host = try Host(
                poller,
                Scripted.Script(received: { handler, id, _ in
                    handler.send(id, bytes)
                    let more = [UInt8](repeating: 1, count: 10)
                    #expect(handler.table.send(id, more.span) == 0)
                    #expect(handler.table.send(id, gathering: [more[...]]) == 0)
                    handler.say("full")
                }))
            let client = try host.connect()
            client.send("go")
            try await host.until(.said("full"))
            #expect(client.receive(bytes.count).bytes == bytes)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `pieces are sent like one buffer`(_ poller: PollerKind) async throws {
            let host = try Host(
                poller,
                Scripted.Script(received: { handler, id, _ in
                    let table = handler.table
                    let head = Array("head ".utf8)
                    let body = Array("body ".utf8)
                    let none: [UInt8] = []
                    #expect(table.send(id, none.span) == 0)
                    let pieces = (0..<40).map { Array("\($0),".utf8)[...] }
                    #expect(table.send(id, gathering: pieces) == 10 * 2 + 6 * 3)
                    #expect(table.send(id, gathering: [head[...], none[...], body[1...3]]) == 8)
                    #expect(table.send(id, gathering: [none[...]]) == 0)
                    #expect(table.send(id, gathering: []) == 0)
                    table.close(id, .now)
                }))
            let client = try host.connect()
            client.send("go")
            let text = String(decoding: client.receiveAll().bytes, as: UTF8.self)
            #expect(text == (0..<16).map { "\($0)," }.joined() + "head ody")
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a thousand connections have slots 0 to 999 and their own bytes`(
            _ poller: PollerKind
        ) async throws {
            try allowDescriptors(3_000)
            let host = try Host(
                poller, loops: 2,
                Scripted.Script(
                    received: { $0.send($1, $2) },
                    peerFinished: { handler, id in
                        handler.table.close(id, .now)
                        if handler.table.count == 0 { handler.say("empty") }
                    }))
            var clients: [Client] = []
            for _ in 0..<1_000 { clients.append(try host.connect()) }
            for (index, client) in clients.enumerated() { client.send("client \(index) ") }
            for (index, client) in clients.enumerated() {
                let wanted = "client \(index) "
                #expect(client.receiveText(wanted.utf8.count) == wanted)
            }
            for loop in 0..<2 {
                let (count, slots) = await host.on(loop) {
                    ($0.table.count, $0.unsent.keys.map(\.slot))
                }
                #expect(count == 500)
                #expect(Set(slots) == Set(0..<500))
            }
            clients.removeAll()
            try await host.until(.said("empty"))
            try await host.until(.said("empty"))
            #expect(host.loops.map(\.connections) == [0, 0])
            await host.end()
        }

        // Not with Dispatch sources: they report the other's byte when their manager thread runs,
        // which on a busy machine can be after the greedy connection is read to its end.
        @Test(arguments: [PollerKind.platformDefault])
        func `a connection with much to read does not starve others`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, readBufferBytes: 1_024)
            let greedy = try host.connect()
            let first = try await host.opened()
            let modest = try host.connect()
            let second = try await host.opened()
            let gate = DispatchSemaphore(value: 0)
            // While the loop is held, one connection sends more than its share, then the other
            // sends a byte.
            host.loop.enqueue { _ in gate.wait() }
            let sent = greedy.send(pattern(2_000_000), flags: 0x40)
            modest.send("!")
            gate.signal()
            try #require(sent > 300_000)
            var before = 0
            try await host.first { note in
                if case .received(first, let bytes) = note { before += bytes.count }
                return if case .received(second, _) = note { () } else { nil }
            }
            // The bound, and the size of one more read.
            #expect(before <= (256 << 10) + 1_024)
            await host.end()
        }
    }
}

/// Bytes that repeat after 65 521, a prime: no piece of the usual sizes can be mistaken for
/// another.
func pattern(_ count: Int) -> [UInt8] {
    let block = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + block.count)
    while bytes.count < count { bytes += block }
    return Array(bytes[..<count])
}
