import Dispatch
import Glibc
import Synchronization
import Testing

@testable import Sockets

extension Loops {
    @Suite(
        "Jobs run in order, in batches, and each batch ends with one roundEnded",
        .timeLimit(.minutes(60)))
    struct InboxTests {
        @Test(arguments: PollerKind.allCases)
        func `two loops exchange a hundred thousand jobs in order`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, loops: 2, at: nil)
            let total = 50_000
            for index in 0..<2 {
                let (here, there) = (host.loops[index], host.loops[1 - index])
                here.enqueue { _ in
                    for number in 0..<total {
                        there.enqueue { handler in
                            #expect(handler.tally["next", default: 0] == number)
                            handler.tally["next"] = number + 1
                            if number == total - 1 { handler.say("done") }
                        }
                    }
                }
            }
            try await host.until(.said("done"))
            try await host.until(.said("done"))
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `jobs that queue while the loop is busy end with one roundEnded`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller, at: nil)
            let before = await host.on { handler in
                for number in 0..<1_000 {
                    handler.loop.enqueue { handler in
                        // Not in the call to enqueue, and not one round per job.
                        handler.tally["ran"] = number + 1
                        #expect(handler.rounds == handler.tally["start"])
                    }
                }
                #expect(handler.tally["ran"] == nil)
                // This round ends, then the round of the thousand jobs.
                handler.tally["start"] = handler.rounds + 1
                return handler.rounds
            }
            let (ran, after) = await host.on { ($0.tally["ran"], $0.rounds) }
            #expect(ran == 1_000)
            #expect(after - before <= 2 + 1)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `work that roundEnded causes has its own round`(_ poller: PollerKind) async throws {
            let host = try Host(
                poller, at: nil,
                Scripted.Script(roundEnded: { handler in
                    handler.tally["ends", default: 0] += 1
                    let ends = handler.tally["ends"] ?? 0
                    if ends < 100 { handler.loop.enqueue { _ in } }
                    if ends == 100 { handler.say("hundred") }
                }))
            host.loop.enqueue { _ in }
            try await host.until(.said("hundred"))
            await host.end()
        }

        #if os(Linux)
            // Without the limit of polls the pass would end only with the flood.
            @Test func `a round ends though more connections than one poll reports send on`()
                async throws
            {
                try allowDescriptors(2_048)
                let flood = Flood()
                let host = try Host(
                    .epoll, at: nil,
                    Scripted.Script(
                        received: { handler, id, _ in
                            handler.tally["received", default: 0] += 1
                            if handler.tally["received"] == 100_000 { handler.say("never") }
                            if handler.tally["received"] ?? 0 < 100_000 { flood.feed(id) }
                        },
                        roundEnded: { handler in
                            guard handler.tally["received"] ?? 0 > 0 else { return }
                            flood.stop()
                            handler.say("ended")
                        }))
                for _ in 0..<700 {
                    let (ours, theirs) = try Client.pair()
                    let client = Client(owning: theirs)
                    host.loop.adopt(try DetachedSocket(owning: ours)) { flood.add(client, $1) }
                }
                await host.on { _ in flood.start() }
                let said: String = try await host.first {
                    if case .said(let text) = $0 { text } else { nil }
                }
                #expect(said == "ended")
                await host.end()
            }
        #endif

        @Test(arguments: PollerKind.allCases)
        func `a connection that breaks in roundEnded is reported without another event`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(
                poller,
                Scripted.Script(
                    opened: { handler, id, _ in
                        handler.table.pauseReading(id)
                        handler.memo["it"] = id
                    },
                    roundEnded: { handler in
                        guard handler.tally["send"] == 1, let id = handler.memo["it"] else {
                            return
                        }
                        handler.send(id, [1])
                    }))
            var client: Client? = try host.connect()
            let id = try await host.opened()
            _ = await host.on { $0.table.pauseReading(id) }
            client?.armReset()
            client = nil
            try await host.untilReset(id)
            _ = await host.on { $0.tally["send"] = 1 }
            try await host.until(.closed(id, .reset))
            await host.end()
        }

        @Test func `only a post to a loop that rests or waits wakes it`() {
            let inbox = LoopInbox<Scripted>()
            var items: [LoopInbox<Scripted>.Item] = []
            #expect(inbox.post(.job { _ in }) == .asleep)
            #expect(inbox.post(.job { _ in }) == .comes)
            inbox.attend()
            #expect(inbox.post(.job { _ in }) == .comes)
            // A round that leaves items neither waits nor rests.
            #expect(!inbox.wait())
            #expect(!inbox.rest())
            #expect(inbox.post(.job { _ in }) == .comes)
            inbox.drain(into: &items)
            #expect(items.count == 4)
            #expect(inbox.wait())
            #expect(inbox.post(.job { _ in }) == .waits)
            #expect(inbox.post(.job { _ in }) == .comes)
            inbox.attend()
            items.removeAll()
            inbox.drain(into: &items)
            #expect(items.count == 2)
            #expect(inbox.rest())
            #expect(inbox.post(.job { _ in }) == .asleep)
            inbox.close()
            #expect(inbox.post(.job { _ in }) == nil)
            #expect(!inbox.wait())
            items.removeAll()
            inbox.drain(into: &items)
            #expect(items.count == 1)
            #expect(inbox.rest())
        }

        @Test func `jobs that are posted one after the other each reach a loop that waits`()
            async throws
        {
            let host = try Host(.platformDefault, at: nil)
            let loop = host.loop
            // Each post finds the loop working, in its wait, or asleep again.
            for number in 0..<20_000 {
                await withCheckedContinuation { continuation in
                    loop.enqueue { handler in
                        handler.tally["sum", default: 0] += 1
                        continuation.resume()
                    }
                }
                if number % 1_000 == 0 { await Task.yield() }
            }
            #expect(await host.on { $0.tally["sum"] } == 20_000)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `posts from many threads lose nothing`(_ poller: PollerKind) async throws {
            let host = try Host(poller, at: nil)
            let loop = host.loop
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<2_000 {
                            loop.enqueue { $0.tally["sum", default: 0] += 1 }
                        }
                    }
                }
            }
            #expect(await host.on { $0.tally["sum"] } == 16_000)
            await host.end()
        }
    }

    @Suite("Deadlines and timers fire once, and never early", .timeLimit(.minutes(60)))
    struct DeadlineTests {
        @Test(arguments: PollerKind.allCases)
        func `a deadline fires after its instant, and only the last one set`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(
                poller,
                Scripted.Script(deadline: { handler, id in
                    #expect(
                        handler.table.now
                            >= LoopInstant(nanoseconds: Int64(handler.tally["at"] ?? .max)))
                    if handler.tally["again", default: 0] < 2 {
                        handler.tally["again", default: 0] += 1
                        handler.table.setDeadline(id, handler.table.now)
                    } else {
                        handler.table.close(id, .now)
                    }
                }))
            let client = try host.connect()
            let id = try await host.opened()
            _ = await host.on { handler in
                let table = handler.table
                let at = table.now + .milliseconds(150)
                handler.tally["at"] = Int(at.nanoseconds)
                table.setDeadline(id, table.now + .seconds(3_600))
                table.setDeadline(id, table.now)
                table.setDeadline(id, at)
            }
            for _ in 0..<3 { #expect(await host.next() == .deadline(id)) }
            #expect(client.receiveAll().ending == .finished)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a cleared deadline does not fire, nor that of a closed connection`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(poller)
            let clients = try (0..<3).map { _ in try host.connect() }
            let ids = [try await host.opened(), try await host.opened(), try await host.opened()]
            _ = await host.on { handler in
                let table = handler.table
                for id in ids { table.setDeadline(id, table.now + .milliseconds(70)) }
                table.setDeadline(ids[0], nil)
                table.close(ids[1], .now)
                table.setDeadline(ids[2], table.now + .milliseconds(300))
            }
            #expect(await host.next() == .deadline(ids[2]))
            withExtendedLifetime(clients) {}
            await host.end()
        }

        // Without the limit one pass handles all of them, and requests wait for it.
        @Test(arguments: PollerKind.allCases)
        func `deadlines that are due together are spread over passes, and none is lost`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(
                poller,
                Scripted.Script(
                    deadline: { handler, _ in
                        let count = handler.tally["now", default: 0] + 1
                        handler.tally["now"] = count
                        handler.tally["most"] = max(handler.tally["most", default: 0], count)
                    }, roundEnded: { $0.tally["now"] = 0 }))
            let clients = try (0..<100).map { _ in try host.connect() }
            var ids: Set<ConnectionID> = []
            for _ in clients { ids.insert(try await host.opened()) }
            _ = await host.on { [ids] handler in
                for id in ids { handler.table.setDeadline(id, handler.table.now) }
            }
            for _ in clients {
                guard case .deadline(let id) = await host.next() else { break }
                ids.remove(id)
            }
            #expect(ids.isEmpty)
            #expect(await host.on { $0.tally["most"] } == 16)
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `timers fire in order, and are moved and cleared like deadlines`(
            _ poller: PollerKind
        ) async throws {
            let host = try Host(
                poller, at: nil,
                Scripted.Script(timer: { handler, token in
                    if token == 1 {
                        handler.table.setTimer(token: 9, at: handler.table.now + .milliseconds(80))
                    }
                }))
            _ = await host.on { handler in
                let table = handler.table
                table.setTimer(token: .max, at: table.now + .milliseconds(400))
                table.setTimer(token: 1, at: table.now + .milliseconds(5))
                table.setTimer(token: 2, at: table.now + .milliseconds(10))
                table.setTimer(token: 2, at: nil)
                table.setTimer(token: 3, at: nil)
                table.setTimer(token: 4, at: table.now + .seconds(1_000))
                table.setTimer(token: 4, at: table.now + .milliseconds(700))
            }
            for token in [1, 9, .max, 4] as [UInt64] { #expect(await host.next() == .timer(token)) }
            await host.end()
        }

        @Test(arguments: PollerKind.allCases)
        func `a deadline set outside a round fires too`(_ poller: PollerKind) async throws {
            let host = try Host(poller, at: nil)
            await host.loop.setTimerAsActor(5)
            #expect(await host.next() == .timer(5))
            await host.end()
        }
    }

    @Suite("stop() releases everything", .timeLimit(.minutes(60)))
    struct StopTests {
        @Test(arguments: PollerKind.allCases)
        func `no descriptor is left open, whatever state the connections are in`(
            _ poller: PollerKind
        ) async throws {
            for _ in 0..<3 {
                let host = try Host(
                    poller, loops: 2,
                    Scripted.Script(received: { handler, id, bytes in
                        switch bytes.first.map({ $0 % 5 }) {
                        case 0: handler.send(id, pattern(16 << 20))
                        case 1: handler.table.pauseReading(id)
                        case 2: handler.table.close(id, .lingering)
                        case 3: handler.table.close(id, .now)
                        default: handler.table.setDeadline(id, handler.table.now + .seconds(5))
                        }
                        handler.say("seen")
                    }))
                var clients: [Client] = []
                for index in 0..<20 {
                    let client = try host.connect()
                    client.send([UInt8(index)])
                    clients.append(client)
                    try await host.until(.said("seen"))
                }
                clients[5].finishWriting()
                let ours = try await host.openSockets()
                #expect(ours.count > 8)
                await host.end()
                // By inode: other tests of this process open and close descriptors meanwhile.
                #expect(try openLinks().isDisjoint(with: ours))
                clients.removeAll()
            }
        }

        @Test(arguments: PollerKind.allCases)
        func `jobs before stop() run, jobs after it are refused`(_ poller: PollerKind) async throws
        {
            let host = try Host(poller)
            let client = try host.connect()
            _ = try await host.opened()
            let ran = Mutex(0)
            for _ in 0..<100 {
                host.loop.enqueue { _ in ran.withLock { $0 += 1 } }
            }
            await host.loop.stop()
            #expect(ran.withLock { $0 } == 100)
            #expect(!host.loop.enqueue { _ in ran.withLock { $0 += 1 } })
            #expect(client.receiveAll().ending == .finished)
            let (ours, theirs) = try Client.pair()
            let late = Client(owning: theirs)
            #expect(!host.loop.adopt(try DetachedSocket(owning: ours)) { _, _ in })
            #expect(late.receiveAll().ending == .finished)
            #expect(host.loop.connections == 0)
            await host.loop.stop()
            await host.end()
            #expect(ran.withLock { $0 } == 100)
        }

        @Test(arguments: PollerKind.allCases)
        func `the handler is released`(_ poller: PollerKind) async throws {
            let host = try Host(poller)
            let weak = await host.on { WeakHandler($0) }
            #expect(weak.handler != nil)
            await host.end()
            #expect(weak.handler == nil)
        }

        @Test(arguments: PollerKind.allCases)
        func `the loop itself is released with its last owner`(
            _ poller: PollerKind
        ) async throws {
            var host: Host? = try Host(poller)
            let weak = WeakLoop(host?.loop)
            let client = try #require(try host?.connect())
            _ = try await host?.opened()
            await host?.end()
            host = nil
            #expect(client.receiveAll().ending == .finished)
            while weak.loop != nil { await Task.yield() }
        }
    }
}

