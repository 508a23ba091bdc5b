import Foundation
import Synchronization

@testable import ReactorClient

/// A transport that a test answers by hand.
final class ScriptedTransport: ClientTransport {
    private let requests = Arrivals()
    private let streams = Arrivals()
    /// Every request, streams too, as `PUT /v1/sessions/room`.
    private let log = Mutex<[String]>([])

    var lines: [String] { log.withLock(\.self) }

    func start(
        _ request: TransportRequest, _ receiver: any TransportReceiver
    ) -> any TransportHandle {
        let exchange = ScriptedExchange(request, receiver)
        log.withLock { $0.append(request.method + " " + exchange.target) }
        (request.isStream ? streams : requests).add(exchange)
        return exchange
    }

    /// The next request that is no stream.
    func request() async -> ScriptedExchange { await requests.next() }
    func stream() async -> ScriptedExchange { await streams.next() }

    /// Responds to the request that makes a session, and opens its stream with a snapshot.
    func serve(
        _ state: String, pulses: String = "{}", position: String = "aaaaaaaa.0"
    ) async -> ScriptedExchange {
        await request().answer(201)
        return await open(state, pulses: pulses, position: position)
    }

    func open(
        _ state: String, pulses: String = "{}", position: String = "aaaaaaaa.0"
    ) async -> ScriptedExchange {
        let stream = await stream()
        stream.head()
        stream.event("snapshot", position, #"{"pulses":\#(pulses),"state":\#(state)}"#)
        return stream
    }
}

/// One request and its response.
final class ScriptedExchange: TransportHandle {
    let request: TransportRequest
    /// The one that has started it.
    let thread = pthread_self()
    private let receiver: any TransportReceiver
    private let state = Mutex((hasEnded: false, resumes: 0))

    init(_ request: TransportRequest, _ receiver: any TransportReceiver) {
        self.request = request
        self.receiver = receiver
    }

    /// The path and the query.
    var target: String { String(request.url.dropFirst("https://example.com".count)) }
    var body: String { String(decoding: request.body, as: UTF8.self) }
    var isCancelled: Bool { state.withLock(\.hasEnded) }
    var resumes: Int { state.withLock(\.resumes) }

    func field(_ name: String) -> String? { request.fields.first { $0.name == name }?.value }

    func answer(_ status: Int, _ body: String = "", _ fields: [TransportField] = []) {
        let isProblem = status >= 400
        let type = isProblem ? "application/problem+json" : "application/json"
        let body = body.isEmpty && [200, 201].contains(status) ? made : body
        receiver.head(status, fields + [TransportField("Content-Type", type)])
        _ = receiver.bytes(Array(body.utf8))
        end()
    }

    func problem(_ status: Int, _ code: String, _ fields: [TransportField] = []) {
        answer(status, #"{"status":\#(status),"code":"\#(code)","detail":"\#(code)!"}"#, fields)
    }

    func head() { receiver.head(200, [TransportField("Content-Type", "text/event-stream")]) }

    func event(_ name: String, _ position: String, _ data: String, cause: String? = nil) {
        let cause = cause.map { "cause: \($0)\n" } ?? ""
        send("event: \(name)\nid: \(position)\n\(cause)data: \(data)\n\n")
    }

    @discardableResult
    func send(_ text: String) -> TransportDemand { receiver.bytes(Array(text.utf8)) }

    func end(_ failure: TransportFailure? = nil) {
        let isFirst = state.withLock { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
        if isFirst { receiver.ended(failure) }
    }

    func resume() { state.withLock { $0.resumes += 1 } }
    func cancel() { end(TransportFailure(.cancelled, "cancelled")) }
}

/// Requests in the order of their arrival, for a test that waits for them.
private final class Arrivals: Sendable {
    private let state = Mutex<
        (waiting: [ScriptedExchange], readers: [CheckedContinuation<ScriptedExchange, Never>])
    >(([], []))

    func add(_ exchange: ScriptedExchange) {
        let reader = state.withLock { state -> CheckedContinuation<ScriptedExchange, Never>? in
            if !state.readers.isEmpty { return state.readers.removeFirst() }
            state.waiting.append(exchange)
            return nil
        }
        reader?.resume(returning: exchange)
    }

    func next() async -> ScriptedExchange {
        await withCheckedContinuation { continuation in
            let exchange = state.withLock { state -> ScriptedExchange? in
                if !state.waiting.isEmpty { return state.waiting.removeFirst() }
                state.readers.append(continuation)
                return nil
            }
            if let exchange { continuation.resume(returning: exchange) }
        }
    }
}

/// The service's answer to a request that makes a session.
private let made = #"{"id":"room","reactor":"tally","version":0,"position":"aaaaaaaa.0"}"#
