import Dispatch
import Glibc
import Testing

@testable import Sockets

extension Loops {
    @Suite("A handler can pause reading", .timeLimit(.minutes(60)))
    struct PausingTests {
        @Test(arguments: PollerKind.allCases)
        func `bytes that arrive during a pause are delivered after it, not before`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, Scripted.Script(received: { $0.send($1, $2) }))
            let paused = try host.connect()
            let id = try await host.opened()
            let other = try host.connect()
            paused.send("before ")
            try await host.until(.received(id, Array("before ".utf8)))
            for _ in 0..<3 {
                _ = await host.on { $0.table.pauseReading(id) }
                paused.send("one ")
                paused.send("two ")
                // A round trip of another connection after the bytes have arrived.
                other.send("?")
                #expect(other.receiveText(1) == "?")
                _ = await host.on { handler in
                    handler.say("resumed")
                    handler.table.resumeReading(id)
                }
                let early: Bool = try await host.first { note in
                    switch note {
                    case .received(id, _): true
                    case .said("resumed"): false
                    default: nil
                    }
                }
                #expect(!early)
                try await host.until(.received(id, Array("one two ".utf8)))
            }
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a pause from inside received takes effect at once`(_ poller: PollerKind) async throws
        {
            let host = try Host(
                poller, readBufferBytes: 4,
                Scripted.Script(received: { handler, id, _ in
                    handler.table.pauseReading(id)
                    handler.loop.enqueue { handler in
                        handler.say("job")
                        handler.table.resumeReading(id)
                    }
                }))
            let client = try host.connect()
            let id = try await host.opened()
            client.send("aaaabbbbcccc")
            for piece in ["aaaa", "bbbb", "cccc"] {
                #expect(await host.next() == .received(id, Array(piece.utf8)))
                #expect(await host.next() == .said("job"))
            }
            await host.end()
        }

        #if os(Linux)
            @Test func `a reset is reported even to a handler that does not read`() async throws {
                let host = try Host(.epoll)
                var client: Client? = try host.connect()
                let id = try await host.opened()
                _ = await host.on { $0.table.pauseReading(id) }
                client?.armReset()
                client = nil
                try await host.until(.closed(id, .reset))
                await host.end()
            }
        #endif

        @Test(arguments: PollerKind.allCases)
        func `a reset after the peer's end is reported when something is sent`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller)
            var client: Client? = try host.connect()
            let id = try await host.opened()
            client?.finishWriting()
            try await host.until(.peerFinished(id))
            client?.armReset()
            client = nil
            try await host.untilReset(id)
            _ = await host.on { handler in
                handler.send(id, [1])
                handler.send(id, [2])
            }
            try await host.until(.closed(id, .reset))
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `bytes around TCP's urgent mark are all read`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, Scripted.Script(received: { $0.send($1, $2) }))
            let client = try host.connect()
            _ = try await host.opened()
            let gate = DispatchSemaphore(value: 0)
            host.loop.enqueue { _ in gate.wait() }
            client.send("ab")
            client.send([UInt8(ascii: "!")], flags: Int(MSG_OOB))
            client.send("cd")
            gate.signal()
            #expect(client.receiveText(4) == "abcd")
            await host.end()
        }
    }

    @Suite("A connection moves between loops without losing a byte", .timeLimit(.minutes(60)))
    struct MovingTests {
        @Test(arguments: PollerKind.allCases)
        func `bytes that arrive during a move are read on the other loop, in order`(
            _ poller: PollerKind
        ) async throws {
            let bytes = pattern(1 << 20)
            let ring = Ring()
            let host = try Host(
                poller, loops: 2, readBufferBytes: 4_096,
                Scripted.Script(
                    received: { handler, id, bytes in ring.pass(id, bytes, from: handler) },
                    peerFinished: { handler, id in
                        handler.say("end")
                        handler.table.close(id, .now)
                    }))
            ring.loops = host.loops
            let client = try host.connect()
            DispatchQueue.global().async {
                client.send(bytes)
                client.finishWriting()
            }
            try await host.until(.said("end"))
            #expect(ring.bytes == bytes)
            #expect(ring.moves > 200)
            #expect(host.loops.map(\.connections) == [0, 0])
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `the old id is stale at once, and the old loop gets no event`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, loops: 2)
            let client = try host.connect()
            let id = try await host.opened()
            client.send("first")
            try await host.until(.received(id, Array("first".utf8)))
            let loops = host.loops
            _ = await host.on { handler in
                guard let socket = handler.table.detach(id) else {
                    Issue.record("not detached")
                    return
                }
                #expect(!handler.table.isOpen(id))
                #expect(handler.table.count == 0)
                loops[1].adopt(socket) { handler, new in
                    handler.memo["new"] = new
                    handler.send(new, Array("hello from there".utf8))
                }
            }
            #expect(client.receiveText(16) == "hello from there")
            client.send("second")
            let new = try #require(await host.on(1) { $0.memo["new"] })
            try await host.until(.received(new, Array("second".utf8)))
            #expect(await host.on(1) { $0.table.count } == 1)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `the peer's end is not reported twice`(_ poller: PollerKind) async throws {
            let host = try Host(poller, loops: 2)
            let client = try host.connect()
            let id = try await host.opened()
            client.finishWriting()
            try await host.until(.peerFinished(id))
            let loops = host.loops
            _ = await host.on { handler in
                guard let socket = handler.table.detach(id) else { return }
                loops[1].adopt(socket) { handler, new in handler.send(new, Array("hi".utf8)) }
            }
            #expect(client.receiveText(2) == "hi")
            _ = await host.on(1) { $0.say("sentinel") }
            #expect(await host.next() == .said("sentinel"))
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a socket that no loop adopts is closed`(_ poller: PollerKind) async throws {
            let host = try Host(
                poller,
                Scripted.Script(received: { handler, id, _ in
                    _ = handler.table.detach(id)
                }))
            let client = try host.connect()
            client.send("x")
            #expect(client.receiveAll().ending == .finished)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `one half of a socket pair is served like any connection`(_ poller: PollerKind)
            async throws
        {
            let host = try Host(poller, at: nil, Scripted.Script(received: { $0.send($1, $2) }))
            let (ours, theirs) = try Client.pair()
            let client = Client(owning: theirs)
            #expect(host.loop.adopt(try DetachedSocket(owning: ours)) { _, _ in })
            client.send("through a pair")
            #expect(client.receiveText(14) == "through a pair")
            await host.end()
        }
    }
}

/// Two loops that pass a connection back and forth after every piece read.
private final class Ring: @unchecked Sendable {
    // Only the loop that holds the connection touches it, and loops pass it on in order.
    var loops: [EventLoop<Scripted>] = []
    var bytes: [UInt8] = []
    var moves = 0

    func pass(_ id: ConnectionID, _ piece: [UInt8], from handler: Scripted) {
        bytes += piece
        moves += 1
        guard let socket = handler.table.detach(id) else {
            Issue.record("not detached")
            return
        }
        let other = handler.loop === loops[0] ? loops[1] : loops[0]
        other.adopt(socket) { _, _ in }
    }
}
