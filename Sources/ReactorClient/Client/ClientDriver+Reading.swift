internal import ClientMachine
internal import JSONCoding

/// A session as `GET /v1/sessions/{id}` describes it.
struct SessionReading<State: Decodable & Sendable>: Decodable, Sendable {
    let reactor: String
    let version: UInt64
    let position: StreamPosition
    let state: State
}

extension ClientDriver {
    func get<Answer: Decodable>(
        _ target: String, as type: Answer.Type
    ) async throws(ClientFailure) -> Answer {
        try Self.decode(type, try await call(ClientRequest("GET", target)))
    }

    func read<State: Decodable & Sendable>(
        _ session: SessionName, version: UInt64?
    ) async throws(ClientFailure) -> SessionReading<State> {
        let query = version.map { "?version=\($0)" } ?? ""
        return try await get("/v1/sessions/\(session)\(query)", as: SessionReading<State>.self)
    }

    /// The position at which a version was reached.
    func position(
        of session: SessionName, at version: UInt64
    ) async throws(ClientFailure) -> StreamPosition {
        struct Answer: Decodable { let position: StreamPosition }
        return try await get("/v1/sessions/\(session)?version=\(version)", as: Answer.self).position
    }

    func delete(_ session: SessionName) async throws(ClientFailure) {
        var deletion = Deletion(of: session)
        while true {
            switch deletion.receive(try await answer(to: deletion.request)) {
            case .again: continue
            case .gone: return
            case .refused(let problem): throw .refused(ProblemDetails(problem))
            case .unknown(let reason): throw .unreachable(reason)
            }
        }
    }

    func fork(
        _ session: SessionName, of reactor: String, at version: UInt64?
    ) async throws(ClientFailure) -> String {
        struct Origin: Encodable { let session: String, version: UInt64? }
        struct Body: Encodable { let reactor: String, from: Origin }
        struct Answer: Decodable { let id: String }
        var body: [UInt8] = []
        let new = Body(reactor: reactor, from: Origin(session: session.text, version: version))
        do throws(JSONEncodingFailure) {
            try JSON.encode(new, into: &body)
        } catch {
            throw .undecodable(error.description)
        }
        let fields = [ClientRequest.Field("Content-Type", "application/json")]
        let request = ClientRequest("POST", "/v1/sessions", fields: fields, body: body)
        return try Self.decode(Answer.self, try await call(request)).id
    }

    private static func decode<Answer: Decodable>(
        _ type: Answer.Type, _ response: ClientResponse
    ) throws(ClientFailure) -> Answer {
        do throws(JSONRefusal) {
            return try JSON.decode(type, from: response.body)
        } catch {
            throw .undecodable(error.sentence)
        }
    }
}
