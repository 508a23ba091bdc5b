import ReactorClient
import Synchronization
import Testing

/// Collects a response; `pieces` has its body as it comes.
private final class Collector: TransportReceiver {
    struct Result: Sendable {
        var status = 0
        var body: [UInt8] = []
        var failure: TransportFailure?
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    let pieces: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation
    private let result = Mutex(Result())

    init() { (pieces, continuation) = AsyncStream.makeStream() }

    func head(_ status: Int, _ fields: [TransportField]) {
        result.withLock { $0.status = status }
    }

    func bytes(_ chunk: [UInt8]) -> TransportDemand {
        result.withLock { $0.body += chunk }
        continuation.yield(String(decoding: chunk, as: UTF8.self))
        return .more
    }

    func ended(_ failure: TransportFailure?) {
        result.withLock { $0.failure = failure }
        continuation.finish()
    }

    func whole() async -> Result {
        for await _ in pieces {}
        return result.withLock(\.self)
    }
}

#if os(Linux)
    @Suite("the client's transport with a real server", .timeLimit(.minutes(60)))
    struct ClientTransportTests {
        private func response(
            _ transport: CurlTransport, _ method: String, _ url: String, _ body: String = ""
        ) async -> Collector.Result {
            let collector = Collector()
            let fields = [
                TransportField("Content-Type", "application/json"),
                TransportField("Idempotency-Key", "key-\(body.count)-\(url.count)"),
            ]
            _ = transport.start(
                TransportRequest(method, url, fields: fields, body: Array(body.utf8)), collector)
            return await collector.whole()
        }

        @Test func `actions are answered while a stream brings their events`() async throws {
            try await withServer { server in
                var settings = CurlSettings()
                settings.proxy = ""
                let transport = try CurlTransport(settings)
                let url = "\(server.address)/v1/sessions/a"
                let put = await response(transport, "PUT", url, #"{"reactor":"counter"}"#)
                #expect(put.status == 201)
                let stream = Collector()
                let handle = transport.start(
                    TransportRequest(
                        "GET", "\(url)/events?only=states",
                        fields: [TransportField("Accept", "text/event-stream")], isStream: true),
                    stream)
                var seen = ""
                for await piece in stream.pieces {
                    seen += piece
                    if seen.contains("event: snapshot") { break }
                }
                #expect(seen.contains(#""count":0"#))
                let post = await response(
                    transport, "POST", "\(url)/actions", #"{"type":"increment","number":7}"#)
                #expect(post.status == 200)
                for await piece in stream.pieces {
                    seen += piece
                    if seen.contains(#""count":7"#) { break }
                }
                #expect(seen.contains("cause: key-"))
                handle.cancel()
                #expect(await stream.whole().failure?.kind == .cancelled)
            }
        }

        @Test func `a server that dies ends what is under way with a failure`() async throws {
            try await withServer { server in
                var settings = CurlSettings()
                settings.proxy = ""
                let transport = try CurlTransport(settings)
                let url = "\(server.address)/v1/sessions/a"
                _ = await response(transport, "PUT", url, #"{"reactor":"counter"}"#)
                let stream = Collector()
                _ = transport.start(
                    TransportRequest("GET", "\(url)/events", isStream: true), stream)
                for await _ in stream.pieces { break }
                server.signal(9)
                let end = await stream.whole()
                #expect(end.status == 200)
                #expect(end.failure?.kind == .interrupted)
                let post = await response(transport, "POST", "\(url)/actions", "{}")
                #expect(post.failure != nil)
            }
        }
    }
#endif
