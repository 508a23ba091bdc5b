internal import ClientMachine
internal import Reactors
internal import Synchronization

extension ClientDriver {
    func start(
        _ carried: DriverCore.Carried, _ request: ClientRequest, isStream: Bool,
        _ receiver: any TransportReceiver
    ) {
        guard core.withLock({ $0.begin(carried) }) else {
            return receiver.ended(TransportFailure(.cancelled, "the client is closing"))
        }
        let handle = transport.start(
            request.transportRequest(to: server, isStream: isStream), receiver)
        if core.withLock({ $0.started(carried, handle) }) { handle.cancel() }
    }

    func cancel(_ carried: DriverCore.Carried) {
        core.withLock { $0.handles[carried] ?? nil }?.cancel()
    }

    func ended(_ carried: DriverCore.Carried) {
        core.withLock { core in
            core.ended(carried)
            return core.takeWhenIdle()
        }?.resume()
    }

    func receive(_ chunk: [UInt8], of id: AttemptID) -> TransportDemand {
        let demand = core.withLock { $0.receive(chunk, of: id) }
        arrived()
        return demand
    }

    func streamEnded(_ id: AttemptID, _ failure: TransportFailure?) {
        arrived(.streamEnded(id, failure: failure?.message))
        ended(.attempt(id))
    }

    /// Sends a request as ``answer(to:)`` does. Throws `unreachable`; `refused` if the status of
    /// the response is not 2xx.
    func call(_ request: ClientRequest) async throws(ClientFailure) -> ClientResponse {
        let response = try await answer(to: request)
        guard (200..<300).contains(response.status) else {
            throw .refused(ProblemDetails(response.problem))
        }
        return response
    }

    /// Sends a request. If the server refuses the credential, sends it once more with another one.
    /// Throws `unreachable` if there is no response within 30 s, or the task is cancelled.
    func answer(to request: ClientRequest) async throws(ClientFailure) -> ClientResponse {
        var refused: String?
        while true {
            let credential = try await credentials?.credential(refused: refused)
            let response = try await carry(request.authorized(credential?.authorization))
            guard response.status == 401, refused == nil, let credential else { return response }
            refused = credential.authorization
        }
    }

    private func carry(_ request: ClientRequest) async throws(ClientFailure) -> ClientResponse {
        let (results, feed) = ReactorStream<ResponseReceiver.Result>.make(buffer: 1)
        let carried = try core.withLock { core throws(ClientFailure) in
            guard !core.isClosing else { throw .closed }
            return core.newCall()
        }
        let receiver = ResponseReceiver(limit: limits.eventBytes) { [self] in
            cancel(carried)
        } finish: { [self] result in
            _ = feed.push(result)
            feed.finish()
            ended(carried)
        }
        start(carried, request, isStream: false, receiver)
        let limit = limits.answer
        let deadline = Task { [self] in
            guard (try? await ContinuousClock().sleep(for: limit)) != nil else { return }
            cancel(carried)
        }
        defer { deadline.cancel() }
        switch await results.first() {
        case .success(let response)?: return response
        case .failure(let failure)?: throw .unreachable(failure.message)
        case nil:
            cancel(carried)
            throw .unreachable("the task that waits for the answer was cancelled")
        }
    }
}

extension ReactorStream {
    /// The first element; nil at the end of the stream, or of this task.
    func first() async -> Element? {
        var iterator = makeAsyncIterator()
        return (try? await iterator.next()) ?? nil
    }
}
