import ReactorHosting
import Reactors
import Storage
import Synchronization
import Testing

@testable import ReactorHosting

@Suite(
    "A program beside the server ends with it, and the server with its error",
    .timeLimit(.minutes(60)))
struct ProgramRunTests {
    private struct Broken: Error {}

    private final class Sent: Sendable {
        private let payments = Mutex<Set<String>>([])
        var all: Set<String> { payments.withLock { $0 } }

        func insert(_ payment: String) { payments.withLock { _ = $0.insert(payment) } }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.port = 0
        configuration.loops = 2
        configuration.journal = .memory
        configuration.logLevel = .critical
        return configuration
    }

    private func server(_ adjust: (inout Configuration) -> Void = { _ in }) -> ReactorServer {
        var configuration = Self.configuration
        adjust(&configuration)
        return ReactorServer(hosting: [Hosted("order") { Order() }], configuration: configuration)
    }

    @Test func `it begins when the server is ready`() async throws {
        let hasStarted = Mutex(false)
        await #expect(throws: Broken.self) {
            try await server().run(started: { _ in hasStarted.withLock { $0 = true } }) { own in
                #expect(hasStarted.withLock { $0 })
                let order = try await own.create("order-1", of: Order.self)
                try await order.send(.pay("a"))
                #expect(await order.currentState.payments == ["a"])
                throw Broken()
            }
        }
    }

    @Test func `when it returns, the server continues`() async throws {
        let (begun, begin) = AsyncStream<HostedSessions>.makeStream()
        let running = Task {
            defer { begin.finish() }
            try await server().run { begin.yield($0) }
        }
        let own = try #require(await begun.first { _ in true })
        let order = try await own.create("order-1", of: Order.self)
        try await order.send(.pay("a"))
        var states = await order.state().makeAsyncIterator()
        #expect(try await states.next()?.payments == ["a"])
        running.cancel()
        try await running.value
        // After the end of the server.
        #expect(try await states.next() == nil)
        await #expect(throws: HostedFailure.draining("the server is shutting down")) {
            try await order.send(.pay("b"))
        }
    }

    // Without the wait, the last requests would come after the end.
    @Test func `the drain cancels it, and waits for its last requests`() async throws {
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let last = Mutex<SendResult?>(nil)
        let running = Task {
            defer { begin.finish() }
            try await server { $0.grace = .seconds(600) }.run { own in
                let order = try await own.create("order-1", of: Order.self)
                begin.finish()
                let (never, _) = AsyncStream<Void>.makeStream()
                for await _ in never {}
                #expect(Task.isCancelled)
                for number in 1...300 {
                    let result = try await order.send(.pay("\(number)"))
                    last.withLock { $0 = result }
                }
                try Task.checkCancellation()
            }
        }
        for await _ in begun {}
        running.cancel()
        try await running.value
        #expect(last.withLock { $0?.version } == 300)
    }

    @Test func `the server waits no longer than the grace for one that ignores the drain`()
        async throws
    {
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let (ended, end) = AsyncStream<HostedFailure>.makeStream()
        let running = Task {
            defer {
                begin.finish()
                end.finish()
            }
            try await server { $0.grace = .milliseconds(10) }.run { own in
                let order = try await own.create("order-1", of: Order.self)
                begin.finish()
                var number = 0
                do throws(HostedFailure) {
                    while true {
                        number += 1
                        try await order.send(.pay("\(number)"))
                    }
                } catch {
                    end.yield(error)
                    throw error
                }
            }
        }
        for await _ in begun {}
        running.cancel()
        try await running.value
        #expect(await ended.first { _ in true } == .draining("the server is shutting down"))
    }

    /// A file whose loads wait while the test holds them.
    private final class HeldFile: Journal {
        private let file: FileJournal
        let held: HeldArchive
        var archive: (any Archive)? { held }
        var name: String { file.name }
        var failure: JournalFailure? { file.failure }

        init(_ path: String) throws {
            file = try FileJournal(path: path)
            held = HeldArchive(try #require(file.archive))
        }

        func commit(
            _ batch: Batch, ended: @escaping @Sendable (Verdict) -> Void
        ) -> Commit { file.commit(batch, ended: ended) }

        func close() async { await file.close() }
    }

    /// Looks at the only loop of a server; nil if it has stopped.
    private func look<Value: Sendable>(
        _ own: HostedSessions, _ value: @escaping @Sendable (ServerLoop) -> Value
    ) async -> Value? {
        await withCheckedContinuation { waiter in
            let isRunning = own.peers.enqueue(on: 0) { waiter.resume(returning: value($0)) }
            if !isRunning { waiter.resume(returning: nil) }
        }
    }

    // The connections have ended, so nothing else waits for it.
    @Test func `a read that the program begins during the drain is answered`() async throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/read.sqlite"
        let hosted = [Hosted("order") { Order() }]
        try await LocalServer.with(FileJournal(path: path), hosting: hosted) { server in
            let order = try await server.own.create("order-1", of: Order.self)
            try await order.send(.pay("a"))
        }
        let journal = try HeldFile(path)
        let (begun, begin) = AsyncStream<HostedSessions>.makeStream()
        let read = Mutex<Task<[String], any Error>?>(nil)
        var configuration = Self.configuration
        configuration.loops = 1
        configuration.grace = .seconds(600)
        var server = ReactorServer(hosting: hosted, configuration: configuration)
        server.program = { own in
            begin.yield(own)
            let (never, _) = AsyncStream<Void>.makeStream()
            for await _ in never {}
            while await look(own, { $0.resources.isDraining }) == false {}
            journal.held.loads.begin()
            let order = try own.session("order-1", of: Order.self)
            read.withLock { $0 = Task { try await order.read().state.payments } }
            while journal.held.loads.count == 0 { await Task.yield() }
        }
        let running = Task { [server] in
            defer { begin.finish() }
            try await server.run(started: { _ in }, closingTime: .seconds(600)) { _ in journal }
        }
        let own = try #require(await begun.first { _ in true })
        running.cancel()
        // The program has ended.
        while await own.calls.enter() {
            own.calls.leave()
            await Task.yield()
        }
        // Without the wait, the loop would stop by now.
        for _ in 1...5_000 { guard await look(own, { _ in true }) == true else { break } }
        journal.held.loads.end()
        let payments = try await read.withLock { $0 }?.value
        #expect(payments == ["a"])
        try await running.value
    }

    // If the drain did not wait for the calls under way, an outcome would be unknown.
    @Test func `each send of a drain has committed or was refused, and none is lost`()
        async throws
    {
        let folder = TemporaryFolder()
        let path = folder.path + "/drain.sqlite"
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let sent = Sent()
        let running = Task {
            defer { begin.finish() }
            try await server {
                $0.journal = .file(path: path)
                $0.grace = .milliseconds(50)
            }.run { own in
                let order = try await own.create("order-1", of: Order.self)
                await withTaskGroup { group in
                    for task in 0..<50 {
                        group.addTask {
                            var number = 0
                            do throws(HostedFailure) {
                                while true {
                                    number += 1
                                    let payment = "\(task).\(number)"
                                    try await order.send(.pay(payment), key: payment)
                                    sent.insert(payment)
                                    if number == 3 { begin.finish() }
                                }
                            } catch {
                                guard case .draining = error else {
                                    Issue.record("\(error)")
                                    return
                                }
                            }
                        }
                    }
                }
            }
        }
        for await _ in begun {}
        running.cancel()
        try await running.value
        let known = sent.all
        await #expect(throws: Broken.self) {
            try await server { $0.journal = .file(path: path) }.run { own in
                let order = try own.session("order-1", of: Order.self)
                let payments = try await order.read().state.payments
                #expect(Set(payments) == known)
                #expect(payments.count == known.count)
                // The payments of each task are in order.
                for task in 0..<50 {
                    let own = payments.filter { $0.hasPrefix("\(task).") }
                    #expect(own == (1...max(own.count, 1)).map { "\(task).\($0)" })
                }
                // Exactly once, over the restart.
                let again = try #require(known.first)
                try await order.send(.pay(again), key: again)
                #expect(try await order.read().state.payments == payments)
                throw Broken()
            }
        }
    }
}
