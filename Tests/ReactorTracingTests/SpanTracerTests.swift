import Foundation
import Glibc
import InMemoryTracing
import ReactorHosting
import Testing
import Tracing

@testable import ReactorTracing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("SpanTracer — POST, commit and effects are one trace", .timeLimit(.minutes(60)))
struct SpanTracerTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private let tracer = HexTracer()

    private func serve(
        tracing: Bool = true, _ body: (Site) async throws -> Void
    ) async throws {
        var configuration = Configuration()
        configuration.port = 0
        configuration.loops = 2
        configuration.journal = .memory
        configuration.administration = .on
        configuration.grace = .seconds(1)
        let tracer = tracer
        let server = ReactorServer(
            hosting: [
                Hosted("walker") { Walker(tracer: tracer) },
                Hosted("rower") { Rower(tracer: tracer) },
            ], configuration: configuration, tracer: tracing ? SpanTracer(tracer) : nil)
        let (addresses, started) = AsyncStream<String>.makeStream()
        let running = Task {
            defer { started.finish() }
            try await server.run { started.yield($0) }
        }
        try await body(Site(address: #require(await addresses.first { _ in true })))
        running.cancel()
        try await running.value
    }

    @Test func `the request, the commit, and each step of the effect`() async throws {
        try await serve { site in
            try await site.create("a", "walker")
            let response = try await site.post(
                "/v1/sessions/a/actions", #"{"type":"walk"}"#, ["traceparent": Self.parent])
            #expect(response.status == 200)
            // As before: the client's own is handed out.
            #expect(response.fields["traceparent"] == Self.parent)
            let request = try await tracer.ended("POST /v1/sessions/{id}/actions")
            #expect(request.kind == .server)
            #expect(request.traceID == "0af7651916cd43dd8448eb211c80319c")
            #expect(request.parentSpanID == "b7ad6b7169203331")
            #expect(request.attributes["http.request.method"]?.text == "POST")
            #expect(request.attributes["http.route"]?.text == "/v1/sessions/{id}/actions")
            #expect(request.attributes["http.response.status_code"]?.text == "200")
            #expect(request.attributes["reactor.session"]?.text == "a")
            #expect(request.status == nil)
            let commit = try await tracer.ended {
                $0.operationName == "commit" && $0.traceID == request.traceID
            }
            #expect(commit.parentSpanID == request.spanID)
            #expect(commit.status == nil)
            for foot in ["left", "right"] {
                let effect = try await tracer.ended {
                    $0.attributes["reactor.effect"]?.text == foot
                }
                #expect(effect.operationName == "effect")
                #expect(effect.parentSpanID == request.spanID)
                #expect(effect.attributes["reactor.name"]?.text == "walker")
                #expect(effect.attributes["reactor.session"]?.text == "a")
                #expect(effect.attributes["reactor.action"]?.text == "1")
                // A span of the effect's own.
                let own = try await tracer.ended(foot)
                #expect(own.parentSpanID == effect.spanID)
                #expect(own.traceID == request.traceID)
            }
        }
    }

    @Test func `a Cycler's action, also after it has waited`() async throws {
        try await serve { site in
            try await site.create("a", "rower")
            let response = try await site.post(
                "/v1/sessions/a/actions?wait=settled&timeout=600s", #"{"type":"row"}"#)
            #expect(response.status == 200)
            let request = try await tracer.ended("POST /v1/sessions/{id}/actions")
            let effect = try await tracer.ended("effect")
            #expect(effect.parentSpanID == request.spanID)
            for work in ["catch", "drive"] {
                #expect(try await tracer.ended(work).parentSpanID == effect.spanID)
            }
            #expect(
                try await site.post("/v1/sessions/a/actions", #"{"type":"sink"}"#).status == 422)
            let refused = try await tracer.ended {
                $0.attributes["error.type"]?.text == "action_failed"
            }
            // Nothing was decided, so nothing was committed.
            #expect(
                !tracer.memory.finishedSpans.contains {
                    $0.operationName == "commit" && $0.traceID == refused.traceID
                })
            let failed = try await tracer.ended {
                $0.operationName == "effect" && $0.traceID == refused.traceID
            }
            #expect(failed.status?.code == .error)
        }
    }

    @Test func `a failed effect has an error, a cancelled one does not`() async throws {
        try await serve { site in
            try await site.create("a", "walker")
            for type in ["fail", "wait", "stop"] {
                _ = try await site.post("/v1/sessions/a/actions", #"{"type":"\#(type)"}"#)
            }
            let failed = try await tracer.ended { $0.attributes["reactor.effect"]?.text == "fail" }
            #expect(failed.status?.code == .error)
            #expect(failed.errors.count == 1)
            let stopped = try await tracer.ended { $0.attributes["reactor.effect"]?.text == "wait" }
            #expect(stopped.status == nil)
            #expect(stopped.attributes["reactor.cancelled"]?.text == "true")
        }
    }

    @Test func `without a traceparent the server's own is handed out and recorded`() async throws {
        try await serve { site in
            try await site.create("a", "walker")
            for _ in 1...2 {
                tracer.memory.clearFinishedSpans()
                let response = try await site.post(
                    "/v1/sessions/a/actions", #"{"type":"rest"}"#)
                let request = try await tracer.ended("POST /v1/sessions/{id}/actions")
                #expect(request.parentSpanID == nil)
                let own = "00-\(request.traceID)-\(request.spanID)-01"
                #expect(response.fields["traceparent"] == own)
            }
        }
    }

    @Test func `each request has one span, wherever its session lives`() async throws {
        try await serve { site in
            let names = (0..<20).map { "s\($0)" }
            for name in names { try await site.create(name, "walker") }
            for name in names {
                let spans = tracer.memory.finishedSpans.filter {
                    $0.attributes["reactor.session"]?.text == name
                        && $0.operationName == "PUT /v1/sessions/{id}"
                }
                #expect(spans.map { $0.attributes["http.response.status_code"]?.text } == ["201"])
            }
            #expect(tracer.memory.activeSpans.isEmpty)
        }
    }

    @Test func `problems have their code; probes and unknown paths are not traced`() async throws {
        try await serve { site in
            #expect(try await site.get("/v1/sessions/absent").status == 404)
            for path in ["/livez", "/readyz", "/metrics", "/nothing", "/v1/tickets"] {
                _ = try await site.get(path)
            }
            #expect(try await site.get("/v1/reactors").status == 200)
            let last = try await tracer.ended("GET /v1/reactors")
            #expect(last.attributes["reactor.session"] == nil)
            let spans = tracer.memory.finishedSpans
            #expect(
                spans.map(\.operationName) == ["GET /v1/sessions/{id}", "GET /v1/reactors"])
            #expect(spans[0].attributes["error.type"]?.text == "unknown_session")
            #expect(spans[0].status == nil)
        }
    }

    @Test func `a stream's span ends with its head, an aborted request's with its connection`()
        async throws
    {
        try await serve { site in
            try await site.create("a", "walker")
            let reading = Task { try await site.get("/v1/sessions/a/pulses") }
            let stream = try await tracer.ended("GET /v1/sessions/{id}/pulses")
            #expect(stream.attributes["http.response.status_code"]?.text == "200")
            reading.cancel()
            let connection = try site.begin(
                "/v1/sessions/a/actions?wait=settled&timeout=600s", #"{"type":"wait"}"#)
            // It has been received.
            _ = try await tracer.ended {
                $0.operationName == "commit" && $0.parentSpanID.map(isActive) == true
            }
            // A reset: a client that only closes its side may still read the response.
            var reset = linger(l_onoff: 1, l_linger: 0)
            let size = socklen_t(MemoryLayout<linger>.size)
            unsafe setsockopt(connection, SOL_SOCKET, SO_LINGER, &reset, size)
            close(connection)
            let aborted = try await tracer.ended("POST /v1/sessions/{id}/actions")
            #expect(aborted.status?.code == .error)
            #expect(aborted.attributes["http.response.status_code"] == nil)
        }
    }

    private func isActive(_ id: String) -> Bool {
        tracer.memory.activeSpans.contains {
            $0.spanID == id && $0.operationName == "POST /v1/sessions/{id}/actions"
        }
    }

    @Test func `without a tracer nothing is traced`() async throws {
        try await serve(tracing: false) { site in
            try await site.create("a", "rower")
            _ = try await site.post(
                "/v1/sessions/a/actions?wait=settled&timeout=600s", #"{"type":"row"}"#)
            // Roots, of the Cycler itself.
            #expect(tracer.memory.finishedSpans.map(\.operationName) == ["catch", "drive"])
            #expect(tracer.memory.finishedSpans.allSatisfy { $0.parentSpanID == nil })
        }
    }
}

extension SpanAttributeConvertible {
    /// The value as text.
    fileprivate var text: String {
        switch toSpanAttribute() {
        case .string(let text): text
        case .int64(let number): "\(number)"
        case .int32(let number): "\(number)"
        case .bool(let value): "\(value)"
        default: "another type"
        }
    }
}

/// Requests to a server, each on a connection of its own if the one before was aborted.
private struct Site: Sendable {
    let address: String

    struct Response {
        let status: Int
        let fields: [String: String]
    }

    func create(_ session: String, _ reactor: String) async throws {
        let response = try await send(
            "PUT", "/v1/sessions/\(session)", #"{"reactor":"\#(reactor)"}"#, [:])
        #expect(response.status == 201)
    }

    func post(
        _ path: String, _ body: String, _ fields: [String: String] = [:]
    ) async throws -> Response {
        try await send("POST", path, body, fields)
    }

    /// Sends a request and does not wait for the response.
    ///
    /// - Returns: A descriptor, which the caller closes.
    func begin(_ path: String, _ body: String) throws -> Int32 {
        let port = try #require(UInt16(address.split(separator: ":").last ?? ""))
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = unsafe withUnsafePointer(to: &name) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0)
        let text =
            "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let bytes = Array(text.utf8)
        try #require(unsafe Glibc.send(descriptor, bytes, bytes.count, 0) == bytes.count)
        return descriptor
    }

    func get(_ path: String) async throws -> Response { try await send("GET", path, nil, [:]) }

    private func send(
        _ method: String, _ path: String, _ body: String?, _ fields: [String: String]
    ) async throws -> Response {
        var request = URLRequest(url: try #require(URL(string: address + path)))
        request.httpMethod = method
        request.timeoutInterval = 600
        request.allHTTPHeaderFields = fields
        if let body {
            request.httpBody = Data(body.utf8)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let (_, response) = try await URLSession.shared.data(for: request)
        let head = try #require(response as? HTTPURLResponse)
        var values: [String: String] = [:]
        for (name, value) in head.allHeaderFields {
            values["\(name)".lowercased()] = "\(value)"
        }
        return Response(status: head.statusCode, fields: values)
    }
}
