internal import ClientMachine
internal import Synchronization

final class ResponseReceiver: RoundReceiver {
    /// The response, or a sentence about why there is none.
    typealias Result = Swift.Result<ClientResponse, TransportFailure>

    private struct State {
        var response: ClientResponse?
        var isTooLarge = false
    }

    private let state = Mutex(State())
    private let limit: Int
    private let stop: @Sendable () -> Void
    private let finish: @Sendable (Result) -> Void
    private let round: @Sendable () -> Void

    /// - Parameters:
    ///   - limit: bytes of the body; a larger one is a failure.
    ///   - stop: called once when the body is too large: the request is to be cancelled.
    ///   - round: called at the ends of the transport's rounds, if it has any.
    init(
        limit: Int, stop: @escaping @Sendable () -> Void,
        finish: @escaping @Sendable (Result) -> Void,
        round: @escaping @Sendable () -> Void = {}
    ) {
        self.limit = limit
        self.stop = stop
        self.finish = finish
        self.round = round
    }

    func head(_ status: Int, _ fields: [TransportField]) {
        state.withLock { $0.response = ClientResponse(status, fields: fields.map(\.machineField)) }
    }

    func bytes(_ chunk: [UInt8]) -> TransportDemand {
        let isTooLarge = state.withLock { state in
            let count = (state.response?.body.count ?? 0) + chunk.count
            if count <= limit { state.response?.body += chunk } else { state.isTooLarge = true }
            return state.isTooLarge
        }
        guard isTooLarge else { return .more }
        stop()
        return .pause
    }

    func ended(_ failure: TransportFailure?) {
        let state = state.withLock(\.self)
        if state.isTooLarge {
            let sentence = "the response has more than \(limit) bytes"
            return finish(.failure(TransportFailure(.badResponse, sentence)))
        }
        if let response = state.response, failure == nil { return finish(.success(response)) }
        finish(.failure(failure ?? TransportFailure(.badResponse, "there was no response")))
    }

    func roundEnded() { round() }
}

extension TransportField {
    var machineField: ClientRequest.Field { ClientRequest.Field(name, value) }
}

extension ClientRequest {
    func transportRequest(to server: ServerAddress, isStream: Bool = false) -> TransportRequest {
        var url = server.origin
        url.reserveCapacity(
            url.utf8.count + server.path.utf8.count + target.utf8.count)
        url += server.path
        url += target
        return TransportRequest(
            method, url, fields: fields.map { TransportField($0.name, $0.value) }, body: body,
            isStream: isStream)
    }
}
