import Dispatch
import Testing

@testable import Sockets

extension Loops {
    /// Every test blocks the loop until all clients have sent, so that one poll finds them all.
    @Suite(
        "Bytes received ahead of a connection's turn keep their promises", .timeLimit(.minutes(60)))
    struct ReceivedAheadTests {
        /// The first connection that is served does `act` to all the others.
        private static func script(
            _ act: @escaping @Sendable (Scripted, ConnectionID) -> Void
        ) -> Scripted.Script {
            Scripted.Script(
                opened: { handler, id, _ in handler.memo["\(handler.memo.count)"] = id },
                received: { handler, id, _ in
                    guard handler.tally["acted"] == nil else { return }
                    handler.tally["acted"] = 1
                    handler.memo["first"] = id
                    for (name, other) in handler.memo where name != "first" && other != id {
                        act(handler, other)
                    }
                })
        }

        /// Connects, and sends to a loop that is blocked until everything has arrived.
        private func burst(
            _ host: Host, _ texts: [String], finishing: Bool = false
        ) async throws -> [(client: Client, id: ConnectionID)] {
            var clients: [(client: Client, id: ConnectionID)] = []
            for _ in texts {
                let client = try host.connect()
                clients.append((client, try await host.opened()))
            }
            let gate = DispatchSemaphore(value: 0)
            host.loop.enqueue { _ in gate.wait() }
            for (one, text) in zip(clients, texts) {
                one.client.send(text)
                if finishing { one.client.finishWriting() }
            }
            gate.signal()
            return clients
        }

        @Test(arguments: PollerKind.allCases)
        func `a pause by another connection's callback holds the bytes until it ends`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, Self.script { $0.table.pauseReading($1) })
            let clients = try await burst(host, ["one ", "two ", "three "])
            let first: ConnectionID = try await host.first {
                if case .received(let id, _) = $0 { id } else { nil }
            }
            for (client, id) in clients where id != first { client.send("behind \(id.slot)") }
            _ = await host.on { $0.say("paused") }
            // Nothing of the others came before.
            #expect(await host.next() == .said("paused"))
            for ((_, id), text) in zip(clients, ["one ", "two ", "three "]) where id != first {
                _ = await host.on { $0.table.resumeReading(id) }
                var bytes: [UInt8] = []
                while bytes.count < text.utf8.count + "behind 0".utf8.count {
                    bytes += try await host.first {
                        if case .received(id, let piece) = $0 { piece } else { nil }
                    }
                }
                #expect(bytes == Array("\(text)behind \(id.slot)".utf8))
            }
            #expect(await host.on { $0.table.held.isEmpty })
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a connection that is moved by another's callback takes its bytes along`(
            _ poller: PollerKind
        ) async throws {
            let away = try Host(poller, at: nil)
            let host = try Host(
                poller,
                Self.script { handler, id in
                    guard let socket = handler.table.detach(id) else {
                        Issue.record("not detached")
                        return
                    }
                    // There and back at once: nothing is delivered in between.
                    let home = handler.loop
                    away.loop.adopt(socket) { there, id in
                        guard let socket = there.table.detach(id) else { return }
                        home.adopt(socket) { _, _ in }
                    }
                })
            let clients = try await burst(host, ["one ", "two ", "three "])
            for one in clients { one.client.send("end") }
            var texts: [ConnectionID: String] = [:]
            while texts.values.reduce(0, { $0 + $1.utf8.count }) < "one two three endendend".count {
                let (id, piece): (ConnectionID, [UInt8]) = try await host.first {
                    if case .received(let id, let piece) = $0 { (id, piece) } else { nil }
                }
                texts[id, default: ""] += String(decoding: piece, as: UTF8.self)
            }
            #expect(texts.values.sorted() == ["one end", "three end", "two end"])
            #expect((host.loop.connections, away.loop.connections) == (3, 0))
            await host.end()
            await away.end()
        }

        @Test(arguments: PollerKind.allCases, [false, true])
        func `a connection that is closed by another's callback is not heard of again`(
            _ poller: PollerKind, lingering: Bool
        ) async throws {
            let host = try Host(
                poller, Self.script { $0.table.close($1, lingering ? .lingering : .now) })
            let clients = try await burst(host, ["one", "two", "three"])
            let first: ConnectionID = try await host.first {
                if case .received(let id, _) = $0 { id } else { nil }
            }
            for (client, id) in clients where id != first {
                #expect(client.receiveAll().bytes.isEmpty)
            }
            _ = await host.on { $0.say("sentinel") }
            #expect(await host.next() == .said("sentinel"))
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `held bytes are dropped with their connection`(_ poller: PollerKind) async throws {
            let host = try Host(poller, Self.script { $0.table.pauseReading($1) })
            let clients = try await burst(host, ["one", "two", "three", "four"])
            let first: ConnectionID = try await host.first {
                if case .received(let id, _) = $0 { id } else { nil }
            }
            for (index, one) in clients.enumerated() where one.id != first {
                _ = await host.on { $0.table.close(one.id, index % 2 == 0 ? .now : .lingering) }
            }
            #expect(await host.on { $0.table.held.isEmpty })
            // A connection that gets the slot has nothing of the one before.
            let next = try host.connect()
            let id = try await host.opened()
            next.send("new")
            try await host.until(.received(id, Array("new".utf8)))
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `more connections than a group has, and more bytes than a slice, arrive whole`(
            _ poller: PollerKind
        ) async throws {
            let gathered = Gathered()
            let host = try Host(
                poller,
                Scripted.Script(
                    received: { gathered.add($2, of: $1, at: $0) },
                    peerFinished: { handler, _ in handler.say("end") }))
            let texts = (0..<70).map { index in
                String(repeating: "\(index % 10)", count: index * 97)
            }
            let clients = try await burst(host, texts, finishing: true)
            for _ in clients {
                try await host.first { if case .said = $0 { () } else { nil } }
            }
            let bytes = await host.on { _ in gathered.bytes }
            for ((_, id), text) in zip(clients, texts) {
                #expect(bytes[id] ?? [] == Array(text.utf8))
            }
            await host.end()
        }
    }
}

/// The bytes of each connection. Used on one loop only.
private final class Gathered: @unchecked Sendable {
    private(set) var bytes: [ConnectionID: [UInt8]] = [:]

    func add(_ piece: [UInt8], of id: ConnectionID, at handler: Scripted) {
        bytes[id, default: []] += piece
    }
}
