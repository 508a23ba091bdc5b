import Foundation
import ReactorHosting
import Reactors
import Testing

@Suite("Using your own sessions — a payment consumer", .timeLimit(.minutes(60)))
struct PaymentTests {
    @Test func `each message is applied once, however often it is delivered`() async throws {
        var configuration = Configuration()
        configuration.port = 0
        configuration.journal = .file(path: NSTemporaryDirectory() + UUID().uuidString)
        let server = ReactorServer(
            hosting: [Hosted("order") { Order() }], configuration: configuration)
        try await run(server) { own in
            for order in ["order-1", "order-2"] { try await own.create(order, of: Order.self) }
        }
        let (payments, queue) = AsyncStream<Payment>.makeStream()
        let (acknowledgements, acknowledged) = AsyncStream<String>.makeStream()
        let messages = [
            ("p1", "order-1", 60), ("p1", "order-1", 60), ("p2", "order-1", 60),
            ("p3", "order-2", 100), ("p4", "order-1", 40),
        ]
        for (id, order, amount) in messages {
            queue.yield(
                Payment(id: id, order: order, amount: amount) { acknowledged.yield(id) })
        }
        let serving = Task {
            defer { acknowledged.finish() }
            try await serve(server, payments: payments)
        }
        for await id in acknowledgements where id == "p4" { break }
        serving.cancel()
        try await serving.value
        try await run(server) { own in
            for (id, due, version) in [("order-1", 0, 2), ("order-2", 0, 1)] {
                let order = try await own.session(id, of: Order.self).read()
                #expect(order.state.due == due)
                #expect(order.version == UInt64(version))
            }
        }
    }

    private struct Done: Error {}

    /// Runs a server for as long as `act`.
    private func run(
        _ server: ReactorServer, _ act: @escaping @Sendable (HostedSessions) async throws -> Void
    ) async throws {
        await #expect(throws: Done.self) {
            try await server.run { own in
                try await act(own)
                throw Done()
            }
        }
    }

    @Test func `the page has the code of this package`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../..").standardizedFileURL
        let page = try String(
            contentsOf: root.appending(
                path: "Sources/ReactorHosting/ReactorHosting.docc/UsingYourOwnSessions.md"),
            encoding: .utf8)
        let code = try String(
            contentsOf: root.appending(path: "Tests/OwnReactorTests/Payments.swift"),
            encoding: .utf8)
        #expect(page.contains("```swift\n\(code)```\n"))
    }
}
