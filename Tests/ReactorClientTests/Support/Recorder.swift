import Dispatch
import Synchronization
import Testing

@testable import ReactorClient

/// Receives a response, and checks the order of the calls.
final class Recorder: TransportReceiver {
    enum Call: Equatable, Sendable {
        case head(Int, [TransportField])
        case bytes([UInt8])
        case ended(TransportFailure?)
    }

    private struct State {
        var isInside = false
        var hasHead = false
        var hasEnded = false
        var handle: (any TransportHandle)?
    }

    let calls: AsyncStream<Call>
    private let continuation: AsyncStream<Call>.Continuation
    private let state = Mutex(State())
    private let hasHandle = DispatchSemaphore(value: 0)
    private let react: @Sendable (Recorder, Call) -> TransportDemand

    /// - Parameter react: called within each call.
    init(_ react: @escaping @Sendable (Recorder, Call) -> TransportDemand = { _, _ in .more }) {
        (calls, continuation) = AsyncStream.makeStream()
        self.react = react
    }

    /// Starts a request for this recorder.
    @discardableResult
    func start(_ request: TransportRequest, on transport: any ClientTransport) -> Self {
        let handle = transport.start(request, self)
        state.withLock { $0.handle = handle }
        hasHandle.signal()
        return self
    }

    /// Waits for it if the transport has called before the start has returned.
    var handle: any TransportHandle {
        hasHandle.wait()
        defer { hasHandle.signal() }
        guard let handle = state.withLock(\.handle) else { preconditionFailure("no handle") }
        return handle
    }

    func head(_ status: Int, _ fields: [TransportField]) {
        enter { state in
            #expect(!state.hasHead)
            state.hasHead = true
        }
        _ = receive(.head(status, fields))
    }

    func bytes(_ chunk: [UInt8]) -> TransportDemand {
        enter { #expect($0.hasHead) }
        #expect(!chunk.isEmpty)
        return receive(.bytes(chunk))
    }

    func ended(_ failure: TransportFailure?) {
        enter { state in
            if failure == nil { #expect(state.hasHead) }
            state.hasEnded = true
        }
        _ = receive(.ended(failure))
        continuation.finish()
    }

    private func enter(_ check: (inout State) -> Void) {
        state.withLock { state in
            #expect(!state.hasEnded, "a call after the end")
            #expect(!state.isInside, "two calls at once")
            check(&state)
            state.isInside = true
        }
    }

    private func receive(_ call: Call) -> TransportDemand {
        let demand = react(self, call)
        // Only then may a test continue that waits for the call.
        state.withLock { $0.isInside = false }
        continuation.yield(call)
        return demand
    }

    /// Everything until the end.
    func response() async -> Response {
        var response = Response()
        for await call in calls {
            switch call {
            case .head(let status, let fields):
                response.status = status
                response.fields = fields
            case .bytes(let bytes): response.body += bytes
            case .ended(let failure):
                response.failure = failure
                response.hasEnded = true
            }
        }
        return response
    }
}

struct Response: Equatable, Sendable {
    var status = 0
    var fields: [TransportField] = []
    var body: [UInt8] = []
    var failure: TransportFailure?
    var hasEnded = false

    var text: String { String(decoding: body, as: UTF8.self) }
}

extension ClientTransport {
    /// The whole response of a request.
    func response(of request: TransportRequest) async -> Response {
        await Recorder().start(request, on: self).response()
    }
}
