import ReactorHosting
import Reactors
import SampleReactors
import Storage
import Testing

@testable import ReactorHosting

@Suite("A program uses its own sessions as a client does", .timeLimit(.minutes(60)))
struct HostedSessionTests {
    static let hosted = [
        Hosted("order") { Order() }, Hosted("alerts") { Alerts() },
        Hosted("lot", input: Lot.Input.self) { Lot($0) },
    ]

    private func withServer(
        _ journal: any Journal = MemoryJournal(), loops: Int = 2,
        _ adjust: (inout Configuration) -> Void = { _ in },
        _ act: (LocalServer) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            try await LocalServer.with(
                journal, hosting: Self.hosted,
                {
                    $0.loops = loops
                    adjust(&$0)
                }, act)
        }
    }

    private func withOrder(
        _ act: (LocalServer, HostedSession<Order>) async throws -> Void
    ) async throws {
        try await withServer { server in
            try await act(server, try await server.own.create("order-1", of: Order.self))
        }
    }

    /// The same code for a session anywhere.
    private func pay(_ order: some ReactorStore<Order>) async throws -> [String] {
        try await order.send(.pay("a"))
        return await order.currentState.payments
    }

    // MARK: Sending

    @Test func `a send returns when the action is committed and visible`() async throws {
        try await withOrder { server, order in
            let result = try await order.send(.pay("a"))
            #expect(result == SendResult(accepted: true, version: 1))
            let read = try await server.client().get("/v1/sessions/order-1").json
            #expect(read["version"] == 1)
            #expect(read["state"]?["payments"] == ["a"])
            #expect(try await order.read().position?.hasSuffix(".1") ?? false)
            #expect(await order.version == 1)
            #expect(try await pay(order) == ["a", "a"])
        }
        #expect(try await pay(ReactorHost(Order())) == ["a"])
    }

    // If responses were not mapped, a refusal would be thrown, or would have no code.
    @Test func `a refusal is a result, like that of a host in the process`() async throws {
        let host = ReactorHost(Order())
        await host.send(.close)
        let expected = await host.send(.pay("a"))
        try await withOrder { _, order in
            try await order.send(.close)
            #expect(try await order.send(.pay("a"), key: "k") == expected)
            #expect(expected.refusal?.code == "closed")
            #expect(try await order.read().state.payments == [])
        }
    }

    @Test func `a key applies an action once`() async throws {
        try await withOrder { _, order in
            let first = try await order.send(.pay("a"), key: "payment-1")
            try await order.send(.pay("b"))
            #expect(try await order.send(.pay("a"), key: "payment-1") == first)
            #expect(try await order.read().state.payments == ["a", "b"])
            await #expect(throws: HostedFailure.self) {
                try await order.send(.pay("c"), key: "payment-1")
            }
            // A key belongs to its client.
            try await order.send(.pay("c"), key: "payment-1", subject: "ada")
            let state = try await order.read().state
            #expect(state.payments == ["a", "b", "c"])
            #expect(state.payers == ["ada"])
        }
    }

    @Test func `many tasks send at once, and each action is applied once`() async throws {
        try await withOrder { _, order in
            try await withThrowingTaskGroup { group in
                for number in 0..<(2 * ProgramCalls.limit + 100) {
                    group.addTask { try await order.send(.pay("\(number)")) }
                }
                try await group.waitForAll()
            }
            let payments = try await order.read().state.payments
            #expect(payments.count == 2 * ProgramCalls.limit + 100)
            #expect(Set(payments).count == payments.count)
        }
    }

    // MARK: Failures

    private func failure(_ act: () async throws -> Void) async -> HostedFailure? {
        do {
            try await act()
            return nil
        } catch {
            return error as? HostedFailure
        }
    }

    @Test func `each failure has its case, and the sentence names the session`() async throws {
        try await withServer { server in
            let own = server.own
            _ = try await own.create("alerts-1", of: Alerts.self)
            let wrong = try own.session("alerts-1", of: Order.self)
            for act: () async throws -> Void in [
                { try await wrong.send(.pay("a")) }, { _ = try await wrong.read() },
                { _ = try await wrong.log() }, { try await wrong.delete() },
                { try await own.create("alerts-1", of: Order.self) },
            ] {
                let sentence = "the session alerts-1 has the reactor alerts"
                #expect(await failure(act) == .otherReactor(sentence))
            }
            let unknown = try own.session("nobody", of: Order.self)
            guard case .unknownSession? = await failure({ try await unknown.send(.close) })
            else { Issue.record("not unknown"); return }
            let order = try await own.create("order-1", of: Order.self)
            try await order.delete()
            let ended = HostedFailure.ended("the session order-1 has been deleted")
            #expect(await failure { try await order.send(.close) } == ended)
            #expect(await failure { try await own.create("order-1", of: Order.self) } == ended)
            for act: () async throws -> Void in [
                { _ = try own.session("no/id", of: Order.self) },
                { _ = try own.session("job-1", of: Job.self) },
                { try await unknown.send(.close, key: "two words\r\nX: y") },
                { try await unknown.send(.close, key: nil, subject: "") },
            ] {
                guard case .invalid? = await failure(act)
                else { Issue.record("not invalid"); return }
            }
            // There is nothing to read, so it is the state with which a host would begin.
            #expect(await unknown.currentState == Order().initialState)
            for try await _ in await unknown.state() { Issue.record("it has no state") }
            for try await _ in await wrong.pulse(\.$confirmation) { Issue.record("no pulse") }
        }
    }

    // MARK: Streams

    @Test func `streams begin with the present value, and miss nothing after the call`()
        async throws
    {
        try await withOrder { _, order in
            try await order.send(.pay("a"))
            var states = await order.state().makeAsyncIterator()
            var counts = await order.state(\.payments.count).makeAsyncIterator()
            var receipts = await order.pulse(\.$confirmation).makeAsyncIterator()
            var notes = await order.activities().makeAsyncIterator()
            try await order.send(.close)
            try await order.send(.note("late"))
            let fork = try await order.fork(at: 1)
            try await fork.send(.pay("a"))
            try await fork.delete()
            #expect(try await states.next()?.isClosed == false)
            #expect(try await states.next()?.isClosed == true)
            #expect(try await counts.next() == 1)
            #expect(try await receipts.next() == "a")
            #expect(try await notes.next() == .noted("late"))
            try await order.delete()
            #expect(try await states.next() == nil)
            // The state has changed, and this part has not.
            #expect(try await counts.next() == nil)
            #expect(try await receipts.next() == nil)
            #expect(try await notes.next() == nil)
        }
    }

    // There are more bytes than may wait in memory, so the stream waits for its reader.
    @Test(arguments: [1, 256])
    func `a slow reader of pulses gets each one, in order`(buffer: Int) async throws {
        let padding = String(repeating: "x", count: 1_000)
        let folder = TemporaryFolder()
        let journal = try FileJournal(path: folder.path + "/slow.sqlite")
        try await withServer(journal, { $0.keptBytes = 10_000 }) { server in
            let order = try await server.own.create("order-1", of: Order.self)
            let receipts = await order.pulse(\.$confirmation, buffer: buffer)
            for number in 0..<500 {
                let payment = "\(number)\(padding)"
                // The state is small, so that the test is fast.
                let other = try await server.own.create("order-1", of: Order.self)
                try await other.send(.pay(payment))
            }
            var expected = 0
            for try await receipt in receipts {
                guard let receipt else { continue }
                #expect(receipt == "\(expected)\(padding)")
                expected += 1
                if expected == 500 { break }
            }
        }
    }

    @Test func `a reader whose next pulse is no longer kept gets an error`() async throws {
        let padding = String(repeating: "x", count: 1_000)
        try await withServer(loops: 1, { $0.keptBytes = 10_000 }) { server in
            let order = try await server.own.create("order-1", of: Order.self)
            let confirmations = await order.pulse(\.$confirmation, buffer: 1)
            for number in 0..<300 { try await order.send(.pay("\(number)\(padding)")) }
            var read = 0
            await #expect(throws: ReaderTooSlow.self) {
                for try await confirmation in confirmations where confirmation != nil {
                    #expect(confirmation == "\(read)\(padding)")
                    read += 1
                    if read == 300 { break }
                }
            }
            #expect(read > 0)
        }
    }

    // MARK: Sessions

    @Test func `the program creates, forks, reads the log of and deletes sessions`() async throws {
        try await withServer { server in
            let own = server.own
            let order = try await own.create(of: Order.self)
            #expect(try await own.create(order.id, of: Order.self).id == order.id)
            for payment in ["a", "b", "c"] { try await order.send(.pay(payment)) }
            #expect(try await order.read(at: 1).state.payments == ["a"])
            let fork = try await order.fork(at: 2)
            try await fork.send(.pay("x"))
            #expect(try await fork.read().state.payments == ["a", "b", "x"])
            #expect(try await order.read().state.payments == ["a", "b", "c"])

            var entries: [String] = []
            var page = try await order.log(limit: 2)
            entries += page.entries
            while let next = page.next {
                page = try await order.log(after: next, limit: 2)
                entries += page.entries
            }
            #expect(entries.count == 3)
            #expect(entries.allSatisfy { $0.contains("\"paid\"") })
            #expect(!page.isCut)
            try await fork.delete()
            await #expect(throws: HostedFailure.self) { try await fork.read() }
        }
    }

    @Test func `a session is created with an input, and its forks have the same`() async throws {
        try await withServer { server in
            let own = server.own
            let lamp = Lot.Input(name: "A lamp", price: 7)
            let lot = try await own.create(
                "lot-1", of: Lot.self, input: lamp, subject: "ada")
            for session in [lot, try await lot.fork(subject: "ada")] {
                let shown = Lot.Shown(id: session.id, name: "A lamp", price: 7, owner: "ada")
                #expect(try await session.read().state.shown == shown)
            }
            #expect(try await own.create("lot-1", of: Lot.self, input: lamp).id == "lot-1")
            let other = HostedFailure.otherInput(
                "the session lot-1 was created with another input; GET /v1/sessions/lot-1 shows it")
            for input in [Lot.Input(name: "A lamp", price: nil), nil] {
                await #expect(throws: other) {
                    try await own.create("lot-1", of: Lot.self, input: input)
                }
            }
            let without = HostedFailure.invalid(
                code: "not_an_input",
                "a session of the reactor lot needs an input, and the request has none; "
                    + "GET /v1/reactors has the schema of its input")
            await #expect(throws: without) { try await own.create("lot-2", of: Lot.self) }
            let large = Lot.Input(name: String(repeating: "a", count: 65_536), price: nil)
            let inputs: [((any Encodable)?, String)] = [
                (nil, "not_an_input"), (["name": 7], "not_an_input"), (large, "body_too_large"),
                (Double.nan, "not_encodable"),
            ]
            for (input, expected) in inputs {
                let failed = await failure {
                    try await own.create("lot-2", of: Lot.self, input: input)
                }
                guard case .invalid(let code, _)? = failed else {
                    Issue.record("\(String(describing: failed))")
                    return
                }
                #expect(code == expected)
            }
            let needless = await failure {
                try await own.create("order-2", of: Order.self, input: lamp)
            }
            guard case .invalid("not_an_input", _)? = needless else {
                Issue.record("\(String(describing: needless))")
                return
            }
            for unmade in ["lot-2", "order-2"] {
                #expect(try await server.client().get("/v1/sessions/\(unmade)").status == 404)
            }
        }
    }

    @Test func `a value that the program publishes reaches each listening session once`()
        async throws
    {
        try await withServer { server in
            let orders = [
                try await server.own.create("order-1", of: Order.self),
                try await server.own.create("order-2", of: Order.self),
            ]
            #expect(try await server.own.publish("sale", to: Order.news, key: "k") == 2)
            try await server.own.publish("sale", to: Order.news, key: "k")
            for order in orders { #expect(try await order.read().state.news == ["sale"]) }
            await #expect(throws: HostedFailure.self) {
                try await server.own.publish("x", to: Topic<String>("nobody"))
            }
        }
    }
}