extension EventLoop {
    /// From a job of the actor, not from a callback of the loop.
    func setTimerAsActor(_ token: UInt64) {
        table.setTimer(token: token, at: table.now + .milliseconds(80))
    }
}

// Only read after the loop has ended.
private final class WeakHandler: @unchecked Sendable {
    weak var handler: Scripted?
    init(_ handler: Scripted) { self.handler = handler }
}

private final class WeakLoop: Sendable {
    weak let loop: EventLoop<Scripted>?
    init(_ loop: EventLoop<Scripted>?) { self.loop = loop }
}

/// The target of every descriptor of this process: `socket:[4711]` for a socket.
func openLinks() throws -> Set<String> {
    guard let directory = unsafe opendir("/proc/self/fd") else { throw Host.Ended() }
    defer { _ = unsafe closedir(directory) }
    var links: Set<String> = []
    while let entry = unsafe readdir(directory) {
        let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
            unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) {
                unsafe String(cString: $0)
            }
        }
        if let link = link(of: name) { links.insert(link) }
    }
    return links
}

/// The target of `/proc/self/fd/<name>`, nil if it is not (or no longer) a descriptor.
private func link(of name: String) -> String? {
    var target = [CChar](repeating: 0, count: 256)
    let count = unsafe readlink("/proc/self/fd/\(name)", &target, target.count)
    guard count > 0 else { return nil }
    return String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

extension Host {
    /// The sockets of all connections of all loops, as ``openLinks()`` names them.
    func openSockets() async throws -> Set<String> {
        var links: Set<String> = []
        for loop in loops {
            let descriptors = await withCheckedContinuation { continuation in
                loop.enqueue { handler in
                    continuation.resume(
                        returning: handler.table.slots.filter { $0.flags.contains(.open) }.map(
                            \.descriptor))
                }
            }
            for descriptor in descriptors {
                if let link = link(of: String(descriptor)) { links.insert(link) }
            }
        }
        return links
    }
}

/// Clients that send another byte as soon as one is received. Used on one loop only.
private final class Flood: @unchecked Sendable {
    private var clients: [ConnectionID: Client] = [:]

    func add(_ client: Client, _ id: ConnectionID) { clients[id] = client }

    func start() { for client in clients.values { client.send([1]) } }

    func feed(_ id: ConnectionID) { clients[id]?.send([1]) }

    func stop() { clients = [:] }
}
