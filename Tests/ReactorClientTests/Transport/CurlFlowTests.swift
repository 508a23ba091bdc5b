import Glibc
import Synchronization
import TestRandomness
import Testing

@testable import ReactorClient

#if os(Linux)
    @Suite("a receiver decides when bytes come, and when a request ends", .timeLimit(.minutes(60)))
    struct CurlFlowTests {
        private static let size = 64 * 1_048_576

        /// Sends a long body; the number of bytes that the kernel has accepted is in `sent`.
        private static func endless(_ sent: Requests) throws -> ScriptedServer {
            try ScriptedServer(sendBufferBytes: 65_536) { peer in
                while let request = peer.request() {
                    guard request.hasPrefix("GET /large ") else {
                        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
                        continue
                    }
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                    let piece = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                    for _ in 0..<size / piece.count {
                        guard peer.send(piece) else { return }
                        sent.append("")
                    }
                }
            }
        }

        @Test func `a paused response stops the server, and nothing of it is lost`() async throws {
            let sent = Requests()
            let server = try Self.endless(sent)
            let transport = try localTransport()
            let isPaused = Mutex(false)
            let large = Recorder { recorder, call in
                guard case .bytes = call else { return .more }
                let mayCome = isPaused.withLock { isPaused in
                    defer { isPaused = true }
                    return !isPaused
                }
                #expect(mayCome, "bytes have come in a pause")
                return .pause
            }.start(
                TransportRequest("GET", "\(server.address)/large", isStream: true), on: transport)
            var body = 0
            var pauses = 0
            for await call in large.calls {
                guard case .bytes(let bytes) = call else { continue }
                #expect(bytes.count <= 65_536)
                for index in [0, bytes.count - 1] {
                    let expected = UInt8(truncatingIfNeeded: (body + index) % 65_536 &* 31)
                    #expect(bytes[index] == expected)
                }
                body += bytes.count
                pauses += 1
                if pauses <= 3 {
                    // The other requests show that the transport works while this one pauses.
                    for _ in 0..<30 {
                        let other = await transport.response(
                            of: TransportRequest("GET", "\(server.address)/small"))
                        #expect(other.text == "hi")
                    }
                    #expect(sent.all.count * 65_536 < 16 * 1_048_576)
                }
                isPaused.withLock { $0 = false }
                large.handle.resume()
            }
            #expect(body == Self.size)
        }

        enum Moment: String, CaseIterable, Sendable {
            case start, head, firstBytes, laterBytes, pause, afterResume, end
        }

        @Test(arguments: Moment.allCases)
        func `a request can be cancelled at any moment`(_ moment: Moment) async throws {
            let server = try ScriptedServer { peer in
                guard peer.request() != nil else { return }
                peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in 0..<1_000 {
                    let chunk = String(repeating: "x", count: 1_000)
                    guard peer.send("3e8\r\n\(chunk)\r\n") else { return }
                }
                peer.send("0\r\n\r\n")
            }
            let transport = try localTransport()
            for _ in 0..<20 {
                let chunks = Mutex(0)
                let isCancelled = Mutex(false)
                let recorder = Recorder { recorder, call in
                    if case .ended = call {
                    } else {
                        #expect(!isCancelled.withLock { $0 }, "a call after it was cancelled")
                    }
                    let cancel = {
                        isCancelled.withLock { $0 = true }
                        recorder.handle.cancel()
                        recorder.handle.cancel()
                    }
                    switch call {
                    case .head: if moment == .head { cancel() }
                    case .bytes:
                        let count = chunks.withLock { chunks in
                            chunks += 1
                            return chunks
                        }
                        if moment == .firstBytes || (moment == .laterBytes && count == 3) {
                            cancel()
                        }
                        if moment == .pause || moment == .afterResume { return .pause }
                    case .ended: if moment == .end { cancel() }
                    }
                    return .more
                }.start(TransportRequest("GET", server.address, isStream: true), on: transport)
                if moment == .start { recorder.handle.cancel() }
                var end: TransportFailure??
                for await call in recorder.calls {
                    if case .bytes = call, moment == .pause { recorder.handle.cancel() }
                    if case .bytes = call, moment == .afterResume {
                        recorder.handle.resume()
                        recorder.handle.cancel()
                    }
                    if case .ended(let failure) = call { end = failure }
                }
                let failure = try #require(end)
                #expect(failure?.kind == (moment == .end ? nil : .cancelled))
            }
        }

        @Test func `a receiver may start the next request, and resume, within a call`() async throws
        {
            let server = try ScriptedServer { peer in
                while peer.request() != nil {
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n")
                    peer.send([UInt8](repeating: 7, count: 200_000))
                }
            }
            let transport = try localTransport()
            let request = TransportRequest("GET", server.address)
            let inner = Recorder { recorder, call in
                guard case .bytes = call else { return .more }
                recorder.handle.resume()
                return .pause
            }
            let outer = Recorder { _, call in
                if case .head = call { inner.start(request, on: transport) }
                return .more
            }.start(request, on: transport)
            #expect(await outer.response().body.count == 200_000)
            // A resume that precedes its pause is not lost: the thread reads it afterwards.
            #expect(await inner.response().body.count == 200_000)
        }

        @Test func `the end of a round follows the calls of each round`() async throws {
            let server = try ScriptedServer { peer in
                while let request = peer.request() {
                    if request.hasPrefix("GET /silent") { return _ = peer.waitForClose() }
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
                    peer.send("cd")
                }
            }
            var transport: CurlTransport? = try localTransport()
            let silent = RoundRecorder()
            let handle = transport?.start(
                TransportRequest("GET", "\(server.address)/silent", isStream: true), silent)
            let cancelled = RoundRecorder()
            transport?.start(
                TransportRequest("GET", "\(server.address)/silent", isStream: true), cancelled
            ).cancel()
            for _ in 0..<100 {
                let recorder = RoundRecorder()
                _ = transport?.start(TransportRequest("GET", server.address), recorder)
                try await recorder.check()
            }
            try await cancelled.check()
            transport = nil
            try await silent.check()
            withExtendedLifetime(handle) {}
        }

        @Test func `a transport that goes ends everything, once`() async throws {
            let server = try ScriptedServer { peer in
                guard let request = peer.request() else { return }
                if request.hasPrefix("GET /silent") { return _ = peer.waitForClose() }
                peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                let chunk = "8000\r\n" + String(repeating: "x", count: 32_768) + "\r\n"
                // Bounded: beside all other tests the one that reads it may wait for a minute.
                for _ in 0..<32 where !peer.send(chunk) { return }
                _ = peer.waitForClose()
            }
            for round in 0..<40 {
                var transport: CurlTransport? = try localTransport { $0.requestsAtOnce = 2 }
                var recorders: [Recorder] = []
                for number in 0..<12 {
                    let pauses = number % 3 == 1
                    let path = number % 3 == 0 ? "silent" : "loud"
                    let request = TransportRequest(
                        "GET", "\(server.address)/\(path)", isStream: number % 2 == 0)
                    let recorder = Recorder { _, call in
                        if case .bytes = call, pauses { return .pause }
                        return .more
                    }
                    recorders.append(transport.map { recorder.start(request, on: $0) } ?? recorder)
                }
                if round % 2 == 0 {
                    // Some have begun.
                    for await call in recorders[4].calls {
                        if case .bytes = call { break }
                    }
                }
                transport = nil
                for recorder in recorders {
                    // Without an effect, and without a use of what is gone.
                    recorder.handle.resume()
                    recorder.handle.cancel()
                }
                for (number, recorder) in recorders.enumerated() where number != 4 || round % 2 != 0
                {
                    let response = await recorder.response()
                    #expect(response.hasEnded)
                    #expect(response.failure?.kind == .cancelled)
                }
            }
        }

        @Test func `a receiver may be the last to hold the transport`() async throws {
            let server = try ScriptedServer { peer in
                while peer.request() != nil {
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
                }
            }
            for _ in 0..<50 {
                let kept = Mutex<CurlTransport?>(try localTransport())
                let recorder = Recorder { _, call in
                    if case .head = call { kept.withLock { $0 = nil } }
                    return .more
                }
                let transport = kept.withLock(\.self)
                if let transport {
                    recorder.start(TransportRequest("GET", server.address), on: transport)
                }
                _ = consume transport
                #expect(await recorder.response().hasEnded)
            }
        }
    }

    /// Notes the calls of a transport, and the ends of its rounds.
    private final class RoundRecorder: RoundReceiver {
        private enum Call { case response, end, round }

        private let calls: AsyncStream<Call>
        private let continuation: AsyncStream<Call>.Continuation

        init() { (calls, continuation) = AsyncStream.makeStream() }

        func head(_ status: Int, _ fields: [TransportField]) { continuation.yield(.response) }

        func bytes(_ chunk: [UInt8]) -> TransportDemand {
            continuation.yield(.response)
            return .more
        }

        func ended(_ failure: TransportFailure?) { continuation.yield(.end) }

        func roundEnded() { continuation.yield(.round) }

        /// Returns when the round of the last call has ended.
        func check() async throws {
            var before = Call.round
            var hasEnded = false
            for await call in calls {
                #expect(call != .round || before != .round, "a round without a call")
                if call == .end { hasEnded = true }
                if call == .round, hasEnded { return }
                before = call
            }
        }
    }
#endif
